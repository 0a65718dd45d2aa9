import { signal } from "@preact/signals";
import { useEffect } from "preact/hooks";
import type { JobsReply } from "../../../api/types";
import { joinNames } from "../../../lib/jobs/compare";
import { t, tn, tx } from "../../../i18n/i18n";
import { nameStem } from "../../../lib/jobs/figures";
import { cutMiddle, NONE } from "../../../lib/text/format";
import { buildSearch, jobHref, quoteText } from "../../../lib/url/url";
import type { JobStore } from "../../../state/job/job";
import { patchQuery, query } from "../../../state/core/router";
import { Store, useStore } from "../../../state/core/store";
import { ProblemBox } from "../../../ui/problem";
import { DataTable } from "../../../ui/datatable";
import { Skeleton } from "../../../ui/skeleton";

interface Compared {
  differ: { key: string; values: unknown[] }[];
  equal?: { key: string; value: unknown }[];
}

const CANDIDATES = 12;
const SHOWN = 500;

/** What to compare with: the job before it in its run, else the last one of its name's stem, else of its team. */
class SettingsStore extends Store {
  readonly candidates = signal<string[] | null>(null);
  readonly compared = signal<Compared | null>(null);

  constructor(private readonly store: JobStore) {
    super();
  }

  async start(): Promise<void> {
    const doc = this.store.doc.value;
    const team = doc?.Tags?.find((one) => one.Key === "team")?.Value;
    const before = doc?.CreationTime === undefined ? "" : ` created<="${new Date(doc.CreationTime * 1000).toISOString()}"`;
    const found = [
      ...(doc?.continues ? [doc.continues] : []),
      ...(doc?.parent_job ? [doc.parent_job] : []),
      ...(await this.find(`name:${quoteText(nameStem(this.store.name))}${before}`)),
      ...(team ? await this.find(`tag.team=${quoteText(team)}${before}`) : []),
    ];
    this.candidates.value = [...new Set(found)].filter((one) => one !== this.store.name).slice(0, CANDIDATES);
  }

  /** A list that does not come is an empty one: one can still type a name. */
  private async find(q: string): Promise<string[]> {
    const reply = await this.get<JobsReply>("jobs", { q, sort: "-created", limit: CANDIDATES }, () => undefined);
    return reply?.jobs.map((one) => one.TrainingJobName) ?? [];
  }

  async compare(other: string): Promise<void> {
    const reply = await this.get<Compared>("compare", { jobs: joinNames([other, this.store.name]), equal: true });
    if (reply) this.compared.value = reply;
  }
}

const asText = (value: unknown): string => (value === null || value === undefined ? NONE : typeof value === "string" ? value : JSON.stringify(value));

export function SettingsPart({ store }: { store: JobStore }) {
  const isLoaded = store.doc.value?.CreationTime !== undefined;
  const own = useStore(() => (isLoaded ? new SettingsStore(store) : null), [store, isLoaded], (next) => next.start());
  const candidates = own?.candidates.value;
  const other = query.value["with"] ?? candidates?.[0];
  useEffect(() => {
    if (own && other !== undefined) void own.compare(other);
  }, [own, other]);

  return (
    <div class="report">
      <NestedRuns store={store} />
      <form
        class="toolbar"
        onSubmit={(event) => {
          event.preventDefault();
          const typed = new FormData(event.currentTarget).get("with");
          patchQuery({ with: typeof typed === "string" && typed !== "" ? typed : undefined });
        }}
      >
        <label>
          {t("What changed since")}{" "}
          <input name="with" list="settings-jobs" key={other} defaultValue={other} placeholder={t("another job's name")} />
        </label>
        <datalist id="settings-jobs">
          {candidates?.map((job) => (
            <option key={job} value={job} />
          ))}
        </datalist>
        <button type="submit">{t("Compare the settings")}</button>
        {other !== undefined && (
          <a href={`/compare${buildSearch({ jobs: joinNames([other, store.name]) })}`}>{t("Compare the curves, too")}</a>
        )}
      </form>
      {own?.problem.value && other !== undefined && <ProblemBox problem={own.problem.value} onRetry={() => void own.compare(other)} />}
      {other === undefined && candidates && <OwnSettings store={store} />}
      {other !== undefined && own?.compared.value && <Differences store={store} other={other} compared={own.compared.value} />}
      {(!candidates || (other !== undefined && !own?.compared.value && !own?.problem.value)) && <Skeleton rows={8} />}
    </div>
  );
}

