import type { ComponentChildren } from "preact";
import { language, say, t, type Language } from "../../i18n/i18n";
import { setLanguage } from "../../i18n/language";
import type { TimeMode } from "../../lib/text/format";
import { setTheme, theme, type Theme } from "../../state/core/theme";
import { setTimeMode, TIME_MODES, timeMode } from "../../state/core/timemode";
import { Section } from "./section";
import { SignedIn } from "./signedin";

const THEMES: readonly (readonly [Theme, string])[] = [["system", say("As the system")], ["light", say("Light")], ["dark", say("Dark")]];
const LANGUAGES: readonly (readonly [Language, string, string])[] = [["en", "English", "en"], ["zh", "简体中文", "zh-CN"]];
const TIMES: Readonly<Record<TimeMode, string>> = { local: say("local"), UTC: say("UTC"), relative: say("since the job's first line"), hidden: say("no times") };

function Choice({ legend, children }: { legend: string; children: ComponentChildren }) {
  return (
    <fieldset>
      <legend>{legend}</legend>
      {children}
    </fieldset>
  );
}

/** What this browser keeps for itself. */
export function Look() {
  const zone = Intl.DateTimeFormat().resolvedOptions().timeZone;
  return (
    <Section id="look" title={t("This browser")}>
      <SignedIn />
      <p class="dim">{t("Kept in this browser only.")}</p>
      <Choice legend={t("Theme")}>
        {THEMES.map(([value, text]) => (
          <label key={value}>
            <input type="radio" name="theme" checked={theme.value === value} onChange={() => setTheme(value)} />
            {t(text)}
          </label>
        ))}
      </Choice>
      <Choice legend={t("Language")}>
        {LANGUAGES.map(([value, text, lang]) => (
          <label key={value} lang={lang}>
            <input type="radio" name="language" checked={language.value === value} onChange={() => setLanguage(value)} />
            {text}
          </label>
        ))}
      </Choice>
      <Choice legend={t("Times")}>
        {TIME_MODES.map((mode) => (
          <label key={mode}>
            <input type="radio" name="times" checked={timeMode.value === mode} onChange={() => setTimeMode(mode)} />
            {t(TIMES[mode])}
            {mode === "local" && <span class="dim"> ({zone})</span>}
            {mode === "relative" && <span class="dim"> {t("(in logs; elsewhere local)")}</span>}
          </label>
        ))}
      </Choice>
    </Section>
  );
}
