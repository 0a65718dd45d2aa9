import { type Signal, useSignal } from "@preact/signals";
import { useMemo, useRef } from "preact/hooks";
import { apiUrl } from "../../api/client";
import { say, t, tn } from "../../i18n/i18n";
import { adoptStyle } from "../../lib/jobs/adopt";
import { isField, withSorted } from "../../lib/jobs/columns";
import { parseSort } from "../../lib/text/sort";
import { columnOfSort } from "./columns";
import { compareHref } from "../../lib/jobs/compare";
import { columnsOf } from "../../state/fleet/columns";
import { JobTable } from "../../state/fleet/jobs";
import { useKeys } from "../../state/core/keys";
import { navigate, patchQuery } from "../../state/core/router";
import { useStore } from "../../state/core/store";
import style from "../../styles/jobtable.css?inline";
import { lazy } from "../../ui/lazy";
import { Popover } from "../../ui/popover";
import { ProblemBox } from "../../ui/problem";
import { Skeleton } from "../../ui/skeleton";
import { Selection } from "./selection";
import { JobsTable } from "./table";

adoptStyle(style);

const FirstLine = lazy(async () => (await import("./empty")).FirstLine, 6);
const ColumnChooser = lazy(async () => (await import("./chooser")).ColumnChooser, 8);
const Views = lazy(async () => (await import("../../ui/views")).Views, 3);
const BulkActions = lazy(async () => (await import("./bulk")).BulkActions, 1);

/** Where one was in each list, for who comes back to it. */
const places = new Map<string, { row: number }>();

function placeOf(key: string): { row: number } {
  const place = places.get(key) ?? { row: 0 };
  places.set(key, place);
  return place;
}

export function JobsPage({ search, sort }: { search: string; sort: string }) {
  const columns = columnsOf();
  const sorted = parseSort(sort)?.key;
  const shown = withSorted(columns, sorted && columnOfSort(sorted));
  const fields = shown.filter(isField).join();
  const current = useRef<JobTable | null>(null);
  const isPointedAt = useSignal(false);
  const selection = useMemo(() => new Selection(() => current.current), []);

  const isFree = (): boolean => !isPointedAt.value && selection.names.value.size === 0 && !document.activeElement?.closest(".jobscroll");
  const make = (): JobTable => (current.current = new JobTable(search, sort, fields, isFree, current.current));
  const list = useStore(make, [search, sort, fields], (next) => next.start());

  const compare = (): false | void => {
    const names = [...selection.names.value];
    if (names.length === 0) return false;
    navigate(compareHref(names));
  };
  useKeys(say("List of jobs"), [{ on: "c", does: say("compare the selected jobs"), run: compare }]);

  return (
    <div class="view jobsview">
      <h1 class="hidden">{t("Jobs")}</h1>
      {/* What the button in the query bar opens: a form of its own, which cannot stand in the bar's. */}
      <Popover id="views" title={t("Saved views")}>
        {(close) => <Views close={close} />}
      </Popover>
      {list ? <Content list={list} search={search} sort={sort} columns={columns} shown={shown} selection={selection} isPointedAt={isPointedAt} /> : <Skeleton rows={12} />}
    </div>
  );
}

interface ContentProps {
  list: JobTable;
  search: string;
  sort: string;
  /** As they were chosen, and with what the list is sorted by. */
  columns: string[];
  shown: readonly string[];
  selection: Selection;
  isPointedAt: Signal<boolean>;
}

function Content({ list, search, sort, columns, shown, selection, isPointedAt }: ContentProps) {
  const problem = list.problem.value;
  const total = list.total.value;
  const names = selection.names.value;
  return (
    <>
      {problem && <ProblemBox problem={problem} onRetry={() => void list.reload()} />}
      {total === null && !problem && <Skeleton rows={12} />}
      {total === 0 && !problem && (search === "" ? <FirstLine /> : <NothingFound search={search} />)}
      {total !== null && total > 0 && (
        <>
          <Bar list={list} search={search} sort={sort} columns={columns} />
          <JobsTable list={list} sort={sort} columns={shown} selection={selection} place={placeOf(`${search} ${sort}`)} isPointedAt={isPointedAt} />
        </>
      )}
      {names.size + selection.said.value.length > 0 && <BulkActions selection={selection} onChange={() => void list.reload()} />}
    </>
  );
}

function Bar({ list, search, sort, columns }: { list: JobTable; search: string; sort: string; columns: string[] }) {
  const total = list.total.value ?? 0;
  const fresh = list.fresh.value;
  const download = (format: string, fields?: string): string => apiUrl("jobs", { q: search, sort, format, fields });
  const csvFields = ["TrainingJobName", "TrainingJobStatus", "CreationTime", ...columns.filter(isField)].join();
  return (
    <div class="toolbar jobsbar">
      <span role="status">{tn(total, "{n} job", "{n} jobs")}</span>
      <span role="status">
        {fresh > 0 && (
          <button type="button" class="fresh" onClick={() => void list.reload()}>
            {tn(fresh, "{n} new", "{n} new")}
          </button>
        )}
      </span>
      <span class="grow" />
      <button type="button" class="quiet" popovertarget="columns">
        {t("Columns")} ▾
      </button>
      <a class="quiet" href={download("csv", columns.some(isField) ? csvFields : undefined)} download="jobs.csv" title={t("All jobs of this search, a line each")}>
        CSV
      </a>
      <a class="quiet" href={download("ndjson")} download="jobs.ndjson" title={t("All jobs of this search, a line each")}>
        JSON
      </a>
      <Popover id="columns" title={t("Columns")} class="columns">
        {() => <ColumnChooser columns={columns} />}
      </Popover>
    </div>
  );
}

function NothingFound({ search }: { search: string }) {
  return (
    <section class="empty">
      <h1>{t("No job matches")}</h1>
      <p>
        <code>{search}</code>
      </p>
      <button type="button" onClick={() => patchQuery({ q: undefined })}>
        {t("Show all jobs")}
      </button>
    </section>
  );
}
