import { formatCompact, formatCount, formatExact, formatValue } from "../../lib/format";
import type { Metric } from "../../lib/metrics";
import { toNumber } from "../../lib/number";
import { higherIsBetter, roleTitle } from "../../lib/roles";

const SHOWN = 7;

/** The job's main numbers, one a role: what one reads from two metres. */
export function Strip({ metrics }: { metrics: Metric[] }) {
  const roles = new Set<string>();
  const main = metrics.filter((metric) => {
    const key = metric.role === "other" ? `other ${metric.metric}` : metric.role;
    return !roles.has(key) && roles.add(key);
  });
  const step = Math.max(-1, ...metrics.map((metric) => metric.lastStep ?? -1));
  return (
    <dl class="strip">
      {main.slice(0, SHOWN).map((metric) => (
        <Cell key={metric.metric} metric={metric} />
      ))}
      {step >= 0 && (
        <div>
          <dt>step</dt>
          <dd>{formatCount(step)}</dd>
        </div>
      )}
    </dl>
  );
}

function Cell({ metric }: { metric: Metric }) {
  const last = toNumber(metric.last);
  const best = higherIsBetter(metric.role) ? metric.max : metric.min;
  const isLoss = metric.role === "loss" || metric.role === "eval_loss";
  const text = metric.role === "throughput" && Number.isFinite(last) ? formatCompact(last) : formatValue(metric.last);
  const isBad = metric.last !== undefined && !Number.isFinite(last);
  return (
    <div class={isLoss ? "lead" : ""} title={`${metric.metric} = ${formatExact(metric.last)} at step ${formatCount(metric.lastStep)}`}>
      <dt>{roleTitle(metric.role, metric.metric)}</dt>
      <dd class={isBad ? "bad" : ""}>
        {text}
        {metric.unit && <span class="unit"> {metric.unit}</span>}
        {isLoss && best !== undefined && <span class="best"> best {formatValue(best)}</span>}
      </dd>
    </div>
  );
}
