// Definitions while they are edited: a row a definition, every cell a text.
import { t } from "../../i18n/i18n";
import type { Definition, DefinitionHealth, TrialDefinition } from "../../api/types";
import { collapseNumbers, columnOfShort, expandNumbers } from "../text/numberpattern";

export interface Row {
  id: number;
  Name: string;
  Regex: string;
  Step: string;
  Group: string;
  Role: string;
  Unit: string;
  /** "" leaves it to the role. */
  Higher: "" | "true" | "false";
  /** The value's group was named, so that it can be named otherwise. */
  hasGroup: boolean;
  /** What else the definition says: it is kept as it came. */
  rest: object;
}

export type Field = Exclude<keyof Row, "id" | "rest" | "hasGroup">;

export const ROLES: readonly string[] = ["loss", "eval_loss", "throughput", "step_time", "learning_rate", "grad_norm", "mfu", "reward", "kl", "entropy", "response_length", "clip_fraction", "rollout_time", "benchmark", "other"];
export const DEFINITIONS_MAX = 100;

let lastId = 0;

export const newRow = (): Row => ({ id: ++lastId, Name: "", Regex: "", Step: "", Group: "", Role: "", Unit: "", Higher: "", hasGroup: false, rest: {} });

export const rowsOf = (definitions: readonly Definition[]): Row[] =>
  definitions.map(({ Name, Regex, Step, Group, Role, Unit, Higher, ...rest }) => ({
    id: ++lastId,
    Name: Name ?? "",
    Regex: collapseNumbers(Regex ?? ""),
    Step: collapseNumbers(Step ?? ""),
    Group: Group ?? "",
    Role: Role ?? "",
    Unit: Unit ?? "",
    Higher: Higher === true ? "true" : Higher === false ? "false" : "",
    hasGroup: Boolean(Group),
    rest,
  }));

export function definitionOf(row: Row): Definition {
  const one: Definition = { Name: row.Name.trim(), Regex: expandNumbers(row.Regex) };
  if (row.Step) one.Step = expandNumbers(row.Step);
  if (row.Group.trim()) one.Group = row.Group.trim();
  if (row.Role) one.Role = row.Role;
  if (row.Unit.trim()) one.Unit = row.Unit.trim();
  if (row.Higher) one.Higher = row.Higher === "true";
  return { ...row.rest, ...one };
}

const isBlank = (row: Row): boolean => row.Name.trim() === "" && row.Regex === "" && row.Step === "";

/** Rows that say something: a row just added does not stand in the way. */
export const filledRows = (rows: readonly Row[]): Row[] => rows.filter((row) => !isBlank(row));

export const definitionsOf = (rows: readonly Row[]): Definition[] => filledRows(rows).map(definitionOf);

const canonical = (definitions: readonly Definition[]): string => JSON.stringify(definitionsOf(rowsOf(definitions)));

export const isSame = (rows: readonly Row[], definitions: readonly Definition[]): boolean =>
  JSON.stringify(definitionsOf(rows)) === canonical(definitions);

export const changeRow = (rows: readonly Row[], id: number, field: Field, value: string): Row[] =>
  rows.map((row) => (row.id === id ? { ...row, [field]: value } : row));

/** A row moved up or down; at the ends it stays. */
export function moveRow(rows: readonly Row[], id: number, by: number): Row[] {
  const next = [...rows];
  const from = next.findIndex((row) => row.id === id);
  const to = from + by;
  const [row] = from >= 0 && to >= 0 && to < next.length ? next.splice(from, 1) : [];
  if (row) next.splice(to, 0, row);
  return next;
}

/** What keeps the rows from being saved, without asking the server; null: nothing. */
export function incompleteRow(rows: readonly Row[]): { id: number; field: Field; text: string } | null {
  for (const row of filledRows(rows)) {
    if (row.Name.trim() === "") return { id: row.id, field: "Name", text: t("a definition needs a name") };
    if (row.Regex === "") return { id: row.id, field: "Regex", text: t("{name} needs an expression", { name: row.Name.trim() }) };
  }
  return null;
}

export interface FieldError {
  field: Field;
  detail: string;
  /** Where in the field's text, from 1. */
  column: number | null;
}

const FIELD = /\.(Name|Regex|Step|Group|Role|Unit|Higher)$/;

/** Which cell of the row an error of the server is about. */
export function fieldError(error: TrialDefinition["error"], row: Row): FieldError | null {
  if (!error) return null;
  const field = (FIELD.exec(error.field ?? "")?.[1] ?? "Regex") as Field;
  const column = error.column === undefined ? null : columnOfShort(row[field], error.column);
  return { field, detail: withoutPlace(error.detail), column };
}

/** The list and the offset are the request's; the row and the column stand beside the message. */
const withoutPlace = (detail: string): string => detail.replace(/^MetricDefinitions\[\d+\]\.\w+ /, "").replace(/ at offset \d+:/, ":");

/** The index in "MetricDefinitions[3].Regex" or "definitions[3].Regex"; null: it is about none. */
export function errorIndex(field: unknown): number | null {
  const found = typeof field === "string" ? /\[(\d+)\]/.exec(field) : null;
  return found ? Number(found[1]) : null;
}

const AROUND = 32;

/** A piece of a long expression with the place under which a caret stands. */
export function excerpt(text: string, column: number): { text: string; caret: number } {
  const at = Math.min(Math.max(0, column - 1), text.length);
  const from = Math.max(0, at - AROUND);
  const to = Math.min(text.length, at + AROUND);
  const head = from > 0 ? "…" : "";
  return { text: `${head}${text.slice(from, to)}${to < text.length ? "…" : ""}`, caret: at - from + head.length };
}

export interface HealthText {
  text: string;
  isBad: boolean;
  title: string;
}

const count = (value: number | undefined): string => (value ?? 0).toLocaleString("en-US");

/** How a definition does on the job's own lines. */
export function describeHealth(health: DefinitionHealth | undefined): HealthText {
  if (!health || health.tried === 0) return { text: t("not tried yet"), isBad: false, title: t("No line has been tried on it since it was saved") };
  const parts = [t("{n} of {all}", { n: count(health.matched), all: count(health.tried) })];
  if (health.not_numeric) parts.push(t("{n} not numeric", { n: count(health.not_numeric) }));
  if (health.missing) parts.push(t("{n} missing", { n: count(health.missing) }));
  if (health.without_step) parts.push(t("{n} without a step", { n: count(health.without_step) }));
  if (health.limited) parts.push(t("{n} cut off", { n: count(health.limited) }));
  const isBad = health.matched === 0 || (health.limited ?? 0) > 0 || (health.not_numeric ?? 0) > 0 || (health.without_step ?? 0) > 0;
  const title = t("{matched} of {tried} lines matched; {odd} captures were no number; {missing} lines say None, n/a or the like there; on {stepless} no step was found, so the point takes the last one or is counted; the match was cut off on {limited} lines", { matched: count(health.matched), tried: count(health.tried), odd: count(health.not_numeric), missing: count(health.missing), stepless: count(health.without_step), limited: count(health.limited) });
  return { text: parts.join(", "), isBad, title };
}

export const healthOf = (health: readonly DefinitionHealth[] | undefined, name: string): DefinitionHealth | undefined =>
  health?.find((one) => one.Name === name);

/** Text pasted into the page as lines, as many as are tried at once. */
export function pastedLines(text: string, most: number): { lines: string[]; left: number } {
  const all = text.replace(/\n$/, "").split("\n");
  const lines = text === "" ? [] : all;
  return { lines: lines.slice(0, most), left: Math.max(0, lines.length - most) };
}
