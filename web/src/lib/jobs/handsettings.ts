// Settings that somebody sets by hand, as rows of a form: what keeps a row from being one, and what of them all is to be sent.
import { say } from "../../i18n/i18n";

export interface Setting {
  name: string;
  value: string;
}

export const NO_SETTING: Setting = { name: "", value: "" };

export const settingsOf = (set: Readonly<Record<string, string | number>> | undefined): Setting[] => Object.entries(set ?? {}).map(([name, value]) => ({ name, value: String(value) }));

/** Without spaces around what was typed; what nobody touched is as it was sent. */
export const trimmed = (rows: readonly Setting[], before: readonly Setting[]): Setting[] =>
  rows.map(({ name, value }) => {
    const known = before.find((one) => one.name === name);
    return { name: known ? name : name.trim(), value: known?.value === value ? value : value.trim() };
  });

/** The first row that is no setting, which of its fields is to be set right, and why. A row without anything is none, and no fault. */
export function faultOf(rows: readonly Setting[]): { at: number; part: keyof Setting; text: string } | null {
  const names = new Set<string>();
  for (const [at, { name, value }] of rows.entries()) {
    if (name === "" && value !== "") return { at, part: "name", text: say("This value has no name.") };
    if (name !== "" && value === "") return { at, part: "value", text: say("{name} has no value; ✕ takes it back.") };
    if (name !== "" && names.has(name)) return { at, part: "name", text: say("{name} is here twice.") };
    names.add(name);
  }
  return null;
}

/** Only what was touched, null for what is gone: what somebody else sets meanwhile stays. null: nothing was. */
export function changesTo(rows: readonly Setting[], before: readonly Setting[]): Record<string, string | null> | null {
  const gone = before.filter((one) => !rows.some(({ name }) => name === one.name));
  const touched = rows.filter(({ name, value }) => name !== "" && !before.some((one) => one.name === name && one.value === value));
  const changes = [...gone.map(({ name }) => [name, null] as const), ...touched.map(({ name, value }) => [name, value] as const)];
  return changes.length > 0 ? Object.fromEntries(changes) : null;
}
