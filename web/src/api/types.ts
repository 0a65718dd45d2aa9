// The shapes of the REST contract that the page reads. Absent values are absent keys;
// numbers that are not finite travel as strings.

import type { Num } from "../lib/text/number";

export type { Num };

export type JobStatus = "InProgress" | "Completed" | "Failed" | "Stopping" | "Stopped";

export interface MetricSummary {
  metric: string;
  /** The best value and its step, superseded points left out. */
  best?: Num;
  best_step?: number;
  role?: string;
  /** It answers for its role, wherever the role is asked for. */
  is_main?: boolean;
  unit?: string;
  last?: Num;
  min?: Num;
  max?: Num;
  mean?: Num;
  count?: number;
  first_step?: number;
  last_step?: number;
  final?: Num;
}

export interface JobRow {
  TrainingJobName: string;
  TrainingJobStatus: JobStatus;
  SecondaryStatus?: string;
  CreationTime?: number;
  TrainingStartTime?: number;
  TrainingEndTime?: number;
  LastModifiedTime?: number;
  ResourceConfig?: { InstanceType?: string; InstanceCount?: number };
  Tags?: { Key: string; Value: string }[];
  FailureReason?: string;
  BillableTimeInSeconds?: number;
  streams?: number;
  lines?: number;
  last_line_ms?: number;
  /** When something of it arrived last; last_line_ms is log time, which a wrong clock shifts. */
  last_heard_ms?: number;
  silent_since_ms?: number;
  /** Of a job that nobody ended, but whose time is over: it was of the past, or is silent. */
  worked_until_ms?: number;
  open_incidents?: number;
  /** The newest open ones, in pages of a table. */
  incidents?: Incident[];
  /** The columns that a page of a table asked for: properties as texts, figures as numbers. */
  fields?: Record<string, Num | string | null>;
  team?: string;
  Labels?: string[];
  HyperParameters?: Record<string, string>;
  TrainingTimeInSeconds?: number;
  /** Percent of its wall clock; in the currency of the list of prices. */
  goodput?: number;
  /** null: of an instance type without a price. */
  cost?: number | null;
  unpriced_types?: string[];
  /** Counted: as stated, else by hosts at work at the same time, or names of streams. */
  nodes?: number;
  nodes_from?: "by_hand" | "stated" | "hosts" | "streams";
  /** What somebody set right; an event without it says that it was taken back. */
  by_hand?: { start_ms?: number; end_ms?: number; nodes?: number; instance_type?: string; price_per_hour?: number; settings?: Record<string, string | number>; faults?: Record<string, string>; restarts?: Record<string, { verdict: string; why: string; by?: string }> };
  cost_estimated?: boolean;
  currency?: string;
  metrics?: MetricSummary[];
  /** Of all steps, and which setting says so; the time of the last one at the pace of the last ones. */
  total_steps?: number;
  total_steps_from?: string;
  eta_ms?: number;
  WarmPoolStatus?: { Status: string; ResourceRetainedBillableTimeInSeconds?: number; ReusedByJob?: string };
}

export interface Transition {
  Status: string;
  StartTime?: number;
  EndTime?: number;
  StatusMessage?: string;
}

export interface JobDoc extends JobRow {
  SecondaryStatusTransitions?: Transition[];
  attempts?: number;
  attempt_list?: { attempt: number; start_ms: number }[];
  HyperParameters?: Record<string, string>;
  Notes?: string;
  Labels?: string[];
  MutedAdvice?: string[];
  /** The job that this one states to go on with, and those that go on with this one. */
  continues?: string;
  continued_by?: string[];
  /** Of a tracker's run: its id there, and nested runs. */
  TrackedRunId?: string;
  parent_job?: string;
  child_jobs?: string[];
  has_more_child_jobs?: boolean;
}

export interface JobsReply {
  jobs: JobRow[];
  next_cursor?: string;
  total?: number;
}

export interface StreamInfo {
  stream: string;
  host?: string;
  /** Several machines send it at once. */
  shared?: boolean;
  lines?: number;
  bytes?: number;
  first_ms?: number;
  last_ms?: number;
  /** When something of it arrived last. */
  last_seen_ms?: number;
  silent_since_ms?: number;
  attempt?: number;
  role?: string;
  role_reason?: string;
  skew_ms?: number;
  skew_warning?: string;
  /** Its extraction had no memory: nothing more is extracted before the server is started again. */
  is_held_up?: boolean;
  exit?: { code?: number; signal?: number; reason?: string; at_ms: number };
}

export type CommandName = "stop" | "checkpoint";

