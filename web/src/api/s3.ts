// Requests to S3 that a job's log tells of: the shape of /s3.

export interface S3Prefix {
  /** null: the lines do not name it. */
  bucket: string | null;
  prefix: string;
  reads: number;
  writes: number;
  unknown: number;
  slow_downs: number;
  peak_reads_per_s: number | null;
  peak_writes_per_s: number | null;
  split: { text: string } | null;
}

export interface S3 {
  limits: { writes_per_s: number; reads_per_s: number; source: string };
  reads: number;
  writes: number;
  unknown: number;
  slow_downs: number;
  partial: boolean;
  peaks_partial: boolean;
  lines: number;
  lines_looked_at: number;
  prefixes: S3Prefix[];
  prefix_count: number;
}
