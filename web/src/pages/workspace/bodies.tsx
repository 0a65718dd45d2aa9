// What a panel shows that is no curve: a scatter of values, a table, one number, a text.
import { useMemo } from "preact/hooks";
import { t, tn } from "../../i18n/i18n";
import type { JobRow, Num } from "../../api/types";
import { formatCount, formatExact, formatValue, NONE } from "../../lib/text/format";
import { jobHref } from "../../lib/url/url";
import type { NumberPanel, Panel, ScatterPanel, TablePanel, TextPanel, Workspace } from "../../lib/workspace/document";
import { evaluateFigure, figuresOf, parseExpression } from "../../lib/workspace/expression";
import { foldValues, isWorked, sortRows } from "../../lib/workspace/figures";
import { figureOf } from "../../state/workspace/curves";
import { MOST_RUNS } from "../../state/workspace/runs";
import type { WorkspaceStore } from "../../state/workspace/workspace";
import { DataTable, type Column } from "../../ui/datatable";
import { ProblemBox } from "../../ui/problem";
import { Skeleton } from "../../ui/skeleton";
import { Empty, Faults, readAll, type Read } from "./faults";
import { Scatter } from "./scatter";
import { useRuns } from "./useruns";

interface Props<P extends Panel> {
  store: WorkspaceStore;
  workspace: Workspace;
  panel: P;
  onChange(next: Panel): void;
}

export function OtherBody({ panel, ...rest }: Props<Panel>) {
  if (panel.kind === "scatter") return <ScatterBody panel={panel} {...rest} />;
  if (panel.kind === "table") return <TableBody panel={panel} {...rest} />;
  if (panel.kind === "number") return <NumberBody panel={panel} {...rest} />;
  return panel.kind === "text" ? <TextBody panel={panel} {...rest} /> : null;
}

/** Expressions of numbers as they are read, and the fields that they need. */
function useFigures(texts: readonly string[]) {
  const key = JSON.stringify(texts);
  return useMemo(() => {
    const found = readAll(texts, (text) => parseExpression(text, "figure"));
    return { ...found, fields: [...new Set(found.read.flatMap(({ node }) => figuresOf(node)))].sort() };
  }, [key]);
}

const valueOf = (row: JobRow, read: Read | undefined): number | null => (read ? evaluateFigure(read.node, (key) => figureOf(row, key)) : null);

function ScatterBody({ store, workspace, panel }: Props<ScatterPanel>) {
  const { x, y, color } = panel;
  const { read, faults, fields } = useFigures([x, y]);
  const asked = color ? [...new Set([...fields, color])] : fields;
  const runs = useRuns(store, { query: panel.query ?? workspace.query ?? "", fields: faults.length > 0 ? [] : asked, most: MOST_RUNS });
  const rows = runs?.rows.value ?? null;
  const points = useMemo(
    () =>
      rows?.flatMap((row) => {
        const [at, value] = [valueOf(row, read[0]), valueOf(row, read[1])];
        const group = color ? row.fields?.[color] : undefined;
        return at === null || value === null ? [] : [{ name: row.TrainingJobName, x: at, y: value, group: group === undefined || group === null ? null : String(group) }];
      }) ?? null,
    [rows, read, color],
  );
  if (faults.length > 0) return <Faults faults={faults} />;
  const problem = runs?.problem.value;
  if (problem) return <ProblemBox problem={problem} onRetry={() => void runs?.load()} />;
  if (!points || !rows) return <Skeleton rows={3} />;
  if (points.length === 0) return <Empty>{rows.length === 0 ? t("No job is found.") : t("None of these jobs has both.")}</Empty>;
  return <Scatter panel={panel} points={points} jobs={rows.length} total={runs?.total.value ?? 0} />;
}

function NumberBody({ store, workspace, panel }: Props<NumberPanel>) {
  const { expression, fold = "min" } = panel;
  const { read, faults, fields } = useFigures([expression]);
  const runs = useRuns(store, { query: panel.query ?? workspace.query ?? "", fields, most: MOST_RUNS });
  if (faults.length > 0) return <Faults faults={faults} />;
  const problem = runs?.problem.value;
  if (problem) return <ProblemBox problem={problem} onRetry={() => void runs?.load()} />;
  const rows = runs?.rows.value;
  if (!rows) return <Skeleton rows={1} />;
  const values = rows.map((row) => ({ row, value: valueOf(row, read[0]) })).filter((one): one is { row: JobRow; value: number } => one.value !== null);
  const number = foldValues(values.map((one) => one.value), fold);
  const whose = fold === "min" || fold === "max" ? values.find((one) => one.value === number)?.row.TrainingJobName : undefined;
  const total = runs?.total.value ?? 0;
  return (
    <div class="figure">
      <output title={number === null ? undefined : formatExact(number)}>{number === null ? NONE : formatValue(number)}</output>
      <p class="dim">
        {FOLDS()[fold]} {whose !== undefined ? <a href={jobHref(whose)}>{whose}</a> : tn(values.length, "of {n} job", "of {n} jobs")}
        {total > rows.length && ` ${t("(the first {n} of {total})", { n: formatCount(rows.length), total: formatCount(total) })}`}
      </p>
    </div>
  );
}

