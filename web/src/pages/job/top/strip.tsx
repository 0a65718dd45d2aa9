import type { JobDoc } from "../../../api/types";
import { t, tn } from "../../../i18n/i18n";
import { atRisk, awayFrom, bestOf, bucketClass, bucketsOf, lastStep, mainMetrics } from "../../../lib/jobs/figures";
import { formatAmount, formatCompact, formatCount, formatDuration, formatExact, formatTime, formatValue } from "../../../lib/text/format";
import { formatAge } from "../../../lib/text/stamp";
import type { Metric } from "../../../lib/jobs/metrics";
import { toNumber } from "../../../lib/text/number";
import { roleTitle } from "../../../lib/jobs/roles";
import { partHref } from "../../../lib/url/url";
import { now } from "../../../state/core/clock";
import type { JobStore } from "../../../state/job/job";
import type { JobFacts } from "../../../state/job/jobfacts";
import { navigate } from "../../../state/core/router";
import { bucketTitle } from "../common/buckets";
import { Figure } from "./figure";

const ROLES = ["loss", "eval_loss", "throughput", "grad_norm", "learning_rate", "step_time", "mfu"];
/** A change that is smaller is noise. */
const ALIKE = 0.005;

/** The job's main numbers: what one reads from two metres. */
export function Strip({ store, facts }: { store: JobStore; facts: JobFacts }) {
  const metrics = store.metrics.value ?? [];
  const main = mainMetrics(metrics);
  const doc = store.doc.value;
  return (
    <dl class="strip" aria-label={t("Main figures")}>
      {ROLES.map((role) => {
        const metric = main.get(role);
        return metric && <OfMetric key={role} store={store} metric={metric} doc={doc} />;
      })}
      <Step metrics={metrics} doc={doc} store={store} />
      <OfGoodput store={store} facts={facts} />
      <Cost facts={facts} doc={doc} />
      <LastCheckpoint store={store} facts={facts} metrics={metrics} />
      <LastLine store={store} doc={doc} />
    </dl>
  );
}

function OfMetric({ store, metric, doc }: { store: JobStore; metric: Metric; doc: JobDoc | null }) {
  const summary = doc?.metrics?.find((one) => one.metric === metric.metric);
  const last = toNumber(metric.last);
  const isBad = metric.last !== undefined && !Number.isFinite(last);
  const isLoss = metric.role === "loss" || metric.role === "eval_loss";
  const best = isLoss ? bestOf(metric, summary) : null;
  const away = metric.role === "throughput" ? awayFrom(metric.last, summary?.mean) : null;
  const unit = metric.unit ? ` ${metric.unit}` : "";
  const said = [`${metric.metric} = ${formatExact(metric.last)}${unit}`, t("at step {step}", { step: formatCount(metric.lastStep) })];
  if (metric.streams.length > 1) said.push(`${metric.lastStream}`);
  if (best) said.push(t("best {value}", { value: `${formatExact(best.value)}${best.step === null ? "" : ` @ ${formatCount(best.step)}`}` }));
  if (away !== null) said.push(t("{percent} against its own mean of {mean}", { percent: signed(away), mean: `${formatValue(summary?.mean)}${unit}` }));
  return (
    <Figure
      label={roleTitle(metric.role, metric.metric)}
      isLead={isLoss && metric.role === "loss"}
      said={said}
      source={{ store, metric: metric.metric, stream: metric.lastStream, step: metric.lastStep }}
    >
      <span class={isBad ? "bad" : ""}>{metric.role === "throughput" && Number.isFinite(last) ? formatCompact(last) : formatValue(metric.last)}</span>
      {metric.unit && <span class="unit"> {metric.unit}</span>}
      {away !== null && Math.abs(away) >= ALIKE && <span class="unit"> {signed(away)}</span>}
      {best && (
        <span class="unit">
          {" "}
          {t("best {value}", { value: formatValue(best.value) })}
          {best.step !== null && ` @ ${formatCount(best.step)}`}
        </span>
      )}
    </Figure>
  );
}

function signed(part: number): string {
  const size = Math.abs(part) * 100;
  return `${part < 0 ? "−" : "+"}${size >= 10 ? size.toFixed(0) : size.toFixed(1)} %`;
}

function Step({ metrics, doc, store }: { metrics: readonly Metric[]; doc: JobDoc | null; store: JobStore }) {
  const step = lastStep(metrics);
  if (step === null) return null;
  const total = doc?.total_steps;
  const speaker = metrics.find((one) => one.lastStep === step);
  const said = [t("step {step}", { step: formatCount(step) })];
  if (total !== undefined && total > 0) {
    said.push(t("of {total}, {percent} %", { total: formatCount(total), percent: ((100 * step) / total).toFixed(1) }));
    if (doc?.total_steps_from) said.push(t("their number from {source}", { source: doc.total_steps_from }));
  }
  return (
    <Figure label={t("step")} said={said} source={speaker && { store, metric: speaker.metric, stream: speaker.lastStream, step }}>
      {formatCount(step)}
      {total !== undefined && <span class="unit"> / {total >= 10_000 ? formatCompact(total) : formatCount(total)}</span>}
    </Figure>
  );
}

