// Which jobs are selected, by name: rows move while they are.
import { signal } from "@preact/signals";
import { t, tn } from "../../i18n/i18n";
import { jobHref } from "../../lib/url/url";
import type { JobTable } from "../../state/fleet/jobs";

/** More are not meant one by one. */
const MOST_AT_ONCE = 1000;

export class Selection {
  readonly names = signal<ReadonlySet<string>>(new Set());
  /** What became of the last thing that was done with them. */
  readonly said = signal<readonly string[]>([]);
  private anchor = -1;

  constructor(private readonly list: () => JobTable | null) {}

  toggle(index: number): void {
    const name = this.list()?.rowAt(index)?.TrainingJobName;
    if (name === undefined) return;
    const next = new Set(this.names.value);
    if (!next.delete(name)) next.add(name);
    this.names.value = next;
    this.anchor = index;
  }

  /** From where one began to here, with rows that are still to be fetched. */
  async extend(to: number): Promise<void> {
    if (this.anchor < 0) return this.toggle(to);
    const from = this.anchor;
    await this.take(Math.min(from, to), Math.min(Math.max(from, to) + 1, Math.min(from, to) + MOST_AT_ONCE));
  }

  takeAll(first: number, end: number): void {
    void this.take(first, end);
  }

  clear(): void {
    this.names.value = new Set();
    this.said.value = [];
    this.anchor = -1;
  }

  copyLink(index: number): void {
    const name = this.list()?.rowAt(index)?.TrainingJobName;
    if (name !== undefined) void this.copyLinks([name]);
  }

  async copyLinks(names: readonly string[]): Promise<void> {
    try {
      await navigator.clipboard.writeText(names.map((name) => location.origin + jobHref(name)).join("\n"));
      this.said.value = [tn(names.length, "Copied {n} link", "Copied {n} links")];
    } catch {
      this.said.value = [t("The browser does not let this page copy: the addresses are at the rows' names")];
    }
  }

  drop(gone: readonly string[]): void {
    this.names.value = new Set([...this.names.value].filter((name) => !gone.includes(name)));
  }

  private async take(first: number, end: number): Promise<void> {
    const rows = await this.list()?.rowsOf(first, end);
    if (rows) this.names.value = new Set([...this.names.value, ...rows.map((row) => row.TrainingJobName)]);
    if (this.anchor < 0) this.anchor = first;
  }
}
