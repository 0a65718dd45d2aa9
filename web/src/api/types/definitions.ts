// Metric definitions, and trials of them.
import type { Num } from "../../lib/text/number";

/** One metric definition, as it is given and as it is kept. */
export interface Definition {
  Name: string;
  Regex: string;
  /** An expression of its own for the step, where the first one does not hold it. */
  Step?: string;
  /** The group that is the value, where it is called neither `value` nor is the first. */
  Group?: string;
  Role?: string;
  Unit?: string;
  Higher?: boolean;
}

export interface DefinitionHealth {
  Name: string;
  tried: number;
  matched: number;
  not_numeric?: number;
  missing?: number;
  without_step?: number;
  limited?: number;
}

export interface Backfill {
  state: "running" | "done" | "failed" | "cancelled";
  generation?: number;
  lines?: number;
  lines_total?: number;
  bytes?: number;
  bytes_total?: number;
  error?: string | null;
}

export interface BackfillEvent extends Backfill {
  job: string;
}

export interface Format {
  preset: string;
  /** That it took. */
  lines: number;
  reason: string;
}

/** What a job's lines are matched against, and why. While a back-fill runs, what it will replace. */
export interface DefinitionsDoc {
  source: "job" | "server" | "preset" | "none";
  /** Of `formats` the one that leads. */
  preset?: string | null;
  reason?: string;
  /** All presets that captured values in the job's streams. */
  formats?: Format[];
  generation?: number;
  /** Why they cannot be read, and what to do. */
  damaged?: string;
  definitions: Definition[];
  health?: DefinitionHealth[];
  backfill?: Backfill | null;
}

export interface ServerDefinitions {
  definitions: Definition[];
  presets?: { name: string; definitions?: Definition[] }[];
}

/** Offsets count bytes of the line's text as the reply gives it. */
export interface Capture {
  definition: number;
  start: number;
  end: number;
  text?: string;
  value?: Num;
  step?: number;
  step_start?: number;
  step_end?: number;
  /** The series' name, where the expression captures it. */
  metric?: string;
  name_start?: number;
  name_end?: number;
}

export interface TrialLine {
  index: number;
  text: string;
  captures: Capture[];
}

export interface TrialDefinition {
  Name?: string;
  error?: { detail: string; field?: string; column?: number };
  tried?: number;
  matched?: number;
  numeric?: number;
  /** Lines on which something else stands where the value should. */
  not_numeric?: number;
  limited?: number;
  match_rate?: number;
  us_per_line?: number;
  warnings?: { code: string; text: string }[];
}

export interface TrialReply {
  lines: TrialLine[];
  definitions: TrialDefinition[];
  /** Time ran out: the lines behind were not tried. */
  partial?: boolean;
}
