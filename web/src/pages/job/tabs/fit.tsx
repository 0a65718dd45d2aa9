// Whether the job fits into its devices' memory: bytes by part, each with its formula, and what would make it fit.
import type { Fit } from "../../../api/fit";
import { say, t, tn, tx } from "../../../i18n/i18n";
import { formatBytes } from "../../../lib/text/bytes";
import { formatExact, NONE } from "../../../lib/text/format";
import type { JobStore } from "../../../state/job/job";
import { Asked } from "../../../ui/asked";
import { DataTable } from "../../../ui/datatable";
import { Inputs } from "../../../ui/inputs";

const PARTS: Readonly<Record<string, string>> = {
  parameters: say("parameters"),
  gradients: say("gradients"),
  optimizer: say("optimizer's state"),
  activations: say("activations"),
  total: say("in all"),
};

const bytes = (value: number | null | undefined): string => (typeof value === "number" ? formatBytes(value) : NONE);

/** Where the settings do not suffice there is nothing to show, but why, where it is a setting that is not followed. */
const isNone = (fit: Fit): boolean => fit.per_device_bytes["total"] === null && fit.fits === null && !fit.not_covered && fit.not_understood.length === 0;

export function FitSection({ store }: { store: JobStore }) {
  return (
    <Asked<Fit> store={store} of="/fit" title={t("Memory of a device")} class="fit" isNone={isNone}>
      {(fit) => <FitPart fit={fit} />}
    </Asked>
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
      {fit.not_covered && <p>{t("Nothing is said: the formulas are not of {what}", { what: fit.not_covered })}</p>}
      {fit.not_understood.length > 0 && (
        <p>
          {tx("What these settings change is not said, since they are not followed: {settings}", { settings: <code>{fit.not_understood.join(", ")}</code> })}
        </p>
      )}
      {parts.length > 0 && (
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
      )}
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
      <FitInputs fit={fit} />
    </>
  );
}

function FitInputs({ fit }: { fit: Fit }) {
  const { formula, ...sizes } = fit.model ?? {};
  const from: Record<string, string> = { ...(typeof formula === "string" && { parameters: formula }), ...fit.from };
  return <Inputs rows={Object.entries({ ...fit.inputs, ...sizes }).map(([name, value]) => [name, value, from[name]])} />;
}