function OfGoodput({ store, facts }: { store: JobStore; facts: JobFacts }) {
  const goodput = facts.goodput.value;
  const percent = goodput?.goodput ?? store.doc.value?.goodput;
  if (percent === undefined || percent === null) return null;
  const buckets = goodput ? bucketsOf(goodput) : [];
  const said = [t("goodput {n} %", { n: percent.toFixed(2) }), ...buckets.map((one) => `${bucketTitle(one.name)}: ${one.percent.toFixed(1)} %, ${formatDuration(one.seconds)}`)];
  return (
    <Figure label={t("goodput")} said={said} onOpen={() => navigate(partHref(store.name, "goodput"))}>
      {percent.toFixed(1)}
      <span class="unit"> %</span>
      <span class="bar" aria-hidden="true">
        {buckets.map((one) => (
          <i key={one.name} class={`b-${bucketClass(one.name)}`} style={{ flexGrow: one.seconds }} />
        ))}
      </span>
    </Figure>
  );
}

function Cost({ facts, doc }: { facts: JobFacts; doc: JobDoc | null }) {
  const cost = facts.goodput.value?.cost;
  const total = cost?.total ?? doc?.cost;
  const currency = cost?.currency ?? doc?.currency ?? "";
  if (total === undefined || total === null) return null;
  const said = [`${total.toFixed(2)} ${currency}`];
  if (typeof cost?.lost === "number" && cost.lost > 0) said.push(t("{amount} of it lost to restarts and stalls", { amount: `${cost.lost.toFixed(2)} ${currency}` }));
  if (typeof cost?.per_step === "number") said.push(t("{amount} a step", { amount: `${formatAmount(cost.per_step)} ${currency}` }));
  if (typeof cost?.billable_seconds === "number") said.push(t("{time} are billable", { time: formatDuration(cost.billable_seconds) }));
  return (
    <Figure label={t("cost")} said={said}>
      {(cost ? cost.estimated : doc?.cost_estimated) && "≈ "}
      {total >= 10_000 ? formatCompact(total) : total.toFixed(2)}
      <span class="unit"> {currency}</span>
    </Figure>
  );
}

function LastCheckpoint({ store, facts, metrics }: { store: JobStore; facts: JobFacts; metrics: readonly Metric[] }) {
  const risk = atRisk(facts.goodput.value, lastStep(metrics));
  if (!risk) return null;
  const known = facts.checkpoints.value.find((one) => one.step === risk.step);
  const isRunning = store.doc.value?.TrainingJobStatus === "InProgress";
  const said = [t("checkpoint at step {step}", { step: formatCount(risk.step) })];
  if (known) said.push(t("written {time}", { time: formatTime(known.ts_ms) }));
  if (isRunning && risk.seconds !== null && risk.nodeHours !== null) {
    said.push(
      t("lost if it died now: {steps}, {time}, {hours} node-hours", {
        steps: tn(risk.steps, "{n} step", "{n} steps"),
        time: formatDuration(risk.seconds),
        hours: formatAmount(risk.nodeHours),
      }),
    );
  }
  return (
    <Figure label={t("checkpoint")} said={said} line={known && known.stream !== null && known.line !== null ? { stream: known.stream, line: known.line } : undefined}>
      {formatCount(risk.step)}
      <span class="unit">
        {" "}
        {tn(risk.steps, "{n} step ago", "{n} steps ago")}
        {known && isRunning && ` · ${formatAge(now.value - known.ts_ms)}`}
      </span>
    </Figure>
  );
}

function LastLine({ store, doc }: { store: JobStore; doc: JobDoc | null }) {
  const ms = store.lastLineMs.value ?? doc?.last_line_ms;
  if (ms === undefined || ms === null) return null;
  const ahead = ms - now.value;
  // A log's clock that is ahead is said, not shown as an age of 0.
  const isAhead = ahead > 60_000;
  const said = [t("last line {time}", { time: formatTime(ms) })];
  if (isAhead) said.push(t("the log's clock is {time} ahead of this browser's", { time: formatDuration(ahead / 1000) }));
  return (
    <Figure label={t("last line")} said={said}>
      {isAhead ? t("{time} ahead", { time: formatDuration(ahead / 1000) }) : formatAge(now.value - ms)}
    </Figure>
  );
}