/** Of an experiment tracker: the run that this one is part of, and its own parts. */
function NestedRuns({ store }: { store: JobStore }) {
  const { parent_job: parent, child_jobs: children = [], has_more_child_jobs: hasMore, TrackedRunId: runId } = store.doc.value ?? {};
  const number = children.length;
  return (
    <>
      {parent !== undefined && <p class="nested">{tx("nested run of {job}", { job: <a href={jobHref(parent)}>{parent}</a> })}</p>}
      {number > 0 && (
        <details class="nested">
          <summary>{hasMore ? t("more than {n} nested runs", { n: number }) : tn(number, "{n} nested run", "{n} nested runs")}</summary>
          <ul>
            {children.map((job) => (
              <li key={job}>
                <a href={jobHref(job)}>{job}</a>
              </li>
            ))}
          </ul>
          {runId !== undefined && <a href={`/jobs${buildSearch({ q: `tag.mlflow.parentRunId=${runId}` })}`}>{t("nested runs in a list")}</a>}
        </details>
      )}
    </>
  );
}

/** There is no other job to compare with. */
function OwnSettings({ store }: { store: JobStore }) {
  const rows = Object.entries(store.doc.value?.HyperParameters ?? {});
  return (
    <>
      <p class="dim">{t("No earlier job looks like this one; here is what it was started with. Any job's name can be typed above.")}</p>
      <table class="plain">
        <tbody>
          {rows.slice(0, SHOWN).map(([key, value]) => (
            <tr key={key}>
              <th scope="row" class="mono">
                {key}
              </th>
              <td class="mono">{value}</td>
            </tr>
          ))}
        </tbody>
      </table>
      {rows.length === 0 && <p>{t("Neither its document nor its log told any setting.")}</p>}
    </>
  );
}

function Differences({ store, other, compared }: { store: JobStore; other: string; compared: Compared }) {
  // Hyperparameters first: they are what one looks for.
  const rank = (key: string): number => (key.startsWith("hp.") ? 0 : key.startsWith("env.") ? 1 : 2);
  const rows = [...compared.differ].sort((a, b) => rank(a.key) - rank(b.key));
  const equal = compared.equal ?? [];
  return (
    <>
      <DataTable
        class="plain diff"
        rows={rows.slice(0, SHOWN)}
        keyOf={({ key }) => key}
        columns={[
          { title: tn(rows.length, "{n} setting differs", "{n} settings differ"), isHead: true, cellClass: "mono", cell: ({ key }) => key },
          {
            title: (
              <a href={jobHref(other)} title={other}>
                {cutMiddle(other, 40)}
              </a>
            ),
            cellClass: "mono was",
            cell: ({ values }) => asText(values[0]),
          },
          { title: t("this job"), cellClass: "mono is", cell: ({ values }) => asText(values[1]) },
        ]}
      />
      {rows.length > SHOWN && <p class="dim">{tn(rows.length - SHOWN, "and {n} more", "and {n} more")}</p>}
      <details>
        <summary>{tn(equal.length, "{n} setting is the same", "{n} settings are the same")}</summary>
        <table class="plain">
          <tbody>
            {equal.slice(0, SHOWN).map(({ key, value }) => (
              <tr key={key}>
                <th scope="row" class="mono">
                  {key}
                </th>
                <td class="mono">{asText(value)}</td>
              </tr>
            ))}
          </tbody>
        </table>
      </details>
      <p class="dim">{t("{job} is compared as it is now; texts that are equal as numbers are equal.", { job: cutMiddle(store.name, 40) })}</p>
    </>
  );
}
