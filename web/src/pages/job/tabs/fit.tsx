// Whether the job fits into its devices' memory: bytes by part, each with its formula, and what would make it fit.
import { jobPath } from "../../../api/client";
import type { Fit } from "../../../api/fit";
import { say, t, tn } from "../../../i18n/i18n";
import { formatBytes } from "../../../lib/text/bytes";
import { formatExact, NONE } from "../../../lib/text/format";
import { Resource } from "../../../state/core/resource";
import { useStore } from "../../../state/core/store";
import type { JobStore } from "../../../state/job/job";
import { DataTable } from "../../../ui/datatable";
import { ProblemBox } from "../../../ui/problem";
import { Skeleton } from "../../../ui/skeleton";

const PARTS: Readonly<Record<string, string>> = {
  parameters: say("parameters"),
  gradients: say("gradients"),
  optimizer: say("optimizer's state"),
  activations: say("activations"),
  total: say("in all"),
};

const bytes = (value: number | null | undefined): string => (typeof value === "number" ? formatBytes(value) : NONE);

/** Where the settings do not suffice there is nothing to show. */
export function FitSection({ store }: { store: JobStore }) {
  const asked = useStore(
    () => new Resource<Fit>(jobPath(store.name, "/fit")),
    [store],
    (next) => next.load(),
  );
  const reply = asked?.value.value;
  const problem = asked?.problem.value;
  if (reply && reply.per_device_bytes["total"] === null && reply.fits === null) return null;
  return (
    <section class="fit">
      <h2>{t("Memory of a device")}</h2>
      {problem ? <ProblemBox problem={problem} onRetry={() => void asked?.load()} /> : reply ? <FitPart fit={reply} /> : <Skeleton rows={3} />}
    </section>
  );
}

function FitPart({ fit }: { fit: Fit }) {
  const parts = Object.entries(fit.per_device_bytes).filter(([, value]) => value !== null);
  return (
    <>
      {fit.fits !== null && (
        <p class={fit.fits ? "" : "notice"}>
          {fit.fits ? t("By its settings it fits into {limit}", { limit: bytes(fit.limit_bytes) }) : t("By its settings it does not fit into {limit}", { limit: bytes(fit.limit_bytes) })}
        </p>
      )}
      <DataTable
        class="plain"
        rows={parts}
        keyOf={([part]) => part}
        columns={[
          { title: t("part"), isHead: true, cell: ([part]) => t(PARTS[part] ?? part) },
          { title: t("a device"), isNumber: true, cellHint: ([, value]) => formatExact(value), cell: ([, value]) => bytes(value) },
          { title: t("worked out as"), cell: ([part]) => fit.formulas[part] && <code>{fit.formulas[part]}</code> },
        ]}
      />
      {fit.observed_factor !== null && (
        <p>
          {tn(fit.observed_jobs, "The peak of {n} job of its kind was {factor} times the formulas: {bytes}", "The peaks of {n} jobs of its kind were {factor} times the formulas: {bytes}", {
            factor: fit.observed_factor.toFixed(2),
            bytes: bytes(fit.corrected_bytes),
          })}
        </p>
      )}
      {fit.would_fit.length > 0 && (
        <>
          <h3>{t("What would fit")}</h3>
          <ul>
            {fit.would_fit.map((one) => (
              <li key={one.text}>
                {one.text} ({bytes(one.total_bytes)})
              </li>
            ))}
          </ul>
        </>
      )}
      <Inputs fit={fit} />
    </>
  );
}

function Inputs({ fit }: { fit: Fit }) {
  const { formula, ...sizes } = fit.model ?? {};
  const rows = Object.entries({ ...fit.inputs, ...sizes });
  const from: Record<string, string> = { ...(typeof formula === "string" && { parameters: formula }), ...fit.from };
  return (
    <details>
      <summary>{t("What it is worked out from")}</summary>
      <DataTable
        class="plain"
        rows={rows}
        keyOf={([name]) => name}
        columns={[
          { title: t("input"), isHead: true, cell: ([name]) => <code>{name}</code> },
          { title: t("value"), isNumber: true, cell: ([, value]) => (value === null ? NONE : typeof value === "number" ? formatExact(value) : String(value)) },
          { title: t("from"), cell: ([name]) => from[name] && <code>{from[name]}</code> },
        ]}
      />
    </details>
  );
}
