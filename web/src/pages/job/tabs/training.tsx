// What a run that costs much is asked about: its learning rate, its tokens, its steps, its checkpoints. Each figure says from where it is.
import type { Anatomy, Moved, Schedule, Tokens, Trace } from "../../../api/training";
import { say, t, tn } from "../../../i18n/i18n";
import { formatCount, formatTime, formatValue, NONE } from "../../../lib/text/format";
import { rateText } from "../../../lib/text/rate";
import { adoptStyle } from "../../../lib/jobs/adopt";
import { jobHref } from "../../../lib/url/url";
import type { JobStore } from "../../../state/job/job";
import style from "../../../styles/training.css?inline";
import { Asked } from "../../../ui/asked";
import { DataTable } from "../../../ui/datatable";
import { lazy } from "../../../ui/lazy";
import { EvaluationsPart } from "./evaluations";
import { Rates } from "./rates";
import { S3Section } from "./s3";

adoptStyle(style);

const FitSection = lazy<{ store: JobStore }>(async () => (await import("./fit")).FitSection, 3);

export function TrainingPart({ store }: { store: JobStore }) {
  return (
    <div class="report">
      <Asked<Schedule> store={store} of="/schedule" title={t("Learning rate: declared and observed")}>
        {(reply) => <SchedulePart name={store.name} schedule={reply} />}
      </Asked>
      <Asked<Tokens> store={store} of="/tokens" title={t("Tokens")}>
        {(reply) => <TokensPart tokens={reply} />}
      </Asked>
      <Asked<Anatomy> store={store} of="/anatomy" title={t("What a step is made of")}>
        {(reply) => <AnatomyPart anatomy={reply} />}
      </Asked>
      <FitSection store={store} />
      <EvaluationsPart store={store} />
      <S3Section store={store} />
    </div>
  );
}

// ---- the learning rate ----

const SCHEDULES: Readonly<Record<string, string>> = {
  constant: say("constant"),
  linear: say("linear"),
  cosine: say("cosine"),
  "inverse square root": say("inverse square root"),
  "warm-up, stable, decay": say("warm-up, stable, decay"),
  "warm-up, stable, cosine decay": say("warm-up, stable, cosine decay"),
};

/** Settings by name: what each says, and which setting it is. */
function Figures({ rows }: { rows: readonly (readonly [string, string, (string | undefined)?])[] }) {
  const known = rows.filter(([, value]) => value !== NONE);
  return (
    <DataTable
      class="plain"
      rows={known}
      keyOf={([what]) => what}
      columns={[
        { title: t("what"), isHead: true, cell: ([what]) => what },
        { title: t("value"), isNumber: true, cell: ([, value]) => value },
        { title: t("from"), cell: ([, , from]) => from && <code>{from}</code> },
      ]}
    />
  );
}

const known = (value: number | null | undefined): string => (typeof value === "number" ? formatValue(value) : NONE);

function SchedulePart({ name, schedule }: { name: string; schedule: Schedule }) {
  const { declared, first_difference: first, observed } = schedule;
  return (
    <>
      {schedule.not_understood.length > 0 && <p>{t("Not followed, so that nothing is declared: {keys}", { keys: schedule.not_understood.join(", ") })}</p>}
      {!declared && schedule.not_understood.length === 0 && <p class="dim">{t("The settings declare no schedule.")}</p>}
      {first && (
        <p class="notice">
          <a href={jobHref(name, { from: String(Math.max(0, first.step - 50)), to: String(first.step + 50) })}>{t("Step {step}", { step: formatCount(first.step) })}</a>
          {": "}
          {t("the log shows {observed}, {declared} is declared", { observed: rateText(first.observed), declared: rateText(first.declared) })}
        </p>
      )}
      {declared && schedule.steps_counted && <p>{t("The log says no step, so its rates are not compared: they are counted 0, 1, 2 …")}</p>}
      {schedule.steps_uncertain && (
        <p>{t("The log's steps are those of a progress bar that lags: a rate counts as declared if it is that of any step up to the next print.")}</p>
      )}
      {declared && !first && !schedule.steps_counted && observed.length > 0 && <p>{t("Every rate that the log shows is the declared one, within a hundredth.")}</p>}
      {observed.length > 1 && <Rates rows={observed} />}
      {declared && (
        <Figures
          rows={[
            [t("schedule"), t(SCHEDULES[declared.schedule] ?? declared.schedule), declared.from["schedule"]],
            [t("peak"), rateText(declared.peak), declared.from["peak"]],
            [t("least"), rateText(declared.least), declared.from["least"]],
            [t("warm-up steps"), known(declared.warmup_steps), declared.from["warmup_steps"]],
            [t("decay steps"), known(declared.decay_steps), declared.from["decay_steps"]],
            [t("end at step"), known(declared.total_steps), declared.from["total_steps"]],
          ]}
        />
      )}
      {typeof schedule.clipped_share === "number" && (
        <p title={[schedule.norm_metric, schedule.clip_from].filter(Boolean).join(" > ")}>
          {t("{percent} % of the printed gradient norms were clipped at {clip}", { percent: (100 * schedule.clipped_share).toFixed(2), clip: known(schedule.clip) })}
        </p>
      )}
      <MovedText what={t("Loss scale")} moved={schedule.loss_scale} />
      <MovedText what={t("Global batch size")} moved={schedule.batch} />
    </>
  );
}

