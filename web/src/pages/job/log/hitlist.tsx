import { useEffect, useRef } from "preact/hooks";
import { t, tn } from "../../../i18n/i18n";
import { parseAnsi } from "../../../lib/text/ansi";
import { formatTime } from "../../../lib/text/format";
import { formatStamp } from "../../../lib/text/stamp";
import { trimToHit } from "../../../lib/text/matches";
import type { Hit, HitStore } from "../../../state/log/hits";
import { timeMode } from "../../../state/core/timemode";
import { Parts } from "./linetext";

const BEFORE_HIT = 24;
const NEAR_END_PX = 200;

interface Props {
  hits: HitStore;
  active: number;
  startMs: number;
  onChoose(hit: Hit): void;
  onStep(by: number): void;
}

export function HitList({ hits, active, startMs, onChoose, onStep }: Props) {
  const host = useRef<HTMLDivElement>(null);
  const list = hits.hits.value ?? [];

  useEffect(() => {
    host.current?.querySelector("[aria-selected=true]")?.scrollIntoView({ block: "nearest" });
  }, [active]);

  const onScroll = (event: Event): void => {
    const element = event.currentTarget as HTMLElement;
    if (element.scrollTop + element.clientHeight > element.scrollHeight - NEAR_END_PX && !hits.isPartial.value) void hits.more();
  };
  const onKeyDown = (event: KeyboardEvent): void => {
    const step = { ArrowUp: -1, ArrowDown: 1, PageUp: -10, PageDown: 10, Home: -Infinity, End: Infinity }[event.key];
    if (step === undefined) return;
    event.preventDefault();
    onStep(step);
  };
  return (
    <div class="hitbox">
      {list.length > 0 && (
        <div
          ref={host}
          class="hits"
          role="listbox"
          tabIndex={0}
          aria-label={hits.find.isOldest ? t("Hits, oldest first") : t("Hits, newest first")}
          aria-activedescendant={active >= 0 ? `hit-${active}` : undefined}
          onScroll={onScroll}
          onKeyDown={onKeyDown}
        >
          {list.map((hit, i) => (
            <HitRow key={`${hit.n} ${hit.stream}`} hit={hit} id={`hit-${i}`} isActive={i === active} startMs={startMs} onChoose={onChoose} />
          ))}
        </div>
      )}
      <Notes hits={hits} />
    </div>
  );
}

interface RowProps {
  hit: Hit;
  id: string;
  isActive: boolean;
  startMs: number;
  onChoose(hit: Hit): void;
}

function HitRow({ hit, id, isActive, startMs, onChoose }: RowProps) {
  return (
    <div class="hit" role="option" id={id} aria-selected={isActive} title={t("{stream}, line {n}, {time}", { stream: hit.stream, n: hit.n, time: formatTime(hit.ts_ms) })} onClick={() => onChoose(hit)}>
      {timeMode.value !== "hidden" && <time>{formatStamp(hit.ts_ms, timeMode.value, startMs)}</time>}
      <span class="stream">{hit.stream}</span>
      <span class="text">
        <Parts spans={trimToHit(parseAnsi(hit.text, hit.ranges), BEFORE_HIT)} />
      </span>
    </div>
  );
}

/** What is not in the list, and why. */
function Notes({ hits }: { hits: HitStore }) {
  const limited = hits.limited.value;
  const unread = hits.unread.value;
  return (
    <div class="hitnotes">
      {hits.hits.value?.length === 0 && !hits.isPartial.value && <p>{t("No line of any stream matches.")}</p>}
      {hits.isPartial.value && (
        <p>
          {t("The search ran out of time; there may be more hits.")}{" "}
          <button type="button" disabled={hits.isBusy.value} onClick={() => void hits.more()}>
            {t("Go on")}
          </button>
        </p>
      )}
      {limited > 0 && <p>{tn(limited, "On {n} line the expression was given up: it takes too many steps.", "On {n} lines the expression was given up: it takes too many steps.")}</p>}
      {unread > 0 && (
        <p>
          {tn(unread, "{n} new line came too fast to be looked at.", "{n} new lines came too fast to be looked at.")}{" "}
          <button type="button" onClick={() => void hits.load()}>
            {t("Search again")}
          </button>
        </p>
      )}
    </div>
  );
}
