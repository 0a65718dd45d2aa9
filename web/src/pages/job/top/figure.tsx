import { useSignal } from "@preact/signals";
import type { ComponentChildren } from "preact";
import { useId, useRef } from "preact/hooks";
import { getJson, jobPath } from "../../../api/client";
import { t } from "../../../i18n/i18n";
import { formatCount, formatTime } from "../../../lib/text/format";
import { formatAge } from "../../../lib/text/stamp";
import { jobHref } from "../../../lib/url/url";
import { now } from "../../../state/core/clock";
import type { JobStore } from "../../../state/job/job";
import { navigate, patchQuery, route } from "../../../state/core/router";

/** Where a value came from: asked for when somebody wants to know. */
interface Source {
  store: JobStore;
  metric: string;
  stream: string | undefined;
  step: number | undefined;
}

interface Line {
  stream: string;
  line: number;
  ms?: number;
}

interface Props {
  label: string;
  /** What is said on hover and focus, a line each. */
  said: string[];
  isLead?: boolean;
  source?: Source | undefined;
  line?: Line | undefined;
  /** What a click does where it does not open the line. */
  onOpen?: () => void;
  children: ComponentChildren;
}

interface RawReply {
  series: { ts_ms: number[]; line: number[] }[];
}

async function findLine({ store, metric, stream, step }: Source): Promise<Line | null> {
  if (step === undefined || stream === undefined) return null;
  const reply = await getJson<RawReply>(jobPath(store.name, "/points"), { metric, stream, raw: true, from: step, to: step });
  // Of a step that was made twice, the later one.
  const series = reply.series[reply.series.length - 1];
  const line = series?.line[series.line.length - 1];
  const ms = series?.ts_ms[series.ts_ms.length - 1];
  return line === undefined || line < 0 ? null : { stream, line, ...(ms === undefined ? {} : { ms }) };
}

const TIP_WIDTH = 420;

/** Within the window, over whatever the row of figures is cut off by. */
function placeBelow(element: HTMLElement | null): { left: string; top: string } | undefined {
  const box = element?.getBoundingClientRect();
  return box && { left: `${Math.max(4, Math.min(box.left, window.innerWidth - TIP_WIDTH))}px`, top: `${box.bottom + 2}px` };
}

/** A figure that tells on hover and focus its exact value, time and line; a click goes there. */
export function Figure({ label, said, isLead = false, source, line, onOpen, children }: Props) {
  const id = useId();
  const isOpen = useSignal(false);
  const host = useRef<HTMLDivElement>(null);
  const found = useSignal<{ key: string; line: Line | null } | null>(null);
  const key = source ? `${source.metric} ${source.step}` : "";
  const place = line ?? (found.value?.key === key ? found.value.line : null);

  const look = async (): Promise<Line | null> => {
    isOpen.value = true;
    if (!source || found.value?.key === key) return place;
    try {
      const next = await findLine(source);
      found.value = { key, line: next };
      return next;
    } catch {
      return null;
    }
  };
  const go = async (): Promise<void> => {
    if (onOpen) return onOpen();
    const target = place ?? (await look());
    if (!target) return;
    const patch = { stream: target.stream, line: String(target.line) };
    // From another part of the page one comes back to where the lines are.
    const here = route.value;
    if (here.view === "job" && here.part !== undefined && here.part !== "logs") navigate(jobHref(here.name, patch));
    else patchQuery(patch);
  };
  const canGo = onOpen !== undefined || source !== undefined || line !== undefined;
  const lines = [...said];
  if (place?.ms !== undefined) lines.push(`${formatTime(place.ms)} (${t("{time} ago", { time: formatAge(now.value - place.ms) })})`);
  if (place) lines.push(t("line {line} of {stream}; click to open it", { line: formatCount(place.line), stream: place.stream }));
  return (
    <div ref={host} class={isLead ? "figure lead" : "figure"} onPointerEnter={() => void look()} onPointerLeave={() => (isOpen.value = false)}>
      <dt id={`${id}-of`}>{label}</dt>
      <dd>
        <button
          type="button"
          class={canGo ? "value" : "value still"}
          id={id}
          aria-labelledby={`${id}-of ${id}`}
          aria-description={lines.join("; ")}
          onFocus={() => void look()}
          onBlur={() => (isOpen.value = false)}
          onKeyDown={(event) => event.key === "Escape" && (isOpen.value = false)}
          onClick={() => void go()}
        >
          {children}
        </button>
        {isOpen.value && (
          <span class="tip" role="tooltip" style={placeBelow(host.current)}>
            {lines.join("\n")}
          </span>
        )}
      </dd>
    </div>
  );
}
