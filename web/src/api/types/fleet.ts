// The server itself, its fleet, and warm pools.
import type { Severity } from "./incidents";

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
