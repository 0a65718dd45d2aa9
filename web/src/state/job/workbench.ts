// A job's definitions while they are looked at and edited, tried on its lines as one types.
import { t } from "../../i18n/i18n";
import { computed, signal } from "@preact/signals";
import { asProblem, getJson, isAbort, jobPath, send, type Problem } from "../../api/client";
import type { Backfill, Definition, DefinitionsDoc, LogSearchReply, LogsReply, ServerDefinitions, StreamInfo, TrialReply } from "../../api/types";
import { stripAnsi } from "../../lib/text/ansi";
import { definitionsOf, errorIndex, filledRows, isSame, pastedLines, rowsOf, type Row } from "../../lib/jobs/draft";
import { Latest } from "../../lib/flow/latest";
import { Soon } from "../../lib/flow/poll";
import { PAGE_LINES } from "../../lib/url/place";
import { onLive, setWant } from "../../live/client";
import type { LiveEvent } from "../../live/protocol";
import { freshSeq } from "../core/info";
import { Store } from "../core/store";
import { compareNatural } from "../../lib/text/natural";

const PASTED_MOST = 1000;
const TYPING_MS = 150;
const HEALTH_MS = 5000;
export const AUTOMATIC = "auto";

/** Which lines are tried: a page of a stream, or what was pasted. */
export type Sample = { stream: string | null; from: number | null } | { text: string };

export interface Trial extends TrialReply {
  /** The row of each definition that was sent. */
  rowIds: number[];
  /** The number of the first line; null: the lines were pasted. */
  from: number | null;
}

interface Draft {
  rows: Row[];
  choice: string | null;
}

/** What was not saved outlives a look at the charts. */
const drafts = new Map<string, Draft>();

export class Workbench extends Store {
  readonly doc = signal<DefinitionsDoc | null>(null);
  readonly server = signal<ServerDefinitions | null>(null);
  readonly streams = signal<StreamInfo[] | null>(null);
  readonly rows = signal<Row[]>([]);
  /** A preset, or "auto", that is looked at and not saved yet. */
  readonly choice = signal<string | null>(null);
  readonly trial = signal<Trial | null>(null);
  readonly trialProblem = signal<Problem | null>(null);
  readonly isTrying = signal(false);
  readonly isSaving = signal(false);
  readonly savedText = signal("");
  readonly saveProblem = signal<Problem | null>(null);
  readonly backfill = signal<Backfill | null>(null);

  /** What a back-fill that runs puts in place when it is done. */
  private readonly pending = signal<Definition[] | null>(null);
  readonly isDirty = computed(() => this.choice.value !== null || !isSame(this.rows.value, this.base()));

  private readonly latest = new Latest(TYPING_MS);
  private readonly health = new Soon(HEALTH_MS, () => void this.loadDoc());

  constructor(readonly name: string) {
    super();
    this.whenStopped(
      this.latest,
      this.health,
      onLive((event) => this.take(event)),
    );
  }

  /** What is saved. */
  private base(): Definition[] {
    return this.pending.value ?? this.doc.value?.definitions ?? [];
  }

  async start(): Promise<void> {
    const seq = await freshSeq();
    if (this.signal.aborted) return;
    this.problem.value = null;
    setWant({ jobs: [this.name], kinds: ["lines", "backfill"], after: seq });
    await this.load();
  }

  override stop(): void {
    if (this.doc.value && this.isDirty.value) drafts.set(this.name, { rows: this.rows.value, choice: this.choice.value });
    else drafts.delete(this.name);
    super.stop();
  }

  private async load(): Promise<void> {
    await Promise.all([
      this.loadDoc(),
      this.fetch<{ streams: StreamInfo[] }>(jobPath(this.name, "/streams"), (reply) => {
        this.streams.value = reply.streams.sort((a, b) => compareNatural(a.stream, b.stream));
      }),
      this.fetch<ServerDefinitions>("definitions", (reply) => {
        this.server.value = reply;
      }),
    ]);
  }

