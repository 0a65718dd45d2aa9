import { t } from "../i18n/i18n";
import { formatExact, NONE } from "../lib/text/format";
import { DataTable } from "./datatable";

interface Props {
  class?: string;
  formula?: string;
  /** Name, value, and who says it. */
  rows: readonly (readonly [string, number | string | boolean | null | undefined, (string | undefined)?])[];
}

/** On a click: what a figure can be worked out again from. */
export function Inputs({ class: className = "plain", formula, rows }: Props) {
  return (
    <details>
      <summary>{t("What it is worked out from")}</summary>
      {formula && (
        <p lang="en">
          <code>{formula}</code>
        </p>
      )}
      <DataTable
        class={className}
        rows={rows}
        keyOf={([name]) => name}
        columns={[
          { title: t("input"), isHead: true, cell: ([name]) => <code>{name}</code> },
          { title: t("value"), isNumber: true, cell: ([, value]) => (typeof value === "number" ? formatExact(value) : String(value ?? NONE)) },
          ...(rows.some(([, , from]) => from) ? [{ title: t("from"), cell: ([, , from]: Props["rows"][number]) => from && <code>{from}</code> }] : []),
        ]}
      />
    </details>
  );
}
