import type { Incident, Severity } from "../../api/types";
import { say, t } from "../../i18n/i18n";
import { stepOf } from "./incidentstep";
import { TITLES } from "./kindtitles";
import { WEIGHT } from "./incidentorder";
import { cutMiddle } from "../text/format";
import type { Axis } from "../url/url";

export { isOpen } from "./incidentorder";

export const SEVERITY_GLYPH: Record<Severity, string> = { info: "◇", warning: "▲", critical: "◆" };

export interface Mark {
  /** Pixels from the plot's left edge. */
  left: number;
  severity: Severity;
  incidents: Incident[];
}

/** Marks that would overlap become one, at the place and with the severity of the gravest. */
export function layoutMarks(placed: { left: number; incident: Incident }[], gap: number): Mark[] {
  const marks: Mark[] = [];
  for (const { left, incident } of [...placed].sort((a, b) => a.left - b.left)) {
    const last = marks[marks.length - 1];
    if (!last || left - last.left >= gap) {
      marks.push({ left, severity: incident.severity, incidents: [incident] });
      continue;
    }
    last.incidents.push(incident);
    if (WEIGHT[incident.severity] > WEIGHT[last.severity]) {
      last.severity = incident.severity;
      last.left = left;
    }
  }
  return marks;
}

export function kindTitle(kind: string): string {
  const title = TITLES[kind];
  return title ? t(title) : kind.replaceAll("_", " ");
}

const NAME_LENGTH = 60;

/** What a list calls it: its kind, and what a training called its own alert. */
export function incidentName(incident: Incident): string {
  const title = incident.kind === "training_alert" ? incident.evidence?.["title"] : undefined;
  return typeof title === "string" && title !== "" ? t("alert: {title}", { title: cutMiddle(title, NAME_LENGTH) }) : kindTitle(incident.kind);
}

/** The log line that an incident points at, where its evidence names one. */
export function evidenceLine(incident: Incident): number | null {
  const evidence = incident.evidence ?? {};
  const lines = evidence["lines"];
  const candidates = [incident.line, evidence["line"], evidence["first_line"], Array.isArray(lines) ? (lines[0] as unknown) : null];
  for (const value of candidates) {
    if (typeof value === "number" && Number.isInteger(value) && value >= 0) return value;
  }
  return null;
}

const WORDS: Readonly<Record<string, string>> = {
  info: say("info"), warning: say("warning"), critical: say("critical"), open: say("open"), recovered: say("recovered"),
};

export function incidentTitle(incident: Incident): string {
  const kind = incidentName(incident);
  const what = incident.metric ? t("{kind} in {metric}", { kind, metric: incident.metric }) : kind;
  const step = stepOf(incident);
  const whole = step === undefined ? what : t("{what} at step {step}", { what, step });
  return `${t(WORDS[incident.severity] ?? incident.severity)}: ${whole} (${t(WORDS[incident.state] ?? incident.state)})`;
}

/** The stretch of x to look at around an incident: wide enough to see what was normal. Behind the step `end` there is nothing to see. */
export function incidentWindow(incident: Incident, axis: Axis, startMs: number, lastStep: number, end = Infinity): [number, number] | null {
  if (axis !== "step") {
    if (incident.opened_ms === undefined) return null;
    const at = axis === "relative" ? incident.opened_ms - startMs : incident.opened_ms;
    return [at - AROUND_MS, at + AROUND_MS];
  }
  const opened = stepOf(incident);
  if (opened === undefined) return null;
  const first = incident.first_step ?? opened;
  const last = Math.max(opened, incident.last_step ?? opened);
  const room = Math.max(10, Math.round(lastStep * 0.03), (last - first) * 2);
  return [Math.max(0, first - room), Math.min(last + room, Math.max(last, end))];
}

const AROUND_MS = 15 * 60_000;

/** What else happened to a job, at a place of its axes: charts mark it, the timeline shows it. */
export interface JobEvent {
  kind: "restart" | "checkpoint" | "node" | "note";
  id: string;
  ms: number | undefined;
  step: number | undefined;
  /** All that is known of it, in the page's language. */
  text: string;
  stream?: string | undefined;
  line?: number | undefined;
  /** Its number. */
  note?: number;
}

export type MarkKind = "incident" | JobEvent["kind"];

export const EVENT_GLYPH: Record<JobEvent["kind"], string> = { restart: "⟲", checkpoint: "⚑", node: "⬡", note: "✎" };
