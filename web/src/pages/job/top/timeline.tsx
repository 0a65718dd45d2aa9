import { useSignal } from "@preact/signals";
import { useEffect, useRef } from "preact/hooks";
import type { Incident, JobDoc } from "../../../api/types";
import { t, tn } from "../../../i18n/i18n";
import { formatCount, formatDuration, formatTime } from "../../../lib/text/format";
import { EVENT_GLYPH, incidentTitle, SEVERITY_GLYPH, type JobEvent, type MarkKind } from "../../../lib/chart/marks";
import { calmNow, foldShort, groupMarks, segmentsOf, spanOf, type MarkGroup, type Segment, type TimeMark } from "../../../lib/chart/timeline";
import { now } from "../../../state/core/clock";
import type { JobStore } from "../../../state/job/job";
import { hiddenMarks } from "../../../lib/url/url";
import { patchQuery, query } from "../../../state/core/router";
import { showEvent, showIncident, showTime } from "../common/place";

const GAP = 18;
const SHORT_SHARE = 0.002;
const NARROW = 44;
const MOST_SAID = 8;

const KINDS: readonly MarkKind[] = ["incident", "restart", "checkpoint", "node", "note"];

function kindText(kind: MarkKind, n: number): string {
  switch (kind) {
    case "incident":
      return tn(n, "{n} incident", "{n} incidents");
    case "restart":
      return tn(n, "{n} restart", "{n} restarts");
    case "checkpoint":
      return tn(n, "{n} checkpoint", "{n} checkpoints");
    case "node":
      return tn(n, "{n} node event", "{n} node events");
    case "note":
      return tn(n, "{n} note", "{n} notes");
  }
}

const ofIncident = (incident: Incident): TimeMark[] =>
  incident.opened_ms === undefined ? [] : [{ kind: "incident", ms: incident.opened_ms, text: incidentTitle(incident), severity: incident.severity, incident, event: null }];

const ofEvent = (event: JobEvent): TimeMark[] => (event.ms === undefined ? [] : [{ kind: event.kind, ms: event.ms, text: event.text, severity: null, incident: null, event }]);

function segmentText(one: Segment, hasAttempts: boolean): string {
  const time = t("{time}, from {from} to {to}", {
    time: formatDuration(((one.isOpen ? Math.max(one.fromMs, now.value) : one.toMs) - one.fromMs) / 1000),
    from: formatTime(one.fromMs),
    to: one.isOpen ? t("now") : formatTime(one.toMs),
  });
  const what = one.folded > 1 ? tn(one.folded, "{n} short state", "{n} short states") : one.status;
  const attempt = hasAttempts ? ` (${t("attempt {n}", { n: one.attempt })})` : "";
  return `${what}${attempt} ${time}${one.message && one.folded === 1 ? `: ${one.message}` : ""}`;
}

function groupText(group: MarkGroup): string {
  const lines = group.marks.slice(0, MOST_SAID).map((mark) => `${formatTime(mark.ms)} ${mark.text}`);
  const more = group.marks.length - lines.length;
  const count = group.marks.length > 1 ? [`${formatCount(group.marks.length)}:`] : [];
  return [...count, ...lines, ...(more > 0 ? [tn(more, "and {n} more", "and {n} more")] : [])].join("\n");
}

const glyphOf = ({ severity, event }: TimeMark): string => (severity ? SEVERITY_GLYPH[severity] : event ? EVENT_GLYPH[event.kind] : "");

