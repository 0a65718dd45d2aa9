// Which columns are shown, in which order; any property of a job can be one.
import { useSignal } from "@preact/signals";
import { useEffect } from "preact/hooks";
import { getJson, isAbort } from "../../api/client";
import { t } from "../../i18n/i18n";
import { isField, moveColumn, MOST_COLUMNS, ownColumns } from "../../lib/jobs/columns";
import type { SuggestionsReply } from "../../lib/text/suggest";
import { Latest } from "../../lib/flow/latest";
import { chooseColumns } from "../../state/fleet/columns";
import { columnFor, columnTitle } from "./columns";

const REST_MS = 150;
const LIMIT = 20;
const AGGREGATE_KINDS = /\.(last|min|max|mean|count|step|best|best_step|final)$/;

export function ColumnChooser({ columns }: { columns: readonly string[] }) {
  const title = (key: string): string => columnTitle(columnFor(key));
  const hidden = ownColumns.filter((key) => !columns.includes(key));
  return (
    <>
      <ul>
        {columns.map((key, i) => (
          <li key={key}>
            <bdi>{title(key)}</bdi>
            <button type="button" class="quiet" disabled={i === 0} aria-label={t("Move {name} to the left", { name: title(key) })} onClick={() => chooseColumns(moveColumn(columns, key, -1))}>
              ↑
            </button>
            <button type="button" class="quiet" disabled={i === columns.length - 1} aria-label={t("Move {name} to the right", { name: title(key) })} onClick={() => chooseColumns(moveColumn(columns, key, 1))}>
              ↓
            </button>
            <button type="button" class="quiet" disabled={key === "name"} aria-label={t("Hide {name}", { name: title(key) })} onClick={() => chooseColumns(columns.filter((other) => other !== key))}>
              ✕
            </button>
          </li>
        ))}
      </ul>
      {columns.length < MOST_COLUMNS && <Adder columns={columns} />}
      {hidden.length > 0 && (
        <p>
          {hidden.map((key) => (
            <button key={key} type="button" onClick={() => chooseColumns([...columns, key])}>
              + {title(key)}
            </button>
          ))}
        </p>
      )}
      <p>
        <button type="button" onClick={() => chooseColumns(undefined)}>
          {t("The usual columns")}
        </button>
      </p>
    </>
  );
}

/** Names of properties as they are completed in a query. */
function Adder({ columns }: { columns: readonly string[] }) {
  const text = useSignal("");
  const offers = useSignal<string[]>([]);
  const latest = useSignal(new Latest(REST_MS)).value;
  useEffect(() => () => latest.stop(), [latest]);

  const ask = (prefix: string): void =>
    latest.ask(async (abort) => {
      try {
        const reply = await getJson<SuggestionsReply>("search/suggestions", { prefix, limit: LIMIT }, abort);
        offers.value = reply.suggestions.map((one) => one.text.replace(/[:=<>~ ]+$/, ""));
      } catch (error) {
        if (!isAbort(error)) offers.value = [];
      }
    });

  const asked = text.value.trim();
  const key = isField(asked) || ownColumns.includes(asked) ? asked : `${asked}.last`;
  const isNew = asked !== "" && !columns.includes(key) && (isField(key) || ownColumns.includes(key));
  return (
    <form
      onSubmit={(event) => {
        event.preventDefault();
        if (!isNew) return;
        chooseColumns([...columns, key]);
        text.value = "";
      }}
    >
      <label>
        <span class="hidden">{t("Another column")}</span>
        <input
          type="text"
          list="columnnames"
          placeholder={t("hp.lr, tag.team, loss.final, any property…")}
          autocomplete="off"
          spellcheck={false}
          value={text}
          onInput={(event) => {
            text.value = event.currentTarget.value;
            ask(text.value);
          }}
        />
      </label>
      <datalist id="columnnames">
        {offers.value.map((name) => (
          <option key={name} value={name} />
        ))}
      </datalist>
      <button type="submit" class="primary" disabled={!isNew} title={isNew && !AGGREGATE_KINDS.test(asked) ? key : undefined}>
        {t("Add")}
      </button>
    </form>
  );
}