  /** Somebody else changed the definitions. */
  refresh(): Promise<void> {
    return this.loadDoc();
  }

  private loadDoc(): Promise<void> {
    return this.fetch<DefinitionsDoc>(jobPath(this.name, "/definitions"), (doc) => {
      const isFirst = this.doc.value === null;
      const hadEdits = !isFirst && this.isDirty.value;
      this.takeDoc(doc);
      const draft = isFirst ? drafts.get(this.name) : undefined;
      if (draft) {
        this.rows.value = draft.rows;
        this.choice.value = draft.choice;
      } else if (!hadEdits && !isSame(this.rows.value, this.base())) this.rows.value = rowsOf(this.base());
    });
  }

  private takeDoc(doc: DefinitionsDoc): void {
    this.doc.value = doc;
    this.backfill.value = doc.backfill ?? null;
    // Of one that did not come to its end the rows stay, as edits that are not saved.
    if (doc.backfill?.state !== "running") this.pending.value = null;
  }

  private async fetch<T>(path: string, use: (reply: T) => void): Promise<void> {
    await this.getFor<T>(path, use);
  }

  /** Of several requests one that goes well says nothing of the others. */
  protected override note(problem: Problem | null): void {
    if (problem) super.note(problem);
  }

  private presetRows(name: string): Definition[] {
    return this.server.value?.presets?.find((one) => one.name === name)?.definitions ?? [];
  }

  /** Shows a preset's definitions; they are the job's when they are saved. */
  choose(name: string): void {
    this.savedText.value = "";
    this.choice.value = name;
    const rows = this.presetRows(name);
    if (rows.length > 0) this.rows.value = rowsOf(rows);
  }

  edit(rows: Row[]): void {
    this.savedText.value = "";
    this.rows.value = rows;
    this.choice.value = null;
  }

  revert(): void {
    this.choice.value = null;
    this.saveProblem.value = null;
    this.rows.value = rowsOf(this.base());
  }

  async save(withBackfill: boolean): Promise<void> {
    if (this.isSaving.value) return;
    this.isSaving.value = true;
    this.saveProblem.value = null;
    this.savedText.value = "";
    const body = this.body();
    try {
      const reply = await send("PUT", jobPath(this.name, "/definitions"), withBackfill ? { backfill: true } : {}, body, this.signal);
      this.choice.value = null;
      if (withBackfill) this.pending.value = definitionsOf(this.rows.value);
      this.takeDoc((await reply.json()) as DefinitionsDoc);
      this.rows.value = sameRows(this.rows.value, this.base());
      this.savedText.value = withBackfill ? t("The whole log is read again.") : t("Saved, for lines from now on.");
    } catch (error) {
      if (!isAbort(error)) this.saveProblem.value = asProblem(error);
    } finally {
      this.isSaving.value = false;
    }
  }

  /** A preset stays one, and is not written out, as long as nobody edits it. */
  private body(): { preset: string } | { definitions: Definition[] } {
    const { source, preset } = this.doc.value ?? {};
    const kept = this.isDirty.value || source === "job" || source === "server" ? null : (preset ?? AUTOMATIC);
    const chosen = this.choice.value ?? kept;
    return chosen === null ? { definitions: definitionsOf(this.rows.value) } : { preset: chosen };
  }

  async cancelBackfill(): Promise<void> {
    try {
      await send("DELETE", jobPath(this.name, "/definitions/backfill"), {}, undefined, this.signal);
      await this.loadDoc();
    } catch (error) {
      if (!isAbort(error)) this.saveProblem.value = asProblem(error);
    }
  }