/** Nothing, where it stayed as it was. */
function MovedText({ what, moved }: { what: string; moved: Moved | null }) {
  if (!moved || moved.least === moved.most) return null;
  const text = t("{what}: from {first} to {last}, at least {least}, at most {most}, lowered {n} times", {
    what,
    first: formatValue(moved.first),
    last: formatValue(moved.last),
    least: formatValue(moved.least),
    most: formatValue(moved.most),
    n: formatCount(moved.lowered),
  });
  return <p title={moved.metric}>{text}</p>;
}

// ---- tokens ----

function TokensPart({ tokens }: { tokens: Tokens }) {
  const { budget, consumed, per_day: perDay, eta_ms: eta, eta_cost: cost, from } = tokens;
  const isDone = budget !== null && consumed !== null && budget > 0;
  if (budget === null && consumed === null) return <p class="dim">{t("Neither the settings nor the log say how many tokens there are.")}</p>;
  return (
    <>
      {isDone && <p>{t("{percent} % of the budget", { percent: ((100 * consumed) / budget).toFixed(2) })}</p>}
      <Figures
        rows={[
          [t("budget"), known(budget), from["budget"]],
          [t("consumed"), known(consumed), from["consumed"]],
          [t("a day"), known(perDay), from["per_day"]],
          [t("end of the budget"), eta === null ? NONE : formatTime(eta), from["eta_ms"]],
          [t("cost until then"), cost === null ? NONE : `${formatValue(cost)} ${tokens.currency}`, from["eta_cost"]],
        ]}
      />
      {tokens.not_understood.length > 0 && <p>{t("Not understood: {keys}", { keys: tokens.not_understood.join(", ") })}</p>}
    </>
  );
}

// ---- a step ----

const SHARES: Readonly<Record<string, string>> = {
  data: say("waiting for data"),
  forward: say("forward"),
  backward: say("backward"),
  communication: say("communication"),
  optimizer: say("optimizer"),
  checkpoint: say("writing checkpoints"),
  other: say("all else"),
};

function AnatomyPart({ anatomy }: { anatomy: Anatomy }) {
  return (
    <>
      <Shares anatomy={anatomy} />
      {anatomy.exposed_communication !== null && (
        <p>{t("{percent} % of the GPU's time is communication beside which nothing is computed", { percent: (100 * anatomy.exposed_communication).toFixed(1) })}</p>
      )}
      {anatomy.traces.length > 0 && <Traces traces={anatomy.traces} />}
    </>
  );
}

function Shares({ anatomy }: { anatomy: Anatomy }) {
  const rows = Object.entries(anatomy.share).filter((row): row is [string, number] => row[1] !== null);
  const from = anatomy.by_stream[0]?.from ?? {};
  if (rows.length === 0) return <p class="dim">{t("The log prints no timers of a step's parts.")}</p>;
  return (
    <>
      <div class="stack parts" aria-hidden="true">
        {rows.map(([part, share]) => (
          <i key={part} class={`p-${part}`} style={{ flexGrow: share }} title={`${t(SHARES[part] ?? part)} ${(100 * share).toFixed(1)} %`} />
        ))}
      </div>
      <DataTable
        class="plain"
        rows={rows}
        keyOf={([part]) => part}
        columns={[
          {
            title: t("part"),
            isHead: true,
            cell: ([part]) => (
              <>
                <i class={`chip p-${part}`} aria-hidden="true" />
                {t(SHARES[part] ?? part)}
              </>
            ),
          },
          { title: "%", isNumber: true, cell: ([, share]) => (100 * share).toFixed(1) },
          { title: t("worked out as"), cell: ([part]) => from[part] && <code>{from[part]}</code> },
        ]}
      />
      <p class="dim">{tn(anatomy.steps, "Median of {n} step", "Median of {n} steps")}</p>
    </>
  );
}

function Traces({ traces }: { traces: Trace[] }) {
  const percent = (share: number | null): string => (share === null ? NONE : (100 * share).toFixed(1));
  return (
    <>
      <h3>{t("Traces of a profiler, % of the GPU's time")}</h3>
      <DataTable
        class="plain"
        rows={traces}
        keyOf={(row) => `${row.stream}/${row.trace}`}
        columns={[
          { title: t("stream"), isHead: true, cell: (row) => row.stream },
          { title: t("rank"), isNumber: true, cell: (row) => row.rank ?? NONE },
          { title: t("steps"), isNumber: true, cell: (row) => (row.first_step === null ? NONE : `${row.first_step}–${row.last_step ?? ""}`) },
          { title: t("computing"), isNumber: true, cell: (row) => percent(row.compute) },
          { title: t("idle"), isNumber: true, cell: (row) => percent(row.idle) },
          { title: t("exposed"), isNumber: true, cell: (row) => percent(row.exposed_communication) },
          { title: t("overlap of communication"), isNumber: true, cell: (row) => percent(row.overlap) },
          { title: t("trace"), cell: (row) => row.file && <code>{row.file}</code> },
        ]}
      />
      <p class="dim">{t("A trace stays where it is; ui.perfetto.dev opens it.")}</p>
    </>
  );
}
