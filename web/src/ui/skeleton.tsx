import { t } from "../i18n/i18n";

/** Rows of known height while nothing is known; shown by CSS only after 200 ms. */
export function Skeleton({ rows }: { rows: number }) {
  return (
    <div class="skeleton" role="status">
      <span class="hidden">{t("Loading")}</span>
      {Array.from({ length: rows }, (_, i) => (
        <div key={i} aria-hidden="true" />
      ))}
    </div>
  );
}
