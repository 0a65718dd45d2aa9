// What an incident says in words, and what is done about it. Facts: docs/detection.md.
import type { Incident, Num } from "../../api/types";
import { t } from "../../i18n/i18n";
import { formatCount, formatDuration, formatValue } from "../text/format";
import { kindTitle } from "../chart/marks";
import { DEEDS, SENTENCES } from "./kindwords";
import { toNumber } from "../text/number";

const number = (value: unknown): Num | undefined =>
  typeof value === "number" || value === "NaN" || value === "Infinity" || value === "-Infinity" ? value : undefined;

const text = (value: unknown): string | undefined => (typeof value === "string" && value !== "" ? value : undefined);

/** One sentence. What a log line said for itself is quoted by its title. */
export function sentenceOf(incident: Incident): string {
  const evidence = incident.evidence ?? {};
  const title = text(evidence["title"]);
  if (title) return title;
  const pattern = SENTENCES[incident.kind];
  if (!pattern) return kindTitle(incident.kind);
  const seconds = (value: unknown): string => formatDuration(toNumber(number(value)));
  const fault = text((evidence["fault"] as Record<string, unknown> | undefined)?.["summary"]);
  const sentence = t(pattern, {
    metric: incident.metric || t("A figure"),
    stream: incident.stream || t("A node"),
    value: formatValue(number(evidence["value"])),
    expected: formatValue(number(evidence["expected"])),
    step: formatCount(incident.opened_step),
    silence: seconds(evidence["worst"] ?? evidence["value"]),
    gap: seconds(evidence["expected"]),
    rule: text(evidence["rule_name"]) ?? "",
    score: [text(evidence["task"]), text(evidence["task_metric"])].filter(Boolean).join("/"),
  });
  return fault ? `${sentence} ${fault}.` : sentence;
}

/** Whose a collective that timed out likely is; null: nobody knows, or the sentence has it. */
export function likelyOf(incident: Incident): string | null {
  const likely = incident.evidence?.["likely"] as Record<string, unknown> | undefined;
  const said = text(likely?.["text"]);
  const place = text(likely?.["host"]) ?? text(likely?.["stream"]);
  return said && place ? t("Likely of {place}: {text}", { place, text: said }) : (said ?? null);
}

/** What to do; null: nothing general can be said. */
export function deedOf(incident: Incident): string | null {
  const own = text(incident.evidence?.["action"]);
  if (own) return own;
  const general = DEEDS[incident.kind];
  return general ? t(general) : null;
}

/** How far it is off, in parts of what was usual: −0.26. */
export function changeOf(incident: Incident): number | null {
  const value = toNumber(number(incident.evidence?.["value"]));
  const expected = toNumber(number(incident.evidence?.["expected"]));
  return Number.isFinite(value) && Number.isFinite(expected) && expected !== 0 ? value / expected - 1 : null;
}
