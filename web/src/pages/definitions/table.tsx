import { say, t, tx } from "../../i18n/i18n";
import type { Signal } from "@preact/signals";
import type { TrialDefinition } from "../../api/types";
import { changeRow, describeHealth, excerpt, fieldError, healthOf, moveRow, ROLES, type Field, type FieldError, type Row } from "../../lib/jobs/draft";
import { formatCount } from "../../lib/text/format";
import { SERIES_COLORS } from "../../lib/chart/color";
import type { Trial, Workbench } from "../../state/job/workbench";
import { cellId, focusCell } from "./focus";

/** Where the warnings of the chosen row stand. */
export const WARNINGS_ID = "definition-warnings";

const COLUMNS = ["", say("Name"), say("Regex"), say("Step"), say("Role"), say("Unit"), say("Better"), say("on these lines"), say("on the job"), ""];

const TITLES: Partial<Record<Field, string>> = {
  Regex: say("One group around the value, or (?<value>…); (?<step>…), (?<epoch>…), (?<unit>…) and (?<name>…) are known too. {N} is a number."),
  Step: say("An expression for the step, searched in the same line, when Regex does not hold it"),
  Group: say("The group of Regex that is the value"),
};

/** What the lines said of a row. */
export function trialOf(trial: Trial | null, id: number): TrialDefinition | undefined {
  const index = trial?.rowIds.indexOf(id) ?? -1;
  return index < 0 ? undefined : trial?.definitions[index];
}

export function Table({ bench, chosen }: { bench: Workbench; chosen: Signal<number | null> }) {
  const rows = bench.rows.value;
  if (rows.length === 0) {
    return (
      <section class="empty">
        <h2>{t("No definitions")}</h2>
        <p>
          {tx("A definition is a name and an expression with one group around the value, such as {example}. Add one and see at once what it finds in the lines below, or use a preset.", {
            example: <code>loss=(\S+)</code>,
          })}
        </p>
      </section>
    );
  }
  return (
    <div class="deftable">
      <table>
        <caption class="hidden">{t("Metric definitions. Alt with the arrows up and down moves a row.")}</caption>
        <thead>
          <tr>
            {COLUMNS.map((title, i) => (
              <th key={i} scope="col">
                {title ? t(title) : <span class="hidden">{i === 0 ? t("Number") : t("Move and delete")}</span>}
              </th>
            ))}
          </tr>
        </thead>
        {rows.map((row, i) => (
          <RowView key={row.id} bench={bench} row={row} index={i} isChosen={chosen.value === row.id} onFocus={() => (chosen.value = row.id)} />
        ))}
      </table>
    </div>
  );
}

interface RowProps {
  bench: Workbench;
  row: Row;
  index: number;
  isChosen: boolean;
  onFocus(): void;
}

function RowView({ bench, row, index, isChosen, onFocus }: RowProps) {
  const rows = bench.rows.value;
  const tried = trialOf(bench.trial.value, row.id);
  const error = fieldError(tried?.error, row);
  const notes = cellId(row.id, "delete") + "-notes";
  const label = row.Name || t("definition {n}", { n: index + 1 });

  const move = (by: number, back: Parameters<typeof cellId>[1]): void => {
    bench.edit(moveRow(rows, row.id, by));
    // The row has moved under the cursor: it stays the one that one works on.
    requestAnimationFrame(() => document.getElementById(cellId(row.id, back))?.focus());
  };
  const remove = (): void => {
    bench.edit(rows.filter((one) => one.id !== row.id));
    const next = rows[index + 1] ?? rows[index - 1];
    if (next) focusCell(next.id, "Name");
    else document.querySelector<HTMLElement>(".savebar .add")?.focus();
  };
  const onKeyDown = (event: KeyboardEvent): void => {
    if (!event.altKey || (event.key !== "ArrowUp" && event.key !== "ArrowDown")) return;
    event.preventDefault();
    const field = (event.target as HTMLElement).id.split("-")[1] as Field | undefined;
    move(event.key === "ArrowUp" ? -1 : 1, field ?? "Name");
  };
  const cell = { bench, row, error, label, notes: error ? notes : isChosen ? WARNINGS_ID : undefined };
  return (
    <tbody class={`${isChosen ? "chosen" : ""} ${error ? "invalid" : ""}`} onFocusCapture={onFocus} onKeyDown={onKeyDown}>
      <tr>
        <th scope="row" class="num" onClick={() => focusCell(row.id, "Regex")}>
          <i class={`swatch s${index % SERIES_COLORS}`} aria-hidden="true" />
          {index + 1}
        </th>
        <td class="c-name">
          <TextCell {...cell} field="Name" placeholder="loss" />
        </td>
        <td class="c-regex">
          <div>
            <TextCell {...cell} field="Regex" placeholder="loss=(?<value>\S+)" isLong />
            {row.hasGroup && <TextCell {...cell} field="Group" placeholder="value" />}
          </div>
        </td>
        <td class="c-step">
          <TextCell {...cell} field="Step" placeholder={isChosen ? "step (\\d+)" : ""} isLong />
        </td>
        <td>
          <SelectCell {...cell} field="Role" options={[["", t("by name")], ...ROLES.map((role) => [role, role] as const)]} />
        </td>
        <td class="c-unit">
          <TextCell {...cell} field="Unit" placeholder="" />
        </td>
        <td>
          <SelectCell {...cell} field="Higher" options={[["", t("by role")], ["true", t("higher")], ["false", t("lower")]]} />
        </td>
        <td class="c-tried">
          <Tried tried={tried} />
        </td>
        <td class="c-health">
          <HealthCell bench={bench} row={row} />
        </td>
        <td class="c-acts">
          <button type="button" id={cellId(row.id, "up")} class="quiet" disabled={index === 0} aria-label={t("Move {name} up", { name: label })} title={t("Up (Alt+↑)")} onClick={() => move(-1, "up")}>
            ↑
          </button>
          <button type="button" id={cellId(row.id, "down")} class="quiet" disabled={index === rows.length - 1} aria-label={t("Move {name} down", { name: label })} title={t("Down (Alt+↓)")} onClick={() => move(1, "down")}>
            ↓
          </button>
          <button type="button" id={cellId(row.id, "delete")} class="quiet" aria-label={t("Delete {name}", { name: label })} title={t("Delete; Revert brings it back")} onClick={remove}>
            ✕
          </button>
        </td>
      </tr>
      {error && (
        <tr class="notes">
          <td />
          <td colSpan={COLUMNS.length - 1} id={notes}>
            <ErrorNote row={row} error={error} />
          </td>
        </tr>
      )}
    </tbody>
  );
}

