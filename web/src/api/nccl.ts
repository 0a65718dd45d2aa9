// Runs of nccl-tests in a job's log: the shape of /nccl. Bandwidths are in GB/s.

interface Half {
  busbw: number | null;
}

export interface NcclRow {
  size: number;
  out_of_place: Half;
  in_place: Half;
  share_of_limit: number | null;
  /** Of others; null with fewer than three. */
  median_busbw: number | null;
}

export interface NcclRun {
  stream: string;
  line: number;
  test: string | null;
  hosts: string[];
  ranks: number;
  slow: boolean;
  rows: NcclRow[];
}

export interface Nccl {
  instance_type: string | null;
  limits: { peer_gb_s: number | null; network_gb_s: number | null; source: string };
  runs: NcclRun[];
  machines: { host: string; suspect: boolean }[];
  compared_jobs: number;
  partial: boolean;
}
