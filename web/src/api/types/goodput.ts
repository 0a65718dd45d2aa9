// Where the time of a job went, and how it went on.

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
  /** The job whose attempt that is, if another one's. */
  takes_back_in?: string;
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
