// The shape of /evaluations: the best checkpoints of many jobs.
import type { Evaluations } from "./training";

export interface Leader {
  rank: number;
  job: string;
  run?: string;
  step: number | null;
  path: string | null;
  /** More is better: of a perplexity it is negative. */
  value: number;
  scores: Record<string, number>;
  stderr?: number | null;
  compared?: number;
}

export interface Leaders {
  weights: Record<string, number>;
  leaders: Leader[];
  total: number;
  metrics: { metric: string; jobs: number }[];
  references: Evaluations["references"];
}
