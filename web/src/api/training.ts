// What is worked out of a job's training: shapes of /schedule, /tokens, /anatomy and /evaluations.

export interface Schedule {
  metric: string | null;
  declared: {
    schedule: string;
    peak: number;
    initial: number;
    least: number;
    warmup_steps: number | null;
    decay_steps?: number | null;
    total_steps: number | null;
    /** Which setting says it. */
    from: Record<string, string>;
  } | null;
  not_understood: string[];
  /** The log says no step: they are a count of its prints, and nothing is compared. */
  steps_counted: boolean;
  /** The steps are those of a progress bar that lags behind what is printed. */
  steps_uncertain: boolean;
  observed: { step: number; declared: number | null; observed: number }[];
  first_difference: { step: number; declared: number; observed: number } | null;
  clip: number | null;
  clip_from: string | null;
  clipped_share: number | null;
  norm_metric: string | null;
  loss_scale: Moved | null;
  batch: Moved | null;
}

/** What moves beside the rate. */
export interface Moved {
  metric: string;
  first: number;
  last: number;
  least: number;
  most: number;
  lowered: number;
}

export interface Tokens {
  budget: number | null;
  consumed: number | null;
  per_day: number | null;
  eta_ms: number | null;
  eta_cost: number | null;
  currency: string;
  from: Record<string, string>;
  not_understood: string[];
}

/** What a profiler's trace says of a GPU's time; shares are of it, `overlap` of the communication. */
export interface Trace {
  stream: string;
  trace: string;
  file: string | null;
  rank: number | null;
  first_step: number | null;
  last_step: number | null;
  compute: number | null;
  idle: number | null;
  overlap: number | null;
  exposed_communication: number | null;
}

export interface Anatomy {
  steps: number;
  share: Record<string, number | null>;
  exposed_communication: number | null;
  by_stream: { stream: string; steps: number; share: Record<string, number | null>; from: Record<string, string> }[];
  left_out: number;
  traces: Trace[];
}

export interface EvaluationCheckpoint {
  step: number | null;
  path: string | null;
  scores: Record<string, number>;
  n: number | null;
  details: Record<string, { stderr: number | null; n: number | null; shots: number | null; higher_is_better: boolean }>;
}

export interface Evaluations {
  checkpoints: EvaluationCheckpoint[];
  total: number;
  best: { step: number | null; path: string | null; value: number; weights: Record<string, number>; compared: number } | null;
  best_why?: string;
  references: { model: string; shots: number | null; source: string | null; scores: Record<string, number> }[];
  regressions: { step: number; path: string | null; task: string; metric: string; value: number; before_step: number; before: number; errors: number | null }[];
  regressions_total: number;
}
