import { useSignal, type Signal } from "@preact/signals";
import type { ComponentChildren } from "preact";
import { useEffect, useLayoutEffect, useRef } from "preact/hooks";
import { asProblem } from "../../../api/client";
import { t } from "../../../i18n/i18n";
import { csvUrl, download, embedUrl, fileName, pictureUrl, pngUrl, signUrl, type Drawn } from "../../../lib/jobs/export";
import { newNoteHref } from "../../../lib/jobs/notes";
import { formatExact } from "../../../lib/text/format";
import { buildSearch, lookKey, lookOf, parseChartState, type ChartLook, type ChartState } from "../../../lib/url/url";
import { writeLook } from "../../../lib/url/writelook";
import { STEPS } from "../../../lib/chart/xmap";
import type { ChartStore } from "../../../state/chart/chart";
import { navigate, patchQuery, query } from "../../../state/core/router";
import { mayWrite } from "../../../state/core/session";
import { Smooth } from "./toolbar";

interface Props {
  job: string;
  chart: ChartStore;
  metric: string;
  /** As this chart is, and as all are. */
  state: ChartState;
  all: ChartState;
  host: { current: HTMLElement | null };
  hover: Signal<number | null>;
  onPick(index: number): void;
}

/** In the tab of the notes, which takes the place from the address. */
function writeNote(job: string, chart: ChartStore, index: number): void {
  const map = chart.map ?? STEPS;
  const x = chart.buckets.x[index];
  if (x === undefined) return;
  const at = String(Math.round(map.toServer(x)));
  navigate(newNoteHref(job, map.axis === "step" ? { at: "step", step: at } : { at: "time", ms: at }));
}

