import { useSignal } from "@preact/signals";
import type { Break, Goodput } from "../../../api/types";
import { t, tn, tx } from "../../../i18n/i18n";
import { bucketClass, bucketsOf } from "../../../lib/jobs/figures";
import { formatAmount, formatCount, formatDuration, formatTime, formatValue, NONE } from "../../../lib/text/format";
import { restartsOf } from "../../../lib/jobs/jobevents";
import type { JobStore } from "../../../state/job/job";
import { factsOf } from "../../../state/job/jobfacts";
import { DataTable } from "../../../ui/datatable";
import { Inputs } from "../../../ui/inputs";
import { Skeleton } from "../../../ui/skeleton";
import { bucketTitle } from "../common/buckets";
import { ByHandDialog, byHandText } from "../common/byhandmark";
import { mayWrite } from "../../../state/core/session";
import { showTime } from "../common/place";
import { CheckpointsPart } from "./checkpoints";
import { ContinuityPart } from "./continuity";

/** Where the job's time went, what it lost, and what that cost. */
export function GoodputPart({ store }: { store: JobStore }) {
  const goodput = factsOf(store).goodput.value;
  if (!goodput) return <Skeleton rows={8} />;
  const percent = goodput.goodput;
  const restarts = restartsOf(goodput, !!store.doc.value?.TrainingEndTime);
  return (
    <div class="report">
      <h2>
        {goodput.wall_seconds === null
          ? t("not known: nothing says how long it took")
          : typeof percent === "number"
            ? t("{percent} % of {time} were steps that nobody had to make again", { percent: percent.toFixed(2), time: formatDuration(goodput.wall_seconds) })
            : t("{time} so far, and no step in it: there is no goodput to tell", { time: formatDuration(goodput.wall_seconds) })}
      </h2>
      {goodput.paused_seconds !== undefined && <p>{t("Put aside for {time}: not counted, and not billed", { time: formatDuration(goodput.paused_seconds) })}</p>}
      {goodput.odd_times !== undefined && (
        <p>{tn(goodput.odd_times, "{n} line shows a date that is not of this work", "{n} lines show dates that are not of this work")}</p>
      )}
      {goodput.wall_seconds !== null && <Buckets goodput={goodput} />}
      {restarts.length > 0 && <Breaks store={store} rows={restarts} />}
      <ContinuityPart store={store} />
      <CheckpointsPart store={store} />
      {goodput.causes.length > 0 && <Causes goodput={goodput} />}
      <Cost store={store} goodput={goodput} />
    </div>
  );
}

function Buckets({ goodput }: { goodput: Goodput }) {
  const rows = bucketsOf(goodput);
  return (
    <>
      <div class="stack" aria-hidden="true">
        {rows.map((one) => (
          <i key={one.name} class={`b-${bucketClass(one.name)}`} style={{ flexGrow: one.seconds }} title={`${bucketTitle(one.name)} ${one.percent.toFixed(2)} %`} />
        ))}
      </div>
      <DataTable
        class="plain"
        caption={t("Where the time went")}
        rows={rows}
        keyOf={(one) => one.name}
        columns={[
          {
            title: t("what"),
            isHead: true,
            cell: (one) => (
              <>
                <i class={`chip b-${bucketClass(one.name)}`} aria-hidden="true" />
                {bucketTitle(one.name)}
              </>
            ),
          },
          { title: "%", isNumber: true, cell: (one) => one.percent.toFixed(2) },
          { title: t("time"), isNumber: true, cell: (one) => formatDuration(one.seconds) },
          { title: t("node-hours"), isNumber: true, cell: (one) => formatAmount(one.nodeHours) },
        ]}
      />
      <Inputs formula="percent = 100 * seconds / wall_seconds" rows={[["wall_seconds", goodput.wall_seconds], ...rows.map((one) => [one.name, one.seconds] as const)]} />
    </>
  );
}

const BREAKS_SHOWN = 200;

function Breaks({ store, rows }: { store: JobStore; rows: Break[] }) {
  const shown = rows.slice(-BREAKS_SHOWN).reverse();
  const room = 10 * 60_000;
  return (
    <>
      <h3>{tn(rows.length, "{n} restart", "{n} restarts")}</h3>
      <DataTable
        class="plain"
        rows={shown}
        keyOf={(one) => one.from_ms}
        columns={[
          {
            title: t("stopped"),
            cell: (one) => (
              <button type="button" class="quiet" title={t("Zoom the charts to it")} onClick={() => showTime(store, one.from_ms - room, (one.to_ms ?? one.from_ms) + room)}>
                {formatTime(one.from_ms)}
              </button>
            ),
          },
          { title: t("cause"), cell: (one) => one.cause.replaceAll("_", " ") },
          { title: t("at step"), isNumber: true, cell: (one) => formatCount(one.step) },
          { title: t("on from step"), isNumber: true, cell: (one) => formatCount(one.from_step) },
          { title: t("steps lost"), isNumber: true, cell: (one) => formatCount(one.lost_steps ?? undefined) },
          { title: t("back after"), isNumber: true, cell: (one) => (one.repair_seconds === undefined ? t("not yet") : formatDuration(one.repair_seconds)) },
          { title: t("node-hours"), isNumber: true, cell: (one) => formatAmount(one.node_hours) },
        ]}
      />
      {rows.length > shown.length && <p class="dim">{tn(rows.length - shown.length, "and {n} earlier one", "and {n} earlier ones")}</p>}
    </>
  );
}

