import { useSignal } from "@preact/signals";
import { useEffect, useRef } from "preact/hooks";
import { t } from "../../../i18n/i18n";
import { every } from "../../../lib/flow/poll";
import { adoptStyle } from "../../../lib/jobs/adopt";
import { fileHref, previewOf, type JobFile } from "../../../lib/jobs/files";
import { formatBytes } from "../../../lib/text/bytes";
import { formatTime } from "../../../lib/text/format";
import { partHref, buildSearch } from "../../../lib/url/url";
import { navigate, query } from "../../../state/core/router";
import { useStore } from "../../../state/core/store";
import { FileList, FileText } from "../../../state/job/files";
import type { JobStore } from "../../../state/job/job";
import style from "../../../styles/files.css?inline";
import { DataTable } from "../../../ui/datatable";
import { ProblemBox } from "../../../ui/problem";
import { Skeleton } from "../../../ui/skeleton";
import { Age } from "../../../ui/time";

adoptStyle(style);

// No event tells of a file.
const RELOAD_MS = 10_000;

const hrefOf = (job: string, path?: string): string => partHref(job, "files") + buildSearch({}, { file: path });

/** Plots, configurations and tables that stayed with the job; the address names the one that is shown. */
export function FilesPart({ store: { name } }: { store: JobStore }) {
  const list = useStore(() => new FileList(name), [name], (next) => next.load());
  useEffect(() => (list ? every(RELOAD_MS, () => void list.load()) : undefined), [list]);
  const rows = list?.rows.value;
  const asked = query.value["file"];
  const at = rows?.findIndex((one) => one.path === asked) ?? -1;
  const file = rows?.[at];
  const isFurther = asked !== undefined && !file && list?.hasMore.value === true;
  useEffect(() => {
    if (isFurther) void list?.more();
  }, [isFurther, rows]);
  return (
    <div class="report wide files">
      {list?.problem.value && <ProblemBox problem={list.problem.value} onRetry={() => void list.load()} />}
      {!rows && !list?.problem.value && <Skeleton rows={4} />}
      {rows?.length === 0 && (
        <p class="dim">
          {t("No file stays with this job. Plots, configurations and tables can be sent to it:")}{" "}
          <code>curl -T plot.png {location.origin + fileHref(name, "plot.png")}</code>
        </p>
      )}
      {rows && asked !== undefined && !file && !isFurther && <p role="status">{t("There is no file {path} here any more.", { path: asked })}</p>}
      {rows && file && <Shown job={name} file={file} before={rows[at - 1]} after={rows[at + 1]} />}
      {rows && rows.length > 0 && (
        <div>
          <FileTable job={name} rows={rows} chosen={asked} />
          {list?.hasMore.value && (
            <button type="button" onClick={() => void list.more()}>
              {t("More files")}
            </button>
          )}
        </div>
      )}
    </div>
  );
}

function FileTable({ job, rows, chosen }: { job: string; rows: readonly JobFile[]; chosen: string | undefined }) {
  return (
    <DataTable
      class="plain"
      caption={t("Files")}
      rows={rows}
      keyOf={({ path }) => path}
      rowClass={({ path }) => (path === chosen ? "chosen" : "")}
      columns={[
        {
          title: t("file"),
          isHead: true,
          cell: ({ path }) => (
            <a href={hrefOf(job, path)} aria-current={path === chosen ? "true" : undefined}>
              <bdi>{path}</bdi>
            </a>
          ),
        },
        { title: t("size"), isNumber: true, cell: ({ bytes }) => formatBytes(bytes) },
        { title: t("changed"), cellClass: "when", cell: ({ created_ms }) => <Age ms={created_ms} /> },
      ]}
    />
  );
}

interface ShownProps {
  job: string;
  file: JobFile;
  before: JobFile | undefined;
  after: JobFile | undefined;
}

/** One file: what it is, its picture or its text, and the way to have it. */
function Shown({ job, file, before, after }: ShownProps) {
  const host = useRef<HTMLElement>(null);
  useEffect(() => host.current?.scrollIntoView({ block: "nearest" }), []);
  const go = (to: JobFile | undefined): void => {
    if (to) navigate(hrefOf(job, to.path), true);
  };
  const kind = previewOf(file.content_type);
  return (
    <section ref={host} class="filepreview" aria-labelledby="file-shown">
      <h2 id="file-shown">
        <bdi>{file.path}</bdi>
      </h2>
      <p class="dim">
        <bdi>{file.content_type}</bdi> · {formatBytes(file.bytes)} · {formatTime(file.created_ms)}
        {file.author && (
          <>
            {" "}
            · <bdi>{file.author}</bdi>
          </>
        )}
      </p>
      <p class="acts">
        <button type="button" disabled={!before} onClick={() => go(before)}>
          {t("Previous file")}
        </button>
        <button type="button" disabled={!after} onClick={() => go(after)}>
          {t("Next file")}
        </button>
        <a href={fileHref(job, file.path)} download="">
          {t("Download")}
        </a>
        <a href={hrefOf(job)}>{t("Close")}</a>
      </p>
      {kind === "image" && <Picture key={file.path + file.sha256} job={job} file={file} />}
      {kind === "text" && <Text key={file.path + file.sha256} job={job} file={file} />}
      {kind === "none" && <p class="dim">{t("Files of this kind are not shown here, only downloaded.")}</p>}
    </section>
  );
}

function Picture({ job, file }: { job: string; file: JobFile }) {
  const isBroken = useSignal(false);
  const isThere = useSignal(false);
  if (isBroken.value) {
    return (
      <p role="alert">
        {t("The browser cannot show this picture.")}{" "}
        <button type="button" onClick={() => (isBroken.value = false)}>
          {t("Retry")}
        </button>
      </p>
    );
  }
  return (
    <>
      {!isThere.value && <Skeleton rows={6} />}
      <img src={`${fileHref(job, file.path)}#${file.sha256}`} alt={file.path} onLoad={() => (isThere.value = true)} onError={() => (isBroken.value = true)} />
    </>
  );
}

function Text({ job, file }: { job: string; file: JobFile }) {
  const own = useStore(() => new FileText(job, file.path), [job, file.path], (next) => next.load());
  const text = own?.text.value;
  if (own?.problem.value) return <ProblemBox problem={own.problem.value} onRetry={() => void own.load()} />;
  if (!own || text === null || text === undefined) return <Skeleton rows={6} />;
  if (own.isBinary.value) return <p class="dim">{t("Files of this kind are not shown here, only downloaded.")}</p>;
  return (
    <>
      <pre tabIndex={0} role="region" aria-label={t("Text of {path}", { path: file.path })}>
        {text}
      </pre>
      {own.isCut.value && <p class="dim">{t("Only its beginning is shown.")}</p>}
    </>
  );
}
