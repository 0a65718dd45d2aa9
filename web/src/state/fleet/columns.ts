// The columns that are shown: the address says so, else what was chosen last in this browser.
import { parseColumns, printColumns } from "../../lib/jobs/columns";
import { patchQuery, query } from "../core/router";

const KEY = "smfleet.columns";

function stored(): string {
  try {
    return localStorage.getItem(KEY) ?? "";
  } catch {
    // Storage may be off: the columns are those of the address, or the usual ones.
    return "";
  }
}

export const columnsOf = (): string[] => parseColumns(query.value["cols"] ?? stored());

/** undefined: the usual ones. */
export function chooseColumns(keys: readonly string[] | undefined): void {
  const text = keys && printColumns(keys);
  try {
    if (text === undefined) localStorage.removeItem(KEY);
    else localStorage.setItem(KEY, text);
  } catch {
    // Then the choice lasts as long as the address.
  }
  patchQuery({ cols: text }, true);
}