interface CellProps {
  bench: Workbench;
  row: Row;
  field: Field;
  error: FieldError | null;
  label: string;
  notes: string | undefined;
}

function TextCell({ bench, row, field, error, label, notes, placeholder, isLong = false }: CellProps & { placeholder: string; isLong?: boolean }) {
  const props = {
    id: cellId(row.id, field),
    class: "mono",
    "aria-label": t("{field} of {name}", { field, name: label }),
    "aria-invalid": error?.field === field,
    "aria-describedby": field === "Regex" || error?.field === field ? notes : undefined,
    autocomplete: "off",
    spellcheck: false,
    placeholder,
    title: TITLES[field] === undefined ? undefined : t(TITLES[field]),
    value: row[field],
  };
  const set = (value: string): void => bench.edit(changeRow(bench.rows.peek(), row.id, field, value));
  if (!isLong) return <input type="text" {...props} onInput={(event) => set(event.currentTarget.value)} />;
  return (
    <textarea
      {...props}
      rows={1}
      onInput={(event) => set(event.currentTarget.value.replace(/[\r\n]+/g, ""))}
      onKeyDown={(event) => event.key === "Enter" && event.preventDefault()}
    />
  );
}

function SelectCell({ bench, row, field, label, options }: CellProps & { options: readonly (readonly [string, string])[] }) {
  const value = row[field];
  return (
    <select
      id={cellId(row.id, field)}
      aria-label={t("{field} of {name}", { field, name: label })}
      value={value}
      onChange={(event) => bench.edit(changeRow(bench.rows.peek(), row.id, field, event.currentTarget.value))}
    >
      {options.map(([key, text]) => (
        <option key={key} value={key}>
          {text}
        </option>
      ))}
      {!options.some(([key]) => key === value) && <option value={value}>{value}</option>}
    </select>
  );
}

function Tried({ tried }: { tried: TrialDefinition | undefined }) {
  if (!tried) return null;
  if (tried.error) {
    return (
      <span class="error">
        <span class="glyph" aria-hidden="true">
          ✕
        </span>
        {t("does not compile")}
      </span>
    );
  }
  const warnings = tried.warnings ?? [];
  const rate = (tried.match_rate ?? 0) * 100;
  const us = tried.us_per_line ?? 0;
  return (
    <span title={t("{matched} of {tried} lines matched, {numbers} numbers; {us} microseconds a line", { matched: formatCount(tried.matched), tried: formatCount(tried.tried), numbers: formatCount(tried.numeric), us: us.toFixed(2) })}>
      {warnings.length > 0 && (
        <span class="glyph warn" role="img" aria-label={t("with warnings")} title={warnings.map((one) => t(one.text)).join("\n")}>
          ▲
        </span>
      )}
      <meter min={0} max={100} value={rate} aria-hidden="true" /> <b>{formatCount(tried.matched)}</b> <span class="dim">{rate > 0 && rate < 1 ? "<1" : Math.round(rate)} % · {us < 10 ? us.toFixed(1) : Math.round(us)} µs</span>
    </span>
  );
}

function HealthCell({ bench, row }: { bench: Workbench; row: Row }) {
  const health = describeHealth(healthOf(bench.doc.value?.health, row.Name.trim()));
  return (
    <span class={health.isBad ? "warn" : "dim"} title={health.title}>
      {health.isBad && (
        <span class="glyph" aria-hidden="true">
          ▲
        </span>
      )}
      {health.text}
    </span>
  );
}

/** The message stands under the place that it is about. */
function ErrorNote({ row, error }: { row: Row; error: FieldError }) {
  const where = error.column === null ? null : excerpt(row[error.field], error.column);
  return (
    <div class="error">
      {where && (
        <pre aria-hidden="true">
          {where.text}
          {"\n"}
          {" ".repeat(where.caret)}^
        </pre>
      )}
      <p>
        <span class="glyph" aria-hidden="true">
          ✕
        </span>
        {error.field}
        {error.column !== null && t(", column {n}", { n: error.column })}: {error.detail}
      </p>
    </div>
  );
}
