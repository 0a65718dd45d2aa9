import { t, tn } from "../i18n/i18n";
import { adoptStyle } from "../lib/jobs/adopt";
import { formatCompact, formatCount } from "../lib/text/format";
import { info } from "../state/core/info";
import style from "../styles/statusline.css?inline";

adoptStyle(style);

const formatRate = (lines: number): string => (lines < 1000 ? formatCount(Math.round(lines)) : formatCompact(lines));

const demo = (): string => t("These jobs are simulated: the server was started with --demo. Nothing here comes from a real training.");

/** The server's pulse, in the status line. */
export function Pulse() {
  const pulse = info.value;
  const parts: string[] = [];
  if (pulse?.jobs !== undefined) parts.push(tn(pulse.jobs, "{n} job", "{n} jobs"));
  if (pulse?.live_jobs !== undefined) parts.push(t("{n} live", { n: formatCount(pulse.live_jobs) }));
  if (pulse?.lines_per_second !== undefined) parts.push(t("{n} lines/s", { n: formatRate(pulse.lines_per_second) }));
  return (
    <>
      <span>{parts.join(" · ")}</span>
      {pulse?.lag_ms !== undefined && pulse.lag_ms > 0 && (
        <span title={t("What the slowest line of the last second took from its arrival until its points were known")}>
          {t("lag {n} ms", { n: formatCount(pulse.lag_ms) })}
        </span>
      )}
      <span class="grow" />
      {pulse?.demo && (
        <span class="demo" title={demo()} tabIndex={0} role="note" aria-label={`demo. ${demo()}`}>
          demo
        </span>
      )}
      {pulse && <span class="dim">smfleet {pulse.version}</span>}
    </>
  );
}
