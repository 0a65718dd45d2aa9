// Whether a job fits into the memory of its devices: the shape of /fit.

export interface Fit {
  per_device_bytes: Record<string, number | null>;
  fits: boolean | null;
  limit_bytes: number | null;
  observed_factor: number | null;
  observed_jobs: number;
  corrected_bytes: number | null;
  would_fit: { text: string; total_bytes: number }[];
  inputs: Record<string, number | string | boolean | null>;
  /** What the parameters are counted from; null where a setting states them. */
  model: Record<string, number | string | boolean | null> | null;
  from: Record<string, string>;
  formulas: Record<string, string>;
  /** Settings that change what is taken and are not followed: what they touch is not said. */
  not_understood: string[];
  /** What the formulas are not of; then nothing is said. */
  not_covered?: string;
}
