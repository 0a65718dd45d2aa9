import type { Severity } from "../api/types";
import { SEVERITY_GLYPH } from "../lib/marks";

export function SeverityMark({ severity, withText = false }: { severity: Severity; withText?: boolean }) {
  return (
    <span class={`severity ${severity}`}>
      <span class="glyph" aria-hidden="true">
        {SEVERITY_GLYPH[severity] ?? SEVERITY_GLYPH.info}
      </span>
      <span class={withText ? "" : "hidden"}>{severity}</span>
    </span>
  );
}
