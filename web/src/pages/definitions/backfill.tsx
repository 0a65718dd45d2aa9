import { t } from "../../i18n/i18n";
import type { Backfill } from "../../api/types";
import { formatCompact, formatCount } from "../../lib/text/format";
import { backfillShare } from "../../lib/jobs/backfill";
import type { Workbench } from "../../state/job/workbench";

/** The past being read again: how far it is, and how it ended. */
export function BackfillBar({ bench }: { bench: Workbench }) {
  const backfill = bench.backfill.value;
  if (!backfill) return null;
  return (
    <section class={`backfill ${backfill.state}`} aria-label={t("Back-fill")}>
      {backfill.state === "running" ? <Running backfill={backfill} onCancel={() => void bench.cancelBackfill()} /> : <Over backfill={backfill} />}
    </section>
  );
}

function Running({ backfill, onCancel }: { backfill: Backfill; onCancel: () => void }) {
  const share = backfillShare(backfill);
  const percent = share === null ? "" : `${Math.floor(share * 100)} %`;
  return (
    <>
      <span class="glyph" aria-hidden="true">
        ◐
      </span>
      <span>{t("Back-fill")}</span>
      <progress max={1} aria-label={t("Back-fill")} {...(share === null ? {} : { value: share })} />
      <b class="num">{percent}</b>
      <span class="dim num">
        {share === null ? t("begins") : t("{done} of {all} lines", { done: formatCount(backfill.lines), all: formatCount(backfill.lines_total) })}
        {backfill.bytes_total ? t(", {done} of {all}", { done: `${formatCompact(backfill.bytes ?? 0)}B`, all: `${formatCompact(backfill.bytes_total)}B` }) : ""}.{" "}
        {t("Charts keep the old points until it is done.")}
      </span>
      <button type="button" onClick={onCancel}>
        {t("Cancel")}
      </button>
    </>
  );
}

function Over({ backfill }: { backfill: Backfill }) {
  const { state, lines, error } = backfill;
  const text = {
    done: t("The last back-fill is done: {n} lines were read again.", { n: formatCount(lines) }),
    cancelled: t("The last back-fill was cancelled: the charts have the points that they had before it."),
    failed: `${t("The last back-fill failed.")} ${error ?? ""} ${t("The charts have the points that they had before it. Save and back-fill tries again.")}`,
    running: "",
  }[state];
  return (
    <p role={state === "failed" ? "alert" : "status"}>
      <span class="glyph" aria-hidden="true">
        {state === "done" ? "✓" : state === "failed" ? "✕" : "■"}
      </span>
      {text}
    </p>
  );
}
