// A row a setting, and an empty one for a further setting.
import type { ComponentChildren } from "preact";
import { useRef } from "preact/hooks";
import { t } from "../../../i18n/i18n";
import { NO_SETTING, type Setting } from "../../../lib/jobs/handsettings";

/** The name of a row's field, by which it is found when something is wrong in it. */
export const placeOf = (at: number, part: keyof Setting): string => `settings.${at}.${part}`;

/** Of what is said of a field. */
export const wrongId = (field: string): string => `byhand-${field}-wrong`;

interface Props {
  rows: readonly Setting[];
  /** Which field is wrong, and what is said of it. */
  wrong: string;
  said: ComponentChildren;
  set(rows: Setting[]): void;
}

export function SettingRows({ rows, wrong, said, set }: Props) {
  const host = useRef<HTMLFieldSetElement>(null);
  const put = (at: number, change: Partial<Setting>): void => set([...rows.slice(0, at), { ...(rows[at] ?? NO_SETTING), ...change }, ...rows.slice(at + 1)]);
  const remove = (at: number): void => {
    set(rows.filter((_, i) => i !== at));
    // The row behind it comes into its place.
    host.current?.querySelector<HTMLInputElement>(`[name="${placeOf(at, "name")}"]`)?.focus();
  };
  const field = (at: number, part: keyof Setting, label: string, placeholder: string) => {
    const isWrong = wrong === placeOf(at, part);
    return (
      <input
        name={placeOf(at, part)}
        aria-label={label}
        placeholder={placeholder}
        value={(rows[at] ?? NO_SETTING)[part]}
        autocomplete="off"
        spellcheck={false}
        aria-invalid={isWrong}
        aria-describedby={isWrong ? wrongId(wrong) : undefined}
        onInput={(event) => put(at, { [part]: event.currentTarget.value })}
      />
    );
  };
  return (
    <fieldset ref={host}>
      <legend>{t("Settings")}</legend>
      {[...rows, NO_SETTING].map(({ name }, at) => (
        <div key={at}>
          <div class="setting">
            {field(at, "name", t("Name of setting {n}", { n: at + 1 }), t("name"))}
            {field(at, "value", t("Value of setting {n}", { n: at + 1 }), t("value"))}
            <button type="button" class="quiet" disabled={at === rows.length} aria-label={t("Take it back: {what}", { what: name })} onClick={() => remove(at)}>
              ✕
            </button>
          </div>
          {(wrong === placeOf(at, "name") || wrong === placeOf(at, "value")) && said}
        </div>
      ))}
    </fieldset>
  );
}