/** What can be done with one chart: by its button, or by a right click on it. */
export function ChartMenu({ job, chart, metric, state, all, host, hover, onPick }: Props) {
  const open = useSignal<{ left: number; top: number; index: number | null } | null>(null);
  const said = useSignal("");
  const button = useRef<HTMLButtonElement>(null);
  const box = useRef<HTMLDivElement>(null);
  const place = open.value;

  useEffect(() => {
    const plot = host.current;
    const show = (event: MouseEvent): void => {
      if (!(event.target as Element).closest(".canvas")) return;
      event.preventDefault();
      said.value = "";
      open.value = { left: event.clientX, top: event.clientY, index: hover.peek() };
    };
    // The value that is read out is where the note is to be.
    const press = (event: KeyboardEvent): void => {
      const at = hover.peek();
      if (event.key !== "m" || event.ctrlKey || event.altKey || event.metaKey || at === null || !mayWrite()) return;
      if (!(event.target as Element).matches(".canvas")) return;
      event.preventDefault();
      writeNote(job, chart, at);
    };
    plot?.addEventListener("contextmenu", show);
    plot?.addEventListener("keydown", press);
    return () => {
      plot?.removeEventListener("contextmenu", show);
      plot?.removeEventListener("keydown", press);
    };
  }, [host, hover, open, said, job, chart]);

  useLayoutEffect(() => {
    if (!place || !box.current) return;
    const element = box.current;
    element.showPopover();
    const { width, height } = element.getBoundingClientRect();
    element.style.left = `${Math.max(4, Math.min(place.left, window.innerWidth - width - 4))}px`;
    element.style.top = `${Math.max(4, Math.min(place.top, window.innerHeight - height - 4))}px`;
    element.querySelector<HTMLElement>("button")?.focus();
  }, [place]);

  const close = (): void => {
    open.value = null;
  };
  const drawn: Drawn = { job, metric, state, map: chart.map ?? STEPS };
  const set = (own: Partial<ChartLook>): void => {
    const before = lookOf(parseChartState(query.peek()), query.peek(), metric);
    patchQuery({ [lookKey(metric)]: writeLook({ ...before, ...own }, all) }, true);
  };
  const copy = async (make: () => string | Promise<string>): Promise<void> => {
    try {
      await navigator.clipboard.writeText(await make());
      said.value = t("Copied");
    } catch (error) {
      said.value = asProblem(error).message;
    }
  };
  const save = (url: string, suffix: string): void => {
    download(url, fileName(job, metric, suffix));
    close();
  };
  const toggle = (): void => {
    const { left = 0, bottom = 0 } = button.current?.getBoundingClientRect() ?? {};
    said.value = "";
    open.value = place ? null : { left, top: bottom, index: null };
  };
  const index = place?.index ?? null;
  const canvas = host.current?.querySelector("canvas");
  const isFull = query.value["chart"] === metric;
  return (
    <>
      <button ref={button} type="button" class="quiet" aria-haspopup="true" aria-expanded={place !== null} aria-label={t("More of {name}", { name: metric })} onClick={toggle}>
        ⋯
      </button>
      {place && (
        <div ref={box} class="popover chartmenu" popover="auto" onToggle={(event) => event.newState === "closed" && close()}>
          {index !== null && (
            <>
              <Item onClick={() => copy(() => formatExact(chart.buckets.mean[index]))}>{t("Copy the value")}</Item>
              {chart.buckets.line[index] !== null && <Item onClick={() => (onPick(index), close())}>{t("Go to its line")}</Item>}
              {mayWrite() && <Item onClick={() => writeNote(job, chart, index)}>{t("Write a note here")}</Item>}
              <hr />
            </>
          )}
          <label>
            <input type="checkbox" checked={state.logScale} onChange={(event) => set({ logScale: event.currentTarget.checked })} /> {t("log y")}
          </label>
          <label>
            <input type="checkbox" checked={state.clip} onChange={(event) => set({ clip: event.currentTarget.checked })} /> {t("clip")}
          </label>
          <Smooth value={state.smooth} by={state.smoothing} onChange={(smooth, by) => set({ smooth: Number(smooth ?? 0), smoothing: by === "gauss" || by === "mean" ? by : "ema" })} />
          {query.value[lookKey(metric)] !== undefined && <Item onClick={() => patchQuery({ [lookKey(metric)]: undefined }, true)}>{t("As all charts")}</Item>}
          <hr />
          <Item onClick={() => (patchQuery({ chart: isFull ? undefined : metric }), close())}>{isFull ? t("All charts") : t("This chart alone")}</Item>
          {host.current?.requestFullscreen && <Item onClick={() => (void host.current?.requestFullscreen(), close())}>{t("Full screen")}</Item>}
          <hr />
          {canvas && <Item onClick={() => save(pngUrl(canvas, host.current?.querySelectorAll(".mark")), ".png")}>{t("Save as PNG")}</Item>}
          <Item onClick={() => save(pictureUrl(drawn, { theme: "light" }), ".svg")}>{t("Save as SVG")}</Item>
          <Item onClick={() => save(csvUrl(drawn), ".csv")}>{t("Save every point as CSV")}</Item>
          <hr />
          <Item onClick={() => copy(() => location.origin + location.pathname + buildSearch(query.peek(), { chart: metric }))}>{t("Copy a link to this chart")}</Item>
          <Item title={t("For READMEs, mails and chats; it needs no token and is good for 30 days")} onClick={() => copy(() => signUrl(pictureUrl(drawn)))}>
            {t("Copy the address of its picture")}
          </Item>
          <Item title={t("For pages that --embed-origin names; good for 30 days")} onClick={() => copy(() => signUrl(embedUrl(job, metric, query.peek())))}>
            {t("Copy the address for a frame")}
          </Item>
          <p role="status">{said}</p>
        </div>
      )}
    </>
  );
}

function Item({ onClick, title, children }: { onClick(): unknown; title?: string; children: ComponentChildren }) {
  return (
    <button type="button" class="quiet" title={title} onClick={() => void onClick()}>
      {children}
    </button>
  );
}
