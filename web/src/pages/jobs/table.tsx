import { type Signal, useSignal } from "@preact/signals";
import { useRef } from "preact/hooks";
import type { JobRow } from "../../api/types";
import { nextSort, parseSort } from "../../lib/sort";
import { jobHref } from "../../lib/url";
import { say } from "../../i18n/i18n";
import { useKeys } from "../../state/keys";
import { navigate, patchQuery } from "../../state/router";
import { COLUMNS, type Column } from "./columns";

function Head({ column, sort }: { column: Column; sort: string }) {
  const current = parseSort(sort);
  const isSorted = column.sort !== undefined && current?.key === column.sort;
  const direction = isSorted ? (current?.descending ? "descending" : "ascending") : undefined;
  const { sort: key } = column;
  return (
    <th scope="col" class={column.class} aria-sort={direction}>
      {key === undefined ? (
        column.title
      ) : (
        <button type="button" onClick={() => patchQuery({ sort: nextSort(sort, key, column.descending ?? false) })}>
          {column.title}
          <span class="arrow" aria-hidden="true">
            {direction === "descending" ? "▾" : direction === "ascending" ? "▴" : ""}
          </span>
        </button>
      )}
    </th>
  );
}

function toggle(marked: Signal<ReadonlySet<string>>, name: string): void {
  const next = new Set(marked.value);
  if (!next.delete(name)) next.add(name);
  marked.value = next;
}

/** One row has the focus at a time; j, k and the arrows move it, Enter opens, x marks it to be compared. */
export function JobsTable({ rows, sort, marked }: { rows: JobRow[]; sort: string; marked: Signal<ReadonlySet<string>> }) {
  const body = useRef<HTMLTableSectionElement>(null);
  const chosen = useSignal<string | null>(null);
  const move = (step: number): void => {
    const elements = [...(body.current?.rows ?? [])];
    const at = elements.findIndex((row) => row.dataset["name"] === chosen.value);
    elements[at < 0 ? 0 : Math.min(elements.length - 1, Math.max(0, at + step))]?.focus();
  };
  useKeys(say("List of jobs"), [
    { on: ["j", "ArrowDown"], does: say("next job"), run: () => move(1) },
    { on: ["k", "ArrowUp"], does: say("job before"), run: () => move(-1) },
    { on: "Enter", does: say("open the job") },
    { on: "x", does: say("mark it for a comparison"), run: () => chosen.value !== null && toggle(marked, chosen.value) },
  ]);

  const isChosenHere = rows.some((row) => row.TrainingJobName === chosen.value);
  return (
    <table class="jobs">
      <thead>
        <tr>
          <th scope="col">
            <span class="hidden">Compare</span>
          </th>
          {COLUMNS.map((column) => (
            <Head key={column.key} column={column} sort={sort} />
          ))}
        </tr>
      </thead>
      <tbody ref={body}>
        {rows.map((row, i) => {
          const name = row.TrainingJobName;
          const isChosen = chosen.value === name;
          return (
            <tr
              key={name}
              data-name={name}
              class={isChosen ? "chosen" : ""}
              tabIndex={isChosen || (!isChosenHere && i === 0) ? 0 : -1}
              onFocus={() => (chosen.value = name)}
              onDblClick={() => navigate(jobHref(name))}
              onKeyDown={(event) => event.key === "Enter" && event.target === event.currentTarget && navigate(jobHref(name))}
            >
              <td class="mark">
                <input
                  type="checkbox"
                  tabIndex={-1}
                  aria-label={`Compare ${name}`}
                  checked={marked.value.has(name)}
                  onChange={() => toggle(marked, name)}
                />
              </td>
              {COLUMNS.map((column) => (
                <td key={column.key} class={column.class}>
                  {column.cell(row)}
                </td>
              ))}
            </tr>
          );
        })}
      </tbody>
    </table>
  );
}