/** In which something can break. */
const UP = ["first_step", "productive", "evaluation", "checkpoint", "redone", "stalled", "unmeasured"];

function Causes({ goodput }: { goodput: Goodput }) {
  return (
    <>
      <h3>{t("By cause")}</h3>
      <DataTable
        class="plain"
        rows={goodput.causes}
        keyOf={(one) => one.cause}
        columns={[
          { title: t("cause"), isHead: true, cell: (one) => one.cause.replaceAll("_", " ") },
          { title: t("times"), isNumber: true, cell: (one) => formatCount(one.count) },
          { title: t("MTBF, hours"), hint: t("Mean time between two of them"), isNumber: true, cell: (one) => formatValue(one.mtbf_hours) },
          { title: t("MTTR"), hint: t("Mean time until a step was made again"), isNumber: true, cell: (one) => (one.mttr_seconds === undefined ? NONE : formatDuration(one.mttr_seconds)) },
          { title: t("steps lost"), isNumber: true, cell: (one) => formatCount(one.lost_steps ?? undefined) },
          { title: t("node-hours lost"), isNumber: true, cell: (one) => formatAmount(one.lost_node_hours) },
        ]}
      />
      <Inputs
        formula={`mtbf_hours = (${UP.join(" + ")}) / 3600 / count`}
        rows={[...UP.map((name) => [name, goodput.buckets[name]?.seconds] as const), ...goodput.causes.map((one) => [`count, ${one.cause}`, one.count] as const)]}
      />
    </>
  );
}

/** As the server writes it where nobody says what the job runs on. */
const NO_TYPE = "unknown";

function whyNoCost(cost: NonNullable<Goodput["cost"]>): string {
  if (cost.reason === "no times") return t("not known: nothing says how long it took");
  const types = cost.unpriced_types ?? [];
  const named = types.filter((type) => type !== NO_TYPE);
  const isUntyped = named.length < types.length;
  if (isUntyped && named.length === 0) return t("not known: nobody said on what type of instance it runs");
  return t("not known: the list of prices has no {instance}", { instance: named.join(", ") || t("such instance") });
}

/** What a person can do about it, also in words of the API: whoever may not write hands them on. */
function Untyped() {
  return (
    <p class="untyped">
      {tx("It can be said by PATCH of the job: {body}", { body: <code>{'{"by_hand": {"instance_type": "…"}}'}</code> })}
    </p>
  );
}

function Cost({ goodput: { cost, steps }, store }: { goodput: Goodput; store: JobStore }) {
  const isOpen = useSignal(false);
  const doc = store.doc.value;
  const byHand = doc?.by_hand;
  if (!cost) return null;
  const amount = (value: number | null | undefined): string => (typeof value === "number" ? `${formatAmount(value)} ${cost.currency ?? ""}` : NONE);
  const rows: [string, string][] = [
    [t("cost"), typeof cost.total === "number" ? `${cost.total.toFixed(2)} ${cost.currency ?? ""}` : whyNoCost(cost)],
    [t("of it lost to restarts and stalls"), amount(cost.lost)],
    [t("of it for steps made once more"), amount(cost.redone_steps)],
    [t("saved by spot instances"), amount(cost.spot_saving)],
    [t("a step"), amount(cost.per_step)],
    [t("a million tokens"), amount(cost.per_million_tokens)],
    [t("billable"), typeof cost.billable_seconds !== "number" ? NONE : formatDuration(cost.billable_seconds)],
    [t("a step's time (median)"), steps?.step_seconds === undefined ? NONE : `${formatValue(steps.step_seconds)} s`],
  ];
  return (
    <>
      <h3>{t("Cost")}</h3>
      {cost.estimated && <p>{t("estimated: nodes are counted, not stated")}</p>}
      {byHand && <p>{t("set by hand: {what}", { what: byHandText(byHand) })}</p>}
      <table class="plain">
        <tbody>
          {rows
            .filter(([, value]) => value !== NONE)
            .map(([what, value]) => (
              <tr key={what}>
                <th scope="row">{what}</th>
                <td class="num">{value}</td>
              </tr>
            ))}
        </tbody>
      </table>
      {cost.reason === "no price" && cost.unpriced_types?.includes(NO_TYPE) && <Untyped />}
      {doc && mayWrite() && (
        <button type="button" class="byhandopen" aria-haspopup="dialog" onClick={() => (isOpen.value = true)}>
          {t("Set right by hand…")}
        </button>
      )}
      {doc && isOpen.value && <ByHandDialog store={store} doc={doc} onClose={() => (isOpen.value = false)} />}
    </>
  );
}