/** What was asked of those who send a job, and what each said to it. */
export interface Command {
  id: number;
  command: CommandName;
  stream?: string;
  created_ms: number;
  streams: { stream: string; state: "queued" | "delivered" | "acknowledged"; delivered_ms?: number; acknowledged_ms?: number; result?: string }[];
}

export interface LogLine {
  n: number;
  ts_ms: number;
  text: string;
  cut?: boolean;
}

export interface LogsReply {
  lines: LogLine[];
  total: number;
}

/** A line of a view of many streams. */
export interface StreamLine extends LogLine {
  stream: string;
}

export interface MergedReply {
  lines: StreamLine[];
  /** Towards newer lines, and towards older ones; absent at that end. */
  next_cursor?: string;
  previous_cursor?: string;
}

export interface LogHit {
  stream: string;
  n: number;
  ts_ms: number;
  text: string;
  /** Only the part of a long line around its first match, from this byte of it on. */
  cut?: boolean;
  text_from?: number;
  /** Bytes of the text. */
  matches: [number, number][];
}

export interface LogBucket {
  from_ms: number;
  count: number;
}

/** Lines of all streams that say the same. */
export interface LogGroup {
  lines: number;
  /** How many streams say it, and the first of these. */
  streams: number;
  named: string[];
  /** Its first line. */
  stream: string;
  n: number;
  ts_ms: number;
  text: string;
  cut?: boolean;
  last_ms: number;
}

export interface LogGroupsReply {
  /** By their first lines, oldest first. */
  groups: LogGroup[];
  /** How many there are. */
  found: number;
  lines: number;
  /** Lines of further messages, of which there are too many to tell apart. */
  ungrouped?: number;
  partial?: boolean;
  limited?: number;
}

export interface LogSearchReply {
  hits: LogHit[];
  histogram?: LogBucket[];
  total?: number;
  /** How the hits of one stream lie among its lines: parts of tick_lines lines that hold any. */
  ticks?: { from_line: number; count: number }[];
  tick_lines?: number;
  /** The search ran out of time; next_cursor goes on. */
  partial?: boolean;
  /** Lines on which the pattern was given up. */
  limited?: number;
  next_cursor?: string;
}

export interface SeriesInfo extends MetricSummary {
  stream?: string;
  /** Whether a greater value is the better one, where it is known. */
  higher?: boolean;
  derived?: Derived;
}

/** How a series that no line printed was made. */
export interface Derived {
  formula: string;
  inputs?: Record<string, { value?: Num; from?: string }>;
}

export interface PointColumns {
  x: number[];
  min: Num[];
  max: Num[];
  first: Num[];
  last: Num[];
  mean: Num[];
  count: number[];
  line: (number | null)[];
  min_line?: (number | null)[];
  max_line?: (number | null)[];
  line_stream?: (string | null)[];
  /** How many values of each bucket are NaN or infinite. */
  non_finite?: number[];
}

export interface PointsReply {
  /** The one that was found, when a role was asked for. */
  metric?: string;
  columns: PointColumns;
  total_points: number;
  bucket_width: number;
  seq?: string;
  attempts?: { attempt: number; first_step: number }[];
  /** With x=tokens and x=flops: what had been done at these steps, and what says so. */
  axis?: { formula: string; inputs: { tokens: string; parameters?: { value: number; from: string } }; steps: number[]; values: number[] };
}

/** Of the axes of work: which metric counts the tokens, or why there is none. */
export type Axes = Record<"tokens" | "flops", { tokens?: string; missing?: string; parameters?: { value: number; from: string } }>;

export type Severity = "info" | "warning" | "critical";

export interface Incident {
  id: string | number;
  kind: string;
  severity: Severity;
  state: string;
  job: string;
  metric?: string;
  stream?: string;
  first_step?: number;
  last_step?: number;
  opened_step?: number;
  opened_ms?: number;
  closed_ms?: number;
  closed_why?: string;
  acknowledged_ms?: number;
  muted_until_ms?: number;
  /** The incident of the same job that came first; absent: itself. */
  cause_id?: string;
  streams?: string[];
  stream_count?: number;
  line?: number;
  evidence?: Record<string, unknown>;
}

export interface IncidentsReply {
  incidents: Incident[];
  next_cursor?: string;
}

export interface ServerInfo {
  version: string;
  demo?: boolean;
  seq?: string;
  lines_per_second?: number;
  lag_ms?: number;
  started_ms?: number;
  jobs?: number;
  live_jobs?: number;
  limits?: { silent_after_ms?: number };
}

