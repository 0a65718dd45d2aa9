import type { Severity } from "../api/types";
import { say, t } from "../i18n/i18n";
import { SEVERITY_GLYPH } from "../lib/chart/marks";

const NAMES: Readonly<Record<Severity, string>> = { info: say("info"), warning: say("warning"), critical: say("critical") };

export function SeverityMark({ severity, withText = false }: { severity: Severity; withText?: boolean }) {
  return (
    <span class={`severity ${severity}`}>
      <span class="glyph" aria-hidden="true">
        {SEVERITY_GLYPH[severity] ?? SEVERITY_GLYPH.info}
      </span>
      <span class={withText ? "" : "hidden"}>{t(NAMES[severity])}</span>
    </span>
  );
}
