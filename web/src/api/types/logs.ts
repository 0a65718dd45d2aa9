// Lines of logs, and what is found in them.
import type { Num } from "../../lib/text/number";

export interface LogLine {
  n: number;
  ts_ms: number;
  text: string;
  cut?: boolean;
}

export interface LogsReply {
  lines: LogLine[];
  total: number;
}

/** A line of a view of many streams. */
export interface StreamLine extends LogLine {
  stream: string;
}

export interface MergedReply {
  lines: StreamLine[];
  /** Towards newer lines, and towards older ones; absent at that end. */
  next_cursor?: string;
  previous_cursor?: string;
}

export interface LogHit {
  stream: string;
  n: number;
  ts_ms: number;
  text: string;
  /** Only the part of a long line around its first match, from this byte of it on. */
  cut?: boolean;
  text_from?: number;
  /** Bytes of the text. */
  matches: [number, number][];
}

export interface LogBucket {
  from_ms: number;
  count: number;
}

/** Lines of all streams that say the same. */
export interface LogGroup {
  lines: number;
  /** How many streams say it, and the first of these. */
  streams: number;
  named: string[];
  /** Its first line. */
  stream: string;
  n: number;
  ts_ms: number;
  text: string;
  cut?: boolean;
  last_ms: number;
}

export interface LogGroupsReply {
  /** By their first lines, oldest first. */
  groups: LogGroup[];
  /** How many there are. */
  found: number;
  lines: number;
  /** Lines of further messages, of which there are too many to tell apart. */
  ungrouped?: number;
  partial?: boolean;
  limited?: number;
}

export interface LogSearchReply {
  hits: LogHit[];
  histogram?: LogBucket[];
  total?: number;
  /** How the hits of one stream lie among its lines: parts of tick_lines lines that hold any. */
  ticks?: { from_line: number; count: number }[];
  tick_lines?: number;
  /** The search ran out of time; next_cursor goes on. */
  partial?: boolean;
  /** Lines on which the pattern was given up. */
  limited?: number;
  next_cursor?: string;
}

export interface LinesEvent {
  job: string;
  stream: string;
  from: number;
  lines: LogLine[];
  /** Set when there were too many lines to send: they exist, and are to be fetched. */
  count?: number;
  /** Of a filtered stream: lines that were not looked at, and those on which the pattern was given up. */
  unread?: number;
  limited?: number;
}

/** A value of a line that is a point. Offsets count bytes of the line's text. */
export interface LineCapture {
  metric: string;
  start: number;
  end: number;
  value: Num;
  step?: number;
}

export interface CapturesReply {
  lines: { n: number; captures: LineCapture[] }[];
  /** Lines that were not read. */
  next_from?: number;
  /** Lines of which more may be said once there are more. */
  open_from?: number;
}
