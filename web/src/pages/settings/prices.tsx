import { useSignal } from "@preact/signals";
import { useEffect } from "preact/hooks";
import { t } from "../../i18n/i18n";
import type { Part, Price, Prices } from "./parts";
import { PartSection } from "./section";

/** A row as it is typed. */
interface Row {
  id: number;
  instance: string;
  perHour: string;
  from: string;
  source: string;
}

let nextId = 1;
const rowOf = (price?: Price): Row => ({
  id: nextId++,
  instance: price?.instance ?? "",
  perHour: price ? String(price.per_hour) : "",
  from: price?.from ?? "",
  source: price?.source ?? "",
});

const priceOf = (row: Row): Price => ({
  instance: row.instance.trim(),
  per_hour: Number(row.perHour),
  ...(row.from && { from: row.from }),
  ...(row.source.trim() && { source: row.source.trim() }),
});

const isEmpty = (row: Row): boolean => !row.instance.trim() && !row.perHour.trim() && !row.from && !row.source.trim();
const isWrong = (row: Row): boolean => !isEmpty(row) && (!row.instance.trim() || !row.perHour.trim() || !(Number(row.perHour) >= 0));

export function PriceList({ part }: { part: Part<Prices> }) {
  const doc = part.value.value;
  const rows = useSignal<Row[]>([]);
  const currency = useSignal("");
  useEffect(() => {
    if (!doc) return;
    rows.value = doc.prices.map(rowOf);
    currency.value = doc.currency;
  }, [doc]);
  const filled = rows.value.filter((row) => !isEmpty(row));
  const prices = filled.map(priceOf);
  const isDirty = doc !== null && JSON.stringify([currency.value, prices]) !== JSON.stringify([doc.currency, doc.prices]);
  const edit = (id: number, patch: Partial<Row>): void => {
    rows.value = rows.value.map((row) => (row.id === id ? { ...row, ...patch } : row));
  };
  const save = (event: Event): void => {
    event.preventDefault();
    void part.change("PUT", "", { currency: currency.value.trim(), prices }, t("The prices are kept; costs are worked out anew"));
  };
  return (
    <PartSection part={part} id="prices" title={t("Prices")}>
      <p class="dim">{t("smfleet knows no prices: what an hour of an instance costs is yours to say. Costs are worked out from the day on that a price is for.")}</p>
      <form onSubmit={save}>
        <div class="scrolls" tabIndex={0} role="group" aria-label={t("Prices")}>
          <table>
            <thead>
              <tr>
                <th scope="col">{t("instance type")}</th>
                <th scope="col">{t("an hour")}</th>
                <th scope="col">{t("from the day")}</th>
                <th scope="col">{t("source")}</th>
                <td />
              </tr>
            </thead>
            <tbody>
              {rows.value.map((row) => (
                <PriceRow key={row.id} row={row} onEdit={(patch) => edit(row.id, patch)} onDelete={() => (rows.value = rows.value.filter((one) => one !== row))} />
              ))}
            </tbody>
          </table>
        </div>
        <div class="line">
          <button type="button" onClick={() => (rows.value = [...rows.value, rowOf()])}>
            {t("Add a price")}
          </button>
          <label>
            {t("Currency")}
            <input class="short" type="text" required maxLength={8} value={currency} onInput={(event) => (currency.value = event.currentTarget.value)} />
          </label>
          <button type="submit" class="primary" disabled={!isDirty || filled.some(isWrong)}>
            {t("Save")}
          </button>
        </div>
      </form>
    </PartSection>
  );
}

function PriceRow({ row, onEdit, onDelete }: { row: Row; onEdit: (patch: Partial<Row>) => void; onDelete: () => void }) {
  const isBad = isWrong(row);
  const name = row.instance || t("a new instance type");
  return (
    <tr>
      <td>
        <input type="text" placeholder="ml.p5.48xlarge" aria-label={t("Instance type")} value={row.instance} aria-invalid={isBad && !row.instance.trim()} onInput={(event) => onEdit({ instance: event.currentTarget.value })} />
      </td>
      <td>
        <input class="short" type="text" inputmode="decimal" aria-label={t("Price of an hour of {name}", { name })} value={row.perHour} aria-invalid={isBad && row.instance.trim() !== ""} onInput={(event) => onEdit({ perHour: event.currentTarget.value })} />
      </td>
      <td>
        <input type="date" aria-label={t("First day of the price of {name}", { name })} value={row.from} onInput={(event) => onEdit({ from: event.currentTarget.value })} />
      </td>
      <td>
        <input type="text" aria-label={t("Source of the price of {name}", { name })} value={row.source} onInput={(event) => onEdit({ source: event.currentTarget.value })} />
      </td>
      <td>
        <button type="button" class="quiet" aria-label={t("Delete {name}", { name })} title={t("Delete {name}", { name })} onClick={onDelete}>
          ✕
        </button>
      </td>
    </tr>
  );
}