  /** The newest line of a stream that an expression matches; null: none does, or it is not to be found out. */
  async lastMatch(regex: string, stream: string | null): Promise<number | null> {
    const params = { q: regex, regex: true, stream: stream ?? undefined, limit: 1 };
    const reply = await this.get<LogSearchReply>(jobPath(this.name, "/logs/search"), params, (problem) => {
      if (problem) this.trialProblem.value = problem;
    });
    return reply?.hits[0]?.n ?? null;
  }

  /** Tries the rows on these lines, once the hand rests; at once when only the lines are others. */
  try(sample: Sample, isTyping: boolean): void {
    this.isTrying.value = true;
    this.latest.ask((signal) => this.ask(sample, signal), isTyping ? TYPING_MS : 0);
  }

  private async ask(sample: Sample, signal: AbortSignal): Promise<void> {
    const rows = filledRows(this.rows.value);
    try {
      const reply = rows.length > 0 ? await this.askTrial(rows, sample, signal) : await this.askLines(sample, signal);
      this.trial.value = { ...reply, rowIds: rows.map((row) => row.id), from: "text" in sample ? null : (sample.from ?? 0) };
      this.trialProblem.value = null;
    } catch (error) {
      if (isAbort(error)) return;
      this.trialProblem.value = asProblem(error);
    }
    this.isTrying.value = false;
  }

  private async askTrial(rows: Row[], sample: Sample, signal: AbortSignal): Promise<TrialReply> {
    const lines =
      "text" in sample
        ? { lines: pastedLines(sample.text, PASTED_MOST).lines }
        : { job: this.name, stream: sample.stream ?? undefined, from: sample.from ?? 0, limit: PAGE_LINES };
    const body = { MetricDefinitions: definitionsOf(rows), ...lines };
    return (await (await send("POST", "definitions/test", {}, body, signal)).json()) as TrialReply;
  }

  /** Without a definition there is nothing to try, but lines to look at. */
  private async askLines(sample: Sample, signal: AbortSignal): Promise<TrialReply> {
    const texts = "text" in sample ? pastedLines(sample.text, PASTED_MOST).lines : await this.storedTexts(sample, signal);
    return { lines: texts.map((text, index) => ({ index, text: stripAnsi(text), captures: [] })), definitions: [] };
  }

  private async storedTexts({ stream, from }: { stream: string | null; from: number | null }, signal: AbortSignal): Promise<string[]> {
    if (stream === null) return [];
    const params = { stream, from: from ?? 0, limit: PAGE_LINES };
    return (await getJson<LogsReply>(jobPath(this.name, "/logs"), params, signal)).lines.map((line) => line.text);
  }

  private take(event: LiveEvent): void {
    if (event.kind === "resync") void this.load();
    else if (event.kind === "backfill" && event.data.job === this.name) this.takeBackfill(event.data);
    else if (event.kind === "lines" && event.data.job === this.name) {
      const { stream, from, lines, count } = event.data;
      this.grew(stream, from + Math.max(lines.length, count ?? 0));
    }
  }

  private takeBackfill(next: Backfill): void {
    const isOver = this.backfill.value?.state === "running" && next.state !== "running";
    this.backfill.value = next;
    if (!isOver) return;
    this.savedText.value = "";
    void this.loadDoc();
  }

  private grew(stream: string, lines: number): void {
    const known = this.streams.value ?? [];
    const next = known.some((one) => one.stream === stream) ? known : [...known, { stream }];
    this.streams.value = next.map((one) => (one.stream === stream ? { ...one, lines: Math.max(lines, one.lines ?? 0) } : one));
    this.health.ask();
  }
}

/** The rows as the server has them now; those that are the same stay themselves, so that the focus does too. */
function sameRows(rows: Row[], definitions: readonly Definition[]): Row[] {
  return isSame(rows, definitions) ? rows : rowsOf(definitions);
}

/** The row that a refused save is about. */
export function rowOfProblem(rows: readonly Row[], problem: Problem | null): number | null {
  const index = errorIndex(problem?.facts["field"]);
  return index === null ? null : (filledRows(rows)[index]?.id ?? null);
}