/** The job's states in time with what happened in them. The tab key stops once; arrows go from one thing to the next. */
export function Timeline({ store, doc }: { store: JobStore; doc: JobDoc }) {
  const host = useRef<HTMLElement>(null);
  const width = useSignal(0);
  const said = useSignal<{ text: string; left: number } | null>(null);
  const chosen = useSignal<number | null>(null);
  useEffect(() => {
    const element = host.current;
    if (!element) return;
    const observer = new ResizeObserver(() => (width.value = element.clientWidth));
    observer.observe(element);
    return () => observer.disconnect();
  }, []);

  const first = doc.SecondaryStatusTransitions?.[0]?.StartTime ?? 0;
  const segments = foldShort(segmentsOf(doc, calmNow(first * 1000, now.value)), SHORT_SHARE);
  const all = [...(store.incidents.rows.value ?? []).flatMap(ofIncident), ...store.events.value.flatMap(ofEvent)];
  const hidden = hiddenMarks(query.value);
  // What was before the first state, and a mark whose clock is ahead, still has a place.
  const span = spanOf(segments);
  const marks = all.filter((mark) => !hidden.has(mark.kind)).map((mark) => ({ ...mark, ms: Math.min(span[1], Math.max(span[0], mark.ms)) }));
  const groups = groupMarks(marks, span, width.value, GAP);
  const share = (ms: number): number => ((ms - span[0]) / (span[1] - span[0])) * 100;
  const hasAttempts = segments.some((one) => one.attempt > 1);

  const openGroup = ({ lead, marks: inside }: MarkGroup): void => {
    if (inside.length > 1 && inside.every((mark) => mark.kind !== "incident")) {
      const times = inside.map((mark) => mark.ms);
      const room = (span[1] - span[0]) * 0.01;
      showTime(store, Math.min(...times) - room, Math.max(...times) + room);
    } else if (lead.incident) showIncident(store, lead.incident);
    else if (lead.event) showEvent(store, lead.event);
  };

  const things = segments.length + groups.length;
  // Tab leads to the longest state first: it is wide enough to be met.
  const longest = segments.reduce((best, one, i) => (one.toMs - one.fromMs > (segments[best]?.toMs ?? 0) - (segments[best]?.fromMs ?? 0) ? i : best), 0);
  const current = Math.min(things - 1, chosen.value ?? longest);
  const onKeyDown = (event: KeyboardEvent): void => {
    const by = { ArrowRight: 1, ArrowLeft: -1, ArrowDown: 1, ArrowUp: -1, Home: -things, End: things }[event.key];
    if (event.key === "Escape") said.value = null;
    if (by === undefined) return;
    event.preventDefault();
    chosen.value = Math.min(things - 1, Math.max(0, current + by));
    host.current?.querySelector<HTMLElement>(`[data-thing="${chosen.value}"]`)?.focus();
  };
  const thing = (i: number, text: string, left: number) => ({
    type: "button" as const,
    "data-thing": i,
    tabIndex: i === current ? 0 : -1,
    "aria-label": text,
    onFocus: () => {
      chosen.value = i;
      said.value = { text, left };
    },
    onBlur: () => (said.value = null),
    onPointerEnter: () => (said.value = { text, left }),
    onPointerLeave: () => (said.value = null),
  });

  return (
    <section class="timeline" aria-label={t("What happened to the job, in time")} onKeyDown={onKeyDown}>
      <div class="lanes" ref={host as never}>
        <div class="track">
          {segments.map((one, i) => {
            const left = share(one.fromMs);
            const size = share(one.toMs) - left;
            return (
              <button
                key={i}
                {...thing(i, segmentText(one, hasAttempts), (left / 100) * width.value)}
                class={`segment ${one.folded > 1 ? "s-many" : `s-${one.status.toLowerCase()}`}`}
                style={{ left: `${left}%`, width: `${size}%` }}
                onClick={() => showTime(store, one.fromMs, one.toMs)}
              >
                {(size / 100) * width.value > NARROW && (
                  <>
                    {one.status}
                    {one.attempt > 1 && ` (${formatCount(one.attempt)})`}
                  </>
                )}
              </button>
            );
          })}
        </div>
        <div class="happened">
          {groups.map((group, i) => (
            <button
              key={`${group.lead.kind} ${group.lead.ms} ${group.marks.length}`}
              {...thing(segments.length + i, groupText(group), group.left)}
              class={group.lead.severity ? `severity ${group.lead.severity}` : group.lead.kind}
              style={{ left: `${group.left}px` }}
              data-glyph={glyphOf(group.lead)}
              data-count={group.marks.length > 1 ? group.marks.length : undefined}
              onClick={() => openGroup(group)}
            />
          ))}
        </div>
        {said.value && (
          <p class="tip" aria-hidden="true" style={{ left: `${Math.min(said.value.left, Math.max(0, width.value - 280))}px` }}>
            {said.value.text}
          </p>
        )}
      </div>
      <div class="kinds" role="group" aria-label={t("Marks on the timeline and the charts")}>
        {KINDS.map((kind) => {
          const count = all.filter((mark) => mark.kind === kind).length;
          if (count === 0) return null;
          const isHidden = hidden.has(kind);
          const next = new Set([...hidden].filter((one) => one !== "" && one !== kind));
          if (!isHidden) next.add(kind);
          return (
            <button key={kind} type="button" class="quiet" aria-pressed={!isHidden} aria-label={kindText(kind, count)} title={kindText(kind, count)} onClick={() => patchQuery({ hide: [...next].join(",") || undefined })}>
              <span aria-hidden="true">{kind === "incident" ? "▲" : EVENT_GLYPH[kind]}</span> {formatCount(count)}
            </button>
          );
        })}
      </div>
    </section>
  );
}
