// A rule as a form has it: texts, until it is sent.
import type { Rule, RuleDraft } from "../../api/alerts";

export const NEW_RULE: RuleDraft = {
  name: "",
  query: "",
  kinds: [],
  minimum_severity: "info",
  webhooks: "all",
  exclusive: false,
  tell: true,
  recovery: true,
  enabled: true,
  expression: "",
  severity: "warning",
  persistence_s: 0,
  cool_down_s: 0,
  collect_s: 0,
  quiet: null,
  command: "",
  team: "",
};

export function draftOf(rule: Rule | null): RuleDraft {
  if (!rule) return NEW_RULE;
  const { id: _id, modified_ms: _modified, endpoints: _older, ...draft } = rule;
  return draft;
}

/** A condition of one's own is of no kind that detectors know, so that it is sent without them. */
export const bodyOf = (draft: RuleDraft): RuleDraft => (draft.expression ? { ...draft, kinds: [] } : draft);

const UNITS: Readonly<Record<string, number>> = { s: 1, m: 60, min: 60, h: 3600, d: 86_400 };

/** "90", "90s", "5 min", "2h"; null: none of these. */
export function parseSeconds(text: string): number | null {
  const found = /^\s*(\d+(?:\.\d+)?)\s*(s|m|min|h|d)?\s*$/.exec(text);
  if (!found) return text.trim() === "" ? 0 : null;
  return Math.round(Number(found[1]) * (UNITS[found[2] ?? "s"] ?? 1));
}

/** As parseSeconds reads it; "" for none. */
export function formatSeconds(seconds: number): string {
  if (seconds === 0) return "";
  for (const [unit, factor] of [["d", 86_400], ["h", 3600], ["min", 60]] as const) {
    if (seconds % factor === 0) return `${seconds / factor} ${unit}`;
  }
  return `${seconds} s`;
}
