import type { ComponentChildren } from "preact";

export interface Column<Row> {
  /** Absent: of what needs no name, as buttons. */
  title?: ComponentChildren;
  /** What the title means. */
  hint?: string | undefined;
  isNumber?: boolean;
  /** The cell is its row's name. */
  isHead?: boolean;
  cellClass?: string | ((row: Row) => string);
  cellHint?: (row: Row) => string | undefined;
  cell: (row: Row) => ComponentChildren;
}

interface Props<Row> {
  class?: string;
  /** For who does not see what the table stands below. */
  caption?: string;
  columns: readonly Column<Row>[];
  rows: readonly Row[];
  keyOf: (row: Row) => string | number;
  rowClass?: (row: Row) => string;
}

/** Rows that are read. What has rows to walk, to edit or by the thousand is a table of its own. */
export function DataTable<Row>({ class: className, caption, columns, rows, keyOf, rowClass }: Props<Row>) {
  return (
    <table class={className}>
      {caption && <caption class="hidden">{caption}</caption>}
      <thead>
        <tr>
          {columns.map(({ title, hint, isNumber }, i) =>
            title === undefined ? (
              <td key={i} />
            ) : (
              <th key={i} scope="col" class={isNumber ? "num" : undefined} title={hint}>
                {title}
              </th>
            ),
          )}
        </tr>
      </thead>
      <tbody>
        {rows.map((row) => (
          <tr key={keyOf(row)} class={rowClass?.(row)}>
            {columns.map((column, i) => (
              <Cell key={i} column={column} row={row} />
            ))}
          </tr>
        ))}
      </tbody>
    </table>
  );
}

function Cell<Row>({ column: { isNumber, isHead, cellClass, cellHint, cell }, row }: { column: Column<Row>; row: Row }) {
  const own = typeof cellClass === "function" ? cellClass(row) : cellClass;
  const shared = { class: isNumber ? "num" : own, title: cellHint?.(row) };
  return isHead ? (
    <th scope="row" {...shared}>
      {cell(row)}
    </th>
  ) : (
    <td {...shared}>{cell(row)}</td>
  );
}
