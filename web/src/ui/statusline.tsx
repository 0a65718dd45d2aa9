import { formatCompact, formatCount } from "../lib/format";
import { info } from "../state/info";

const DEMO = "These jobs are simulated: the server was started with --demo. Nothing here comes from a real training.";

/** The server's pulse. */
export function StatusLine() {
  const pulse = info.value;
  const parts: string[] = [];
  if (pulse?.jobs !== undefined) parts.push(`${formatCount(pulse.jobs)} ${pulse.jobs === 1 ? "job" : "jobs"}`);
  if (pulse?.live_jobs !== undefined) parts.push(`${formatCount(pulse.live_jobs)} live`);
  if (pulse?.lines_per_second !== undefined) parts.push(`${formatCompact(Math.round(pulse.lines_per_second))} lines/s`);
  return (
    <footer class="statusline">
      <span>{parts.join(" · ")}</span>
      <span class="grow" />
      {pulse?.demo && (
        <span class="demo" title={DEMO} tabIndex={0} aria-label={`demo. ${DEMO}`}>
          demo
        </span>
      )}
      {pulse && <span class="dim">smfleet {pulse.version}</span>}
    </footer>
  );
}
