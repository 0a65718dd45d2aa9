// What an incident says in words, and what is done about it. Facts: docs/detection.md.
import type { Incident, Num } from "../../api/types";
import { say, t } from "../../i18n/i18n";
import { formatCount, formatDuration, formatValue } from "../text/format";
import { kindTitle } from "../chart/marks";
import { toNumber } from "../text/number";

const SENTENCES: Readonly<Record<string, string>> = {
  loss_spike: say("{metric} jumped to {value} at step {step}; {expected} was usual."),
  loss_drop: say("{metric} fell to {value} at step {step}; {expected} was the best level before."),
  divergence: say("{metric} runs away: {value} at step {step}; {expected} was usual."),
  non_finite: say("{metric} became {value} at step {step}."),
  plateau: say("{metric} does not fall any more: {value} at step {step}."),
  grad_spike: say("{metric} rose to {value} at step {step}; {expected} was usual."),
  throughput_drop: say("{metric} is slower since step {step}: {value}, {expected} was usual."),
  throughput_change: say("{metric} is faster since step {step}: {value}, {expected} was usual."),
  straggler: say("{stream} is behind the others since step {step}: {value} against {expected}."),
  stall: say("The job has been silent for {silence}; {gap} is usual between two lines."),
  job_failed: say("The job failed."),
  rule: say("The rule {rule} is true at step {step}: {value}."),
  deadline: say("The job will need longer than it may run."),
  checkpoint_overdue: say("The next checkpoint is overdue."),
  definition_silent: say("The definition of {metric} finds no value any more: {value} lines since the last one."),
};

const DEEDS: Readonly<Record<string, string>> = {
  loss_spike: say("Look at the batches of these steps and at the gradient norm just before. If the loss does not come back, go on from the last checkpoint and skip them, or lower the learning rate."),
  loss_drop: say("See whether the data repeat or leak: a loss that falls at once has seldom learnt something. The step of an epoch's end is no such fall."),
  divergence: say("Stop the job and go on from the last checkpoint before the spike, with a lower learning rate or without the batches that came before it."),
  non_finite: say("Stop the job: what is trained from now on is lost. Go on from a checkpoint before this step; look for overflow (loss scale, fp16), a division by zero or a broken batch."),
  plateau: say("Compare with an earlier run at this step. A schedule that has ended or a learning rate that is too low looks like this."),
  grad_spike: say("Watch the loss of the next steps. Gradient clipping, or skipping this batch, helps when it comes again."),
  throughput_drop: say("Compare the nodes: one slow machine slows all. Look at data loading, at checkpoints that are being written, and for clocks throttled by heat."),
  throughput_change: say("Nothing need be done."),
  straggler: say("Look at this machine's faults, temperature and network. If it stays behind, replace it and go on from the last checkpoint: all others wait for it."),
  stall: say("Look at the last lines of every node for a hang (NCCL, data loading, file system). If nothing comes, take stacks with py-spy, then restart from the last checkpoint."),
  job_failed: say("The reason and the last lines of the first stream that failed say why."),
  deadline: say("Raise MaxRuntimeInSeconds if you can, or be sure that the last checkpoint before the end can be gone on from."),
  checkpoint_overdue: say("See whether checkpoints still can be written: space, permissions, the shared file system. Until then more work is lost with every step if the job dies."),
  definition_silent: say("Look at the line for what stands there now, and change the definition: without values nothing is noticed in this metric."),
};

const number = (value: unknown): Num | undefined =>
  typeof value === "number" || value === "NaN" || value === "Infinity" || value === "-Infinity" ? value : undefined;

const text = (value: unknown): string | undefined => (typeof value === "string" && value !== "" ? value : undefined);

/** One sentence. What a log line said for itself is quoted by its title. */
export function sentenceOf(incident: Incident): string {
  const evidence = incident.evidence ?? {};
  const title = text(evidence["title"]);
  if (title) return title;
  const pattern = SENTENCES[incident.kind];
  if (!pattern) return kindTitle(incident.kind);
  const seconds = (value: unknown): string => formatDuration(toNumber(number(value)));
  const fault = text((evidence["fault"] as Record<string, unknown> | undefined)?.["summary"]);
  const sentence = t(pattern, {
    metric: incident.metric || t("A figure"),
    stream: incident.stream || t("A node"),
    value: formatValue(number(evidence["value"])),
    expected: formatValue(number(evidence["expected"])),
    step: formatCount(incident.opened_step),
    silence: seconds(evidence["worst"] ?? evidence["value"]),
    gap: seconds(evidence["expected"]),
    rule: text(evidence["rule_name"]) ?? "",
  });
  return fault ? `${sentence} ${fault}.` : sentence;
}

/** What to do; null: nothing general can be said. */
export function deedOf(incident: Incident): string | null {
  const own = text(incident.evidence?.["action"]);
  if (own) return own;
  const general = DEEDS[incident.kind];
  return general ? t(general) : null;
}

/** How far it is off, in parts of what was usual: −0.26. */
export function changeOf(incident: Incident): number | null {
  const value = toNumber(number(incident.evidence?.["value"]));
  const expected = toNumber(number(incident.evidence?.["expected"]));
  return Number.isFinite(value) && Number.isFinite(expected) && expected !== 0 ? value / expected - 1 : null;
}
