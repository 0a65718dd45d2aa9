// The ledger of machines, as /api/v1/nodes has it; of the last 30 days.
export interface MachineFault {
  signature: string;
  lines: number;
  last_ms: number;
  drain: boolean;
}

export interface Machine {
  host: string;
  drain: boolean;
  why: string[];
  faults: MachineFault[];
  restarts: number;
  lost_node_hours: number;
  stragglers: number;
  slow_steps: number;
  last_seen_ms: number;
  job_count: number;
  /** In a list the last one, of one machine the last twenty. */
  jobs: { job: string; stream: string; status: string; last_ms: number; shared?: boolean }[];
  utilisation: Record<string, number>;
}

export interface MachinesReply {
  nodes: Machine[];
  /** Of all machines, with the first page. */
  drain?: { host: string; why: string[] }[];
  next_cursor?: string;
}

export interface FaultKind {
  signature: string;
  times: number;
  lines: number;
  first_ms: number;
  last_ms: number;
  job_count: number;
  days: number;
  repeated: boolean;
}

export interface Forecast {
  events: number;
  machine_days: number;
  expected: number | null;
  low?: number;
  high?: number;
  why?: string;
  shape?: number;
  exposure?: number;
  ahead?: number;
}

interface ReplacedFault {
  host: string;
  signature: string;
  ts_ms: number;
  line: number;
  text: string;
}

export interface Replacement {
  stream: string;
  /** The new machine's, where ranks were numbered anew; `line` is of it. */
  to_stream: string;
  /** Healthy machines that went on in another stream. */
  moved: number;
  /** The job that this one goes on with, where the old machine was in it; `stream` and `fault` are of it then. */
  from_job?: string;
  from: string;
  to: string;
  line: number;
  at_ms: number;
  took_ms: number;
  why: string;
  fault: ReplacedFault | null;
  /** null: no fault is known. */
  fault_followed: string | null;
  /** Of "not provable": until when the new machine was watched. */
  followed_why?: string;
  seen_again: ReplacedFault | null;
  seen_again_job?: string;
  observed_ms?: number;
  needed_ms?: number;
}

export interface Replacements {
  replacements: Replacement[];
  left_out: number;
}

export interface MachineFault {
  signature: string;
  ts_ms: number;
  last_ms: number;
  lines: number;
  job: string;
  stream?: string;
  line: number;
  text: string;
  /** Of one that was cleared. */
  why?: string;
}

export interface MachineHistory extends Machine {
  fault_kinds: FaultKind[];
  repeat_offender: boolean;
  expected_interruptions: { days: number; formula: string; charged: number; fleet: Forecast; host: Forecast };
  fault_list: MachineFault[];
  /** Those that somebody says are not the machine's. */
  cleared_faults: MachineFault[];
}