export const FOLDS = () => ({ min: t("lowest"), max: t("highest"), mean: t("mean"), median: t("median"), sum: t("sum"), count: t("number") });

function TableBody({ store, workspace, panel, onChange }: Props<TablePanel>) {
  const columns = panel.columns.filter((one) => one.trim() !== "");
  const worked = columns.filter(isWorked);
  const { read, faults, fields } = useFigures(worked);
  const { sort } = panel;
  const sorting = read.find(({ text }) => sort === text || sort === `-${text}`);
  const asked = [...new Set([...columns.filter((one) => one !== "name" && !worked.includes(one)), ...fields])];
  const runs = useRuns(store, { query: panel.query ?? workspace.query ?? "", fields: asked, most: 200, ...(sort && !sorting ? { sort } : {}) });
  if (faults.length > 0) return <Faults faults={faults} />;
  const problem = runs?.problem.value;
  if (problem) return <ProblemBox problem={problem} onRetry={() => void runs?.load()} />;
  const found = runs?.rows.value;
  if (!found) return <Skeleton rows={4} />;
  const rows = sorting ? sortRows(found, (row) => valueOf(row, sorting), sort !== sorting.text) : found;
  if (rows.length === 0) return <Empty>{t("No job is found.")}</Empty>;
  const shown = columns.map((one) => tableColumn(one, rows, read.find(({ text }) => text === one), panel, onChange));
  const total = runs?.total.value ?? 0;
  return (
    <div class="scroll" tabIndex={0} role="region" aria-label={panel.title || t("Table")}>
      <DataTable columns={shown} rows={rows} keyOf={(row) => row.TrainingJobName} />
      {total > rows.length && (
        <p class="note dim">
          {t("the first {n} of {total} jobs", { n: formatCount(rows.length), total: formatCount(total) })}
          {sorting && `, ${t("sorted among themselves")}`}
        </p>
      )}
    </div>
  );
}

function tableColumn(key: string, rows: readonly JobRow[], read: Read | undefined, panel: TablePanel, onChange: (next: Panel) => void): Column<JobRow> {
  if (key === "name") return { title: <Head text={t("name")} sort="name" panel={panel} onChange={onChange} />, isHead: true, cell: (row) => <a href={jobHref(row.TrainingJobName)}>{row.TrainingJobName}</a> };
  if (read) return { title: <Head text={key} sort={key} panel={panel} onChange={onChange} />, isNumber: true, cell: (row) => formatValue(valueOf(row, read)), cellHint: (row) => formatExact(valueOf(row, read)) };
  return {
    title: <Head text={key} sort={key} panel={panel} onChange={onChange} />,
    isNumber: rows.some((row) => typeof row.fields?.[key] === "number"),
    cell: (row) => shownField(row.fields?.[key]),
    cellHint: (row) => (typeof row.fields?.[key] === "number" ? formatExact(row.fields[key] as Num) : undefined) as string,
  };
}

const shownField = (value: Num | string | null | undefined): string => (value === null || value === undefined ? NONE : typeof value === "number" ? formatValue(value) : value);

/** The server sorts, over all jobs of the query; by what is worked out here the page does, those that it has. */
function Head({ text, sort, panel, onChange }: { text: string; sort: string; panel: TablePanel; onChange: (next: Panel) => void }) {
  const way = panel.sort === sort ? "ascending" : panel.sort === `-${sort}` ? "descending" : undefined;
  const next = way === "descending" ? undefined : way === "ascending" ? `-${sort}` : sort;
  return (
    <button type="button" class="quiet head" aria-label={t("Sort by {name}", { name: text })} onClick={() => onChange(next === undefined ? without(panel) : { ...panel, sort: next })}>
      {text} <span aria-hidden="true">{way === "ascending" ? "▲" : way === "descending" ? "▼" : ""}</span>
      {way && <span class="hidden">{way === "ascending" ? t("rising") : t("falling")}</span>}
    </button>
  );
}

function without({ sort: _, ...panel }: TablePanel): TablePanel {
  return panel;
}

/** Headings, lists and paragraphs; all of it as text. */
function TextBody({ panel }: Props<TextPanel>) {
  if (panel.text.trim() === "") return <Empty>{t("Nothing is written here yet.")}</Empty>;
  const blocks = panel.text.split(/\n{2,}/);
  return (
    <div class="words" tabIndex={0} role="region" aria-label={panel.title || t("Text")}>
      {blocks.map((block, i) => (
        <Block key={i} text={block} />
      ))}
    </div>
  );
}

function Block({ text }: { text: string }) {
  const lines = text.split("\n").filter((line) => line !== "");
  if (lines.length > 0 && lines.every((line) => /^[-*] /.test(line)))
    return (
      <ul>
        {lines.map((line, i) => (
          <li key={i}>{line.slice(2)}</li>
        ))}
      </ul>
    );
  const [first = "", ...rest] = lines;
  const heading = /^#+ (.*)/.exec(first)?.[1];
  if (heading === undefined) return <p>{text}</p>;
  return (
    <>
      <h3>{heading}</h3>
      {rest.length > 0 && <Block text={rest.join("\n")} />}
    </>
  );
}
