// Jobs, and what belongs to one: its streams, machines, notes and run.
import type { Num } from "../../lib/text/number";
import type { Incident } from "./incidents";

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
  last_ts_ms?: number;
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
  by_hand?: { start_ms?: number; end_ms?: number; nodes?: number; instance_type?: string; price_per_hour?: number; settings?: Record<string, string | number>; faults?: Record<string, string>; restarts?: Record<string, { verdict: string; why: string; by?: string }>; checkpoints?: Record<string, object> };
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

export interface SavedView {
  name: string;
  query: string;
  sort: string;
  columns: string[];
  scope: "user" | "team";
  modified_ms: number;
}

export interface Checkpoint {
  step: number;
  attempt: number | null;
  ts_ms: number;
  /** null: no line tells of it, somebody does. */
  stream: string | null;
  line: number | null;
  /** Of one of which somebody set something right. */
  from?: "by_hand";
  usable?: boolean;
  /** As its line names it, or somebody set it by hand. */
  path?: string;
  set_why?: string;
  set_by?: string;
  set_ms?: number;
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
