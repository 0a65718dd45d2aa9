// The shapes of incidents' pages, rules and webhooks, as the REST contract has them.
import type { Incident, Num, Severity } from "./types";

export interface Delivery {
  n: number;
  webhook: number;
  incident: string;
  message_id: string;
  state: "pending" | "done" | "dead";
  attempts: number;
  created_ms: number;
  next_ms?: number;
  done_ms?: number;
  /** What the receiver answered last; absent: nothing. */
  last_code?: number;
  last_error?: string;
}

export interface IncidentReply {
  incident: Incident;
  deliveries: Delivery[];
}

export interface Quiet {
  from: string;
  to: string;
  tz?: string;
  days?: string[];
  unless?: Severity;
}

/** What a rule is made of, as it is sent. */
export interface RuleDraft {
  name: string;
  query: string;
  kinds: string[];
  minimum_severity: Severity;
  webhooks: "all" | number[];
  /** What it takes is not for the rules behind it. */
  exclusive: boolean;
  tell: boolean;
  recovery: boolean;
  enabled: boolean;
  expression: string;
  severity: Severity;
  persistence_s: number;
  cool_down_s: number;
  collect_s: number;
  quiet: Quiet | null;
  command: string;
  team: string;
}

export interface Rule extends RuleDraft {
  id: number;
  modified_ms: number;
  /** As older rules say their webhooks. */
  endpoints?: number[];
}

export interface Fire {
  job: string;
  stream?: string;
  metric?: string;
  kind: string;
  step?: number;
  ts_ms: number;
  value?: Num;
  expected?: Num;
}

export interface PreviewReply {
  fires: Fire[];
  count: number;
  jobs?: number;
  points?: number;
  partial?: boolean;
}

/** What the receiver of such a webhook would get. */
export interface WebhookPreview {
  format: string;
  /** The address says whose it is. */
  is_known_address: boolean;
  /** Of no incident that is open. */
  is_example: boolean;
  content_type: string;
  message: unknown;
}

export interface WebhookDraft {
  url: string;
  format: string;
  minimum_severity: Severity;
  events: string[];
  per_minute: number;
  heartbeat_s: number;
  /** A time of day as 07:30, "": no reports; a zone's name, "": UTC. */
  report_at: string;
  report_tz: string;
  team: string;
  enabled: boolean;
  secret?: string;
}

export interface Webhook extends WebhookDraft {
  id: number;
  has_secret: boolean;
  created_ms: number;
  next_report_ms?: number;
}
