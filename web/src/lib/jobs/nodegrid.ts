// All nodes of a job as cells of a grid, and what each says of itself.
import type { Incident, NodeRow, Severity, StreamInfo } from "../../api/types";
import { isOpen } from "../chart/incidentorder";
import { isTrouble } from "./commands";

/** What sm-ship measures of a machine is a stream of its own, and no node. */
export const isSystem = (stream: string): boolean => stream.startsWith("system/");

export type NodeState = "sending" | "silent" | "failed" | "ended" | "clock" | "over";

/** `silentBeforeMs`: who was heard of last before that is silent; null: the job is over, and nobody sends any more. */
export function nodeState(one: StreamInfo, silentBeforeMs: number | null): NodeState {
  const { exit } = one;
  if (exit) return exit.signal !== undefined || (exit.code ?? 0) !== 0 ? "failed" : "ended";
  if (silentBeforeMs === null) return "over";
  const heard = one.last_seen_ms ?? one.last_ms;
  if (one.silent_since_ms !== undefined || (heard !== undefined && heard < silentBeforeMs)) return "silent";
  return one.skew_warning !== undefined ? "clock" : "sending";
}

export interface GridNode {
  one: StreamInfo;
  state: NodeState;
  /** Incidents that name this stream. */
  faults: number;
  /** The worst of those that are open, and what they are. */
  mark: Severity | null;
  kinds: readonly string[];
  /** Its machine should be drained: why. */
  drain: string | null;
  /** Of its machine, 100 is all: GPUs, else CPUs. */
  utilisation: number | null;
  /** Ended badly, silent, with a wrong clock; or an open incident names it, or its machine should be drained. */
  isTroubled: boolean;
}

export function gridNodes(streams: readonly StreamInfo[], incidents: readonly Incident[], machines: readonly NodeRow[], silentBeforeMs: number | null, drain: ReadonlyMap<string, string> = new Map()): GridNode[] {
  const faults = new Map<string, number>();
  const open = new Map<string, Incident[]>();
  for (const incident of incidents) {
    for (const one of incident.streams ?? (incident.stream === undefined ? [] : [incident.stream])) {
      faults.set(one, (faults.get(one) ?? 0) + 1);
      if (isOpen(incident)) open.set(one, [...(open.get(one) ?? []), incident]);
    }
  }
  const used = new Map<string, number>();
  for (const { stream, instance } of machines) {
    const value = instance?.["GPUUtilization"] ?? instance?.["CPUUtilization"];
    if (isSystem(stream) && value !== undefined) used.set(stream.slice("system/".length), value);
  }
  return streams
    .filter((one) => !isSystem(one.stream))
    .map((one) => {
      const mark = worstOf(open.get(one.stream) ?? []);
      const why = drain.get(one.host ?? "") ?? null;
      return {
        one,
        state: nodeState(one, silentBeforeMs),
        faults: faults.get(one.stream) ?? 0,
        mark,
        kinds: [...new Set(open.get(one.stream)?.map(({ kind }) => kind))],
        drain: why,
        utilisation: used.get(one.host ?? "") ?? null,
        isTroubled: isTrouble(one) || mark !== null || why !== null,
      };
    });
}

const SEVERITIES: readonly Severity[] = ["critical", "warning", "info"];

const worstOf = (incidents: readonly Incident[]): Severity | null => SEVERITIES.find((one) => incidents.some(({ severity }) => severity === one)) ?? null;

export interface GridShape {
  size: number;
  columns: number;
  rows: number;
}

/** Cells as large as they can be read, as many in a row as there is room for. */
export function gridShape(count: number, width: number): GridShape {
  const size = count <= 64 ? 28 : count <= 512 ? 18 : 12;
  const columns = Math.max(1, Math.min(count, Math.floor(width / size)));
  return { size, columns, rows: Math.ceil(count / columns) };
}

/** Where an arrow leads from a cell; null: the key is not for the grid. */
export function moveIn({ columns }: { columns: number }, count: number, at: number, key: string): number | null {
  const by: Record<string, number> = { ArrowLeft: -1, ArrowRight: 1, ArrowUp: -columns, ArrowDown: columns, Home: -count, End: count, PageUp: -columns * 10, PageDown: columns * 10 };
  const step = by[key];
  if (step === undefined || count === 0) return null;
  const next = at + step;
  // Up and down stay in the column.
  if (Math.abs(step) === columns && (next < 0 || next >= count)) return at;
  return Math.min(count - 1, Math.max(0, next));
}

export type Measure = "state" | "age" | "faults" | "utilisation";
export const MEASURES: readonly Measure[] = ["state", "age", "faults", "utilisation"];

/** What a cell's colour says; null: nothing is known. */
export function measureOf(node: GridNode, measure: Measure, nowMs: number): number | null {
  if (measure === "age") {
    const heard = node.one.last_seen_ms ?? node.one.last_ms;
    return heard === undefined ? null : Math.max(0, (nowMs - heard) / 1000);
  }
  return measure === "faults" ? node.faults : measure === "utilisation" ? node.utilisation : null;
}
