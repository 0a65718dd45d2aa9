// Errors in a stream's log, wherever they are: lines in which a program says that something failed, and lines of incidents.
import { signal } from "@preact/signals";
import { jobPath } from "../../api/client";
import type { LogSearchReply } from "../../api/types";
import { Store } from "../core/store";
import { ticksOfReply, type Ticks } from "./hits";

/** As programs write it, so case counts: "error_rate" and "0 errors" are none. */
export const ERROR_PATTERN = [
  String.raw`\b(?:ERROR|FATAL|CRITICAL|PANIC)\b`,
  String.raw`\b\w*(?:Error|Exception): `,
  String.raw`\bNCCL WARN\b`,
  String.raw`\b[Oo]ut of memory\b`,
  String.raw`Segmentation fault|core dumped|CUDA error|terminate called|Process received signal|Bus error`,
  String.raw`^\[?[EF]\d{4} \d\d:`,
  String.raw`\bNVRM: Xid\b`,
].join("|");

/** A log so long is not looked through unasked. */
const UNASKED_LINES = 1_000_000;

export class ErrorStore extends Store {
  readonly ticks = signal<Ticks | null>(null);
  readonly isBusy = signal(false);
  /** What a step came to, where there was none: said once. */
  readonly isEnd = signal<"" | "last" | "first">("");
  private isCounted = false;

  constructor(
    private readonly job: string,
    private readonly stream: string,
  ) {
    super();
  }

  /** Marks along the scroll bar; of a very long log only once somebody asks for errors. */
  async count(total: number, isAsked: boolean): Promise<void> {
    if (this.isCounted || total === 0 || (total > UNASKED_LINES && !isAsked)) return;
    this.isCounted = true;
    const reply = await this.ask({ limit: 1, ticks: this.stream });
    if (reply) this.ticks.value = ticksOfReply(reply);
  }

  /** The next error below a line (by > 0) or above it, among what the log says and where incidents are. */
  async near(line: number, by: number, incidents: readonly number[]): Promise<number | null> {
    this.isBusy.value = true;
    const where = by > 0 ? { from_line: line + 1, order: "oldest" } : { to_line: line - 1 };
    const reply = by < 0 && line <= 0 ? null : await this.ask({ limit: 1, histogram: false, ...where });
    this.isBusy.value = false;
    const lines = [...incidents, ...(reply?.hits.map((hit) => hit.n) ?? [])].filter((one) => (by > 0 ? one > line : one < line));
    const found = lines.length === 0 ? null : by > 0 ? Math.min(...lines) : Math.max(...lines);
    this.isEnd.value = found !== null ? "" : by > 0 ? "last" : "first";
    return found;
  }

  private ask(extra: Record<string, string | number | boolean>): Promise<LogSearchReply | null> {
    return this.get<LogSearchReply>(jobPath(this.job, "/logs/search"), { q: ERROR_PATTERN, regex: true, stream: this.stream, ...extra });
  }
}
