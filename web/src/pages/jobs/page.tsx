import { useSignal } from "@preact/signals";
import { useEffect, useState } from "preact/hooks";
import { joinNames } from "../../lib/compare";
import { formatCount } from "../../lib/format";
import { buildSearch } from "../../lib/url";
import { patchQuery } from "../../state/router";
import { JobList } from "../../state/jobs";
import { lazy } from "../../ui/lazy";
import { ProblemBox } from "../../ui/problem";
import { Skeleton } from "../../ui/skeleton";
import { JobsTable } from "./table";

const FirstLine = lazy(async () => (await import("./empty")).FirstLine, 6);

export function JobsPage({ search, sort }: { search: string; sort: string }) {
  const [list, setList] = useState<JobList | null>(null);

  useEffect(() => {
    const next = new JobList(search, sort, list?.rows.value ?? null);
    void next.start();
    setList(next);
    return () => next.stop();
  }, [search, sort]);

  return (
    <div class="view">
      <h1 class="hidden">Jobs</h1>
      {list && <Content list={list} search={search} sort={sort} />}
    </div>
  );
}

function Content({ list, search, sort }: { list: JobList; search: string; sort: string }) {
  const rows = list.rows.value;
  const problem = list.problem.value;
  const marked = useSignal<ReadonlySet<string>>(new Set());
  return (
    <>
      {problem && <ProblemBox problem={problem} onRetry={() => void list.retry()} />}
      {!rows && !problem && <Skeleton rows={12} />}
      {rows && rows.length > 0 && <JobsTable rows={rows} sort={sort} marked={marked} />}
      {marked.value.size > 0 && <Marked names={[...marked.value]} onClear={() => (marked.value = new Set())} />}
      {rows?.length === 0 && !problem && (search === "" ? <FirstLine /> : <NothingFound search={search} />)}
      {rows && rows.length > 0 && <Footer list={list} shown={rows.length} />}
    </>
  );
}

function Marked({ names, onClear }: { names: string[]; onClear: () => void }) {
  return (
    <div class="marked" role="status">
      <a class="button" href={`/compare${buildSearch({}, { jobs: joinNames(names) })}`}>
        Compare {formatCount(names.length)}
      </a>
      <button type="button" onClick={onClear}>
        Clear
      </button>
    </div>
  );
}

function NothingFound({ search }: { search: string }) {
  return (
    <section class="empty">
      <h1>No job matches</h1>
      <p>
        <code>{search}</code>
      </p>
      <button type="button" onClick={() => patchQuery({ q: undefined })}>
        Show all jobs
      </button>
    </section>
  );
}

function Footer({ list, shown }: { list: JobList; shown: number }) {
  const total = list.total.value;
  return (
    <div class="more">
      {list.cursor.value && (
        <button type="button" disabled={list.isLoading.value} onClick={() => void list.more()}>
          More
        </button>
      )}
      <span class="dim">
        {formatCount(shown)} of {total === null ? "many" : formatCount(total)}
      </span>
    </div>
  );
}
