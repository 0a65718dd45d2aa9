import { useSignal } from "@preact/signals";
import { useEffect, useLayoutEffect, useRef } from "preact/hooks";
import { t, tn } from "../../../i18n/i18n";
import { seriesIndex } from "../../../lib/chart/color";

interface Props {
  streams: readonly string[];
  stream: string | null;
  isMerged: boolean;
  /** Of the merged view: these alone; none: all. */
  only: readonly string[];
  onStream(stream: string): void;
  onMerged(only: readonly string[]): void;
}

const ROW = 26;
const SHOWN = 14;

/** Which stream is read, or which ones together: a list to search in, since a job may have thousands. */
export function StreamChooser({ streams, stream, isMerged, only, onStream, onMerged }: Props) {
  const isOpen = useSignal(false);
  const box = useRef<HTMLDivElement>(null);
  const opener = useRef<HTMLButtonElement>(null);
  const close = (isByKey: boolean): void => {
    isOpen.value = false;
    if (isByKey) opener.current?.focus();
  };
  useEffect(() => {
    if (!isOpen.value) return;
    const onDown = (event: Event): void => {
      if (!box.current?.contains(event.target as Node)) isOpen.value = false;
    };
    document.addEventListener("pointerdown", onDown);
    return () => document.removeEventListener("pointerdown", onDown);
  }, [isOpen.value]);

  const all = t("all {n} streams by time", { n: streams.length });
  const some = tn(only.length, "{n} stream by time", "{n} streams by time");
  const label = isMerged ? (only.length > 0 ? some : all) : (stream ?? "");
  return (
    <div class="streams" ref={box} onKeyDown={(event) => {
      if (event.key !== "Escape" || !isOpen.value) return;
      event.preventDefault();
      close(true);
    }}>
      <button ref={opener} type="button" class="stream" aria-haspopup="dialog" aria-expanded={isOpen.value} aria-label={t("Stream: {name}", { name: label })} title={label} disabled={streams.length === 0 && stream === null} onClick={() => (isOpen.value = !isOpen.value)}>
        {!isMerged && stream !== null && <i class="swatch" style={{ background: `var(--series-${seriesIndex(stream)})` }} />}
        <span>{label}</span> ▾
      </button>
      {isOpen.value && <Chooser streams={streams} stream={stream} isMerged={isMerged} only={only} onStream={(one) => (close(true), onStream(one))} onMerged={onMerged} />}
    </div>
  );
}

function Chooser({ streams, stream, isMerged, only, onStream, onMerged }: Props) {
  const text = useSignal("");
  const top = useSignal(0);
  const cursor = useSignal(0);
  const input = useRef<HTMLInputElement>(null);
  const list = useRef<HTMLDivElement>(null);
  // In the turn that shows it: an effect comes a frame later, and what is typed until then would be lost.
  useLayoutEffect(() => input.current?.focus(), []);
  const words = text.value.toLowerCase().split(/\s+/).filter((word) => word !== "");
  const found = streams.filter((one) => words.every((word) => one.toLowerCase().includes(word)));
  const first = Math.max(0, Math.floor(top.value / ROW) - 4);
  const chosen = new Set(only);
  const toggle = (one: string): void => onMerged(chosen.has(one) ? only.filter((other) => other !== one) : [...only, one]);
  const move = (by: number): void => {
    cursor.value = Math.min(found.length - 1, Math.max(0, cursor.value + by));
    const element = list.current;
    if (!element) return;
    if (cursor.value * ROW < element.scrollTop) element.scrollTop = cursor.value * ROW;
    else if ((cursor.value + 1) * ROW > element.scrollTop + element.clientHeight) element.scrollTop = (cursor.value + 1) * ROW - element.clientHeight;
  };
  const onKeyDown = (event: KeyboardEvent): void => {
    const by = { ArrowUp: -1, ArrowDown: 1, PageUp: -10, PageDown: 10 }[event.key];
    const one = found[cursor.value];
    if (by !== undefined) move(by);
    else if (event.key === "Enter" && one !== undefined) {
      if (isMerged && event.shiftKey) toggle(one);
      else onStream(one);
    } else return;
    event.preventDefault();
  };
  return (
    <div class="chooser" role="dialog" aria-label={t("Streams")} onKeyDown={onKeyDown}>
      <input
        ref={input}
        type="search"
        aria-controls="streamlist"
        aria-activedescendant={found.length > 0 ? `stream-${cursor.value}` : undefined}
        aria-label={t("Search the streams")}
        placeholder={t("Search {n} streams", { n: streams.length })}
        autocomplete="off"
        spellcheck={false}
        value={text}
        onInput={(event) => {
          text.value = event.currentTarget.value;
          cursor.value = 0;
          top.value = 0;
          if (list.current) list.current.scrollTop = 0;
        }}
      />
      {streams.length > 1 && (
        <button type="button" aria-pressed={isMerged && only.length === 0} onClick={() => onMerged([])}>
          {t("all {n} streams by time", { n: streams.length })}
        </button>
      )}
      <div ref={list} id="streamlist" class="streamlist" role="listbox" aria-label={t("Streams")} tabIndex={-1} style={{ height: `${Math.max(1, Math.min(SHOWN, found.length)) * ROW}px` }} onScroll={(event) => (top.value = event.currentTarget.scrollTop)}>
        <div style={{ height: `${found.length * ROW}px`, paddingTop: `${first * ROW}px`, boxSizing: "border-box" }}>
          {found.slice(first, first + SHOWN + 8).map((one, i) => (
            <div key={one} id={`stream-${first + i}`} class={`streamrow ${first + i === cursor.value ? "cursor" : ""}`} role="option" aria-selected={isMerged ? chosen.has(one) : one === stream} aria-setsize={found.length} aria-posinset={first + i + 1} title={one} onClick={() => onStream(one)}>
              <i class="swatch" style={{ background: `var(--series-${seriesIndex(one)})` }} />
              <span>{one}</span>
              {isMerged && (
                <input
                  type="checkbox"
                  tabIndex={-1}
                  checked={only.length === 0 || chosen.has(one)}
                  aria-label={t("{stream} in the merged log", { stream: one })}
                  title={t("Only the streams that are marked (Shift+Enter)")}
                  onClick={(event) => {
                    event.stopPropagation();
                    toggle(one);
                  }}
                />
              )}
            </div>
          ))}
        </div>
        {found.length === 0 && <p class="dim">{t("No stream is called so.")}</p>}
      </div>
    </div>
  );
}
