// Where a workspace begins: one that is saved, a template, a file, or nothing at all.
import { useSignal } from "@preact/signals";
import { t } from "../../i18n/i18n";
import { formatTime } from "../../lib/text/format";
import { buildSearch } from "../../lib/url/url";
import { TEMPLATES } from "../../lib/workspace/templates";
import { Resource } from "../../state/core/resource";
import { useStore } from "../../state/core/store";
import type { WorkspaceStore } from "../../state/workspace/workspace";
import { DataTable } from "../../ui/datatable";
import { ProblemBox } from "../../ui/problem";
import { Skeleton } from "../../ui/skeleton";
import { readFile } from "./bar";

interface Row {
  name: string;
  title: string;
  panels: number;
  author: string;
  modified_ms: number;
}

export function Start({ store }: { store: WorkspaceStore }) {
  const list = useStore(() => new Resource<{ workspaces: Row[] }>("workspaces"), [], (next) => next.load());
  const fault = useSignal<string | null>(null);
  const rows = list?.value.value?.workspaces;
  const problem = list?.problem.value;
  const read = async (input: HTMLInputElement): Promise<void> => {
    const found = await readFile(input);
    fault.value = typeof found === "string" ? found : null;
    if (found !== null && typeof found !== "string") store.begin(found);
  };
  return (
    <div class="wsstart">
      <h1>{t("Workspace")}</h1>
      <p class="dim">{t("Several metrics of many jobs at once: curves, scatters, tables and numbers, each by a query and an expression. Saved for the team, or kept in the address.")}</p>
      <section>
        <h2>{t("Begin with")}</h2>
        <ul class="templates">
          {TEMPLATES.map(({ key, title, about, workspace }) => (
            <li key={key}>
              <button type="button" onClick={() => store.begin(workspace)}>
                <strong>{t(title)}</strong>
                <span>{t(about)}</span>
              </button>
            </li>
          ))}
          <li>
            <button type="button" onClick={() => store.begin({ version: 1, panels: [] })}>
              <strong>{t("Nothing")}</strong>
              <span>{t("An empty workspace; “a” adds a panel")}</span>
            </button>
          </li>
          <li>
            <label class="file">
              <strong>{t("A file")}</strong>
              <span>{t("JSON that was exported here")}</span>
              <input type="file" accept="application/json,.json" aria-label={t("A file")} onChange={(event) => void read(event.currentTarget)} />
            </label>
          </li>
        </ul>
        {fault.value !== null && (
          <p class="wrong" role="alert" lang="en">
            {fault.value}
          </p>
        )}
      </section>
      <section>
        <h2>{t("Saved for the team")}</h2>
        {problem && <ProblemBox problem={problem} onRetry={() => void list?.load()} />}
        {!rows && !problem && <Skeleton rows={3} />}
        {rows?.length === 0 && <p class="dim">{t("None yet. Save one, and everybody in the team finds it here.")}</p>}
        {rows && rows.length > 0 && (
          <DataTable
            columns={[
              {
                title: t("Name"),
                isHead: true,
                cell: (row) => (
                  <a href={`/workspace${buildSearch({}, { name: row.name })}`}>
                    <bdi>{row.name}</bdi>
                  </a>
                ),
              },
              { title: t("Title"), cell: (row) => <bdi>{row.title}</bdi> },
              { title: t("Panels"), isNumber: true, cell: (row) => row.panels },
              { title: t("Saved by"), cell: (row) => <bdi>{row.author}</bdi> },
              { title: t("Saved"), cell: (row) => formatTime(row.modified_ms) },
            ]}
            rows={rows}
            keyOf={(row) => row.name}
          />
        )}
      </section>
    </div>
  );
}