export interface Session {
  required: boolean;
  authenticated: boolean;
  scope?: string | null;
  team?: string | null;
  /** Of the token, or of the person. */
  name?: string;
  /** Signed in by a provider, or named by a proxy: there is no token. */
  is_person?: boolean;
  /** By which people can sign in. */
  providers?: { name: string; label: string }[];
}

/** [step, ts_ms, value, line, attempt] */
export type LivePoint = [step: number, ts_ms: number, value: Num, line: number | null, attempt: number];

export interface LiveSeries {
  metric: string;
  stream: string;
  role?: string;
  points: LivePoint[];
}

export interface PointsEvent {
  job: string;
  series: LiveSeries[];
}

export interface LinesEvent {
  job: string;
  stream: string;
  from: number;
  lines: LogLine[];
  /** Set when there were too many lines to send: they exist, and are to be fetched. */
  count?: number;
  /** Of a filtered stream: lines that were not looked at, and those on which the pattern was given up. */
  unread?: number;
  limited?: number;
}

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

/** A value of a line that is a point. Offsets count bytes of the line's text. */
export interface LineCapture {
  metric: string;
  start: number;
  end: number;
  value: Num;
  step?: number;
}

export interface CapturesReply {
  lines: { n: number; captures: LineCapture[] }[];
  /** Lines that were not read. */
  next_from?: number;
  /** Lines of which more may be said once there are more. */
  open_from?: number;
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

export type PoolState = "InUse" | "Available" | "Terminated" | "Reused";

/** A cluster that is kept between jobs, and whose it was. */
export interface WarmPool {
  id: number;
  state: PoolState;
  InstanceType?: string;
  InstanceCount?: string;
  /** By turns; "" for a job that was deleted. */
  jobs: string[];
  begun_ms: number;
  expires_ms?: number;
  idle_seconds: number;
  /** null: not known, as below. */
  saved_seconds: number | null;
  cold_startup_seconds?: number | null;
  /** Of the time idle; null: the type has no price. */
  idle_cost?: number | null;
  currency?: string;
}

export interface PoolTurn {
  job: string;
  state: PoolState;
  begun_ms: number;
  ended_ms?: number;
  keep_alive_seconds: number;
  startup_seconds?: number | null;
  retained_seconds: number;
}

export interface PoolsReply {
  pools: WarmPool[];
  next_cursor?: string;
}

export interface PoolNear {
  pool: number;
  job: string;
  field: string;
  wanted: string;
  has: string;
  expires_ms: number;
}

export interface PoolMatchReply {
  match: { pool: number; job: string; expires_ms: number } | null;
  near: PoolNear[];
}

export interface SavedView {
  name: string;
  query: string;
  sort: string;
  columns: string[];
  scope: "user" | "team";
  modified_ms: number;
}

export interface FleetSums {
  goodput: number | null;
  measured_node_hours: number;
  /** null: nothing that ran has a price. */
  cost: number | null;
  lost_cost: number | null;
  /** Billed, and in neither. */
  billed_node_hours?: number;
  unpriced_node_hours?: number;
  /** Of what has a price: of nodes that were counted, not stated. */
  estimated_node_hours?: number;
}

export interface Quota {
  quota: string;
  instance_type?: string;
  configured?: number;
  used: number;
  highest: number;
  highest_ms?: number;
}

/** The whole fleet in one object. */
export interface Fleet {
  as_of_ms: number;
  jobs: Record<string, number>;
  silent_jobs: { job: string; last_heard_ms: number }[];
  open_incidents: Record<Severity, number>;
  nodes: { in_jobs: number; estimated_in_jobs?: number; in_waiting_pools: number; by_type: { instance_type: string; in_jobs: number; in_waiting_pools: number }[] };
  node_hours: number;
  warm_pools: Record<"Available" | "InUse" | "Terminated", number>;
  last_30_days: FleetSums;
  today: FleetSums;
  /** Instance types of jobs that the list of prices does not have. */
  unpriced_types?: string[];
  currency?: string;
  quotas: Quota[];
  ingest: {
    lines: number;
    lines_per_s: number;
    points: number;
    commits_behind: number;
    journal_bytes: number;
    refused_busy: number;
    refused_points: number;
    lost_lines: number;
    bad_times: number;
    /** null: the database is another machine's, which does not say. */
    disk_free_bytes: number | null;
    disk_low: boolean;
  };
}

/** How fast a running job goes against what is usual of it. */
export interface Pace {
  job: string;
  metric: string;
  unit: string;
  is_step_time: boolean;
  now: number;
  usual: number;
  percent_of_usual: number;
  last_heard_ms: number;
}

export interface PacesReply {
  known: number;
  jobs: Pace[];
}

export interface GoodputBucket {
  seconds: number;
  node_hours: number;
  percent: number;
}

/** Why and when it broke off, where it went on, and what that cost. */
export interface Break {
  from_ms: number;
  to_ms?: number;
  repair_seconds?: number;
  cause: string;
  step?: number;
  from_step?: number;
  /** null: not known. */
  lost_steps: number | null;
  redone_seconds: number;
  restart_seconds: number;
  node_hours: number;
}

export interface ContinuityRestart {
  attempt: number;
  continues?: string;
  /** "steps", "status": no step was made again. */
  known_from: string;
  from_step: number;
  first_step: number;
  checkpoint_step: number | null;
  newest_checkpoint_step: number | null;
  overlap_steps: number;
  higher_steps: number;
  lower_steps: number;
  one_sided: boolean;
  loss_before: number | null;
  loss_after: number | null;
  loss_spread: number | null;
  no_number_steps: number;
  loss_difference: number | null;
  /** "Infinity" where the loss before did not vary at all. */
  loss_spreads: number | string | null;
  lr_equal: boolean | null;
  data_equal: boolean | null;
  verdict: string;
  /** Somebody knows better than what was worked out. */
  verdict_from?: "by_hand";
  worked_out?: string;
  set_why?: string;
  set_by?: string;
  /** The gravest of causes; null: there is none. */
  cause: string | null;
  causes: string[];
  /** The attempt whose restart this one undoes. */
  takes_back?: number;
  why: string;
}

export interface Continuity {
  metric: string;
  stream: string;
  restarts: ContinuityRestart[];
  left_out: number;
}

export interface Goodput {
  as_of_ms: number;
  nodes: number;
  /** null: nothing says how long it took. */
  wall_seconds: number | null;
  /** Put aside between two stretches of work: not in wall_seconds. */
  paused_seconds?: number;
  /** Lines and points whose times are of no stretch of work. */
  odd_times?: number;
  goodput?: number | null;
  buckets: Record<string, GoodputBucket>;
  steps?: { metric?: string; stream?: string; made?: number; lost?: number; last?: number; every?: number; step_seconds?: number };
  breaks: Break[];
  causes: { cause: string; count: number; mtbf_hours?: number; mttr_seconds?: number; lost_steps: number | null; lost_node_hours: number }[];
  checkpoint?: { step: number; steps_since: number; seconds_since: number } | null;
  cost?: {
    currency?: string;
    reason?: string;
    instance?: string;
    unpriced_types?: string[];
    billable_seconds?: number | null;
    /** Nobody stated how many nodes there are. */
    estimated?: boolean;
    total?: number | null;
    lost?: number | null;
    redone_steps?: number | null;
    spot_saving?: number | null;
    per_step?: number | null;
    per_million_tokens?: number | null;
  };
  days?: { day: string; node_hours: number; goodput?: number | null; cost?: number | null; lost_cost?: number | null }[];
}

export interface Checkpoint {
  step: number;
  attempt: number | null;
  ts_ms: number;
  stream: string;
  line: number;
}

export interface Note {
  id: number;
  at: "step" | "time" | "line" | "checkpoint";
  step: number | null;
  ts_ms: number | null;
  stream?: string;
  line?: number;
  text: string;
  author: string;
  created_ms: number;
  modified_ms: number;
  deleted_ms?: number;
  undo_until_ms?: number;
}

export interface NotesReply {
  notes: Note[];
  next_after?: number;
}

export interface RunReply {
  run: string;
  jobs: { TrainingJobName: string; TrainingJobStatus: JobStatus; CreationTime: number; continues?: string }[];
  proposed?: { TrainingJobName: string; continues: string; reason: string }[];
}

/** Streams beside each other: how far each is from the median of all, in thousandths; null: no point, "NaN": none that is finite. */
export interface HeatReply {
  metric: string;
  role: string;
  unit: string;
  higher?: boolean;
  x: "step" | "time";
  from: number;
  bucket_width: number;
  columns: number;
  median: (number | null)[];
  rows: { stream: string; away: (number | null | "NaN")[] }[];
}

/** A stream of a job as its machine: of system/HOST what was measured, 100 is all. */
export interface NodeRow {
  stream: string;
  host?: string;
  lines: number;
  last_ms?: number;
  attempt?: number;
  instance?: Record<string, number>;
  ssm_command?: string;
  ssh_command?: string;
}
