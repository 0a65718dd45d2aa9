import { formatTime, NONE } from "../lib/text/format";
import { formatAge } from "../lib/text/stamp";
import { now } from "../state/core/clock";

/** How long ago, with the absolute time in the title. */
export function Age({ ms }: { ms: number | undefined | null }) {
  if (ms === undefined || ms === null) return <span class="dim">{NONE}</span>;
  return (
    <time dateTime={new Date(ms).toISOString()} title={formatTime(ms)}>
      {formatAge(now.value - ms)}
    </time>
  );
}
