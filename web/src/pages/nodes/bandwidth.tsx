// Runs of nccl-tests: bus bandwidth by size, against what the machines can do and what others reach, and who is slow.
import { useSignal } from "@preact/signals";
import type { Nccl, NcclRow, NcclRun } from "../../api/nccl";
import { t } from "../../i18n/i18n";
import { logsHref } from "../../lib/log/logurl";
import { formatBytes } from "../../lib/text/bytes";
import { cutMiddle, formatCount, formatValue, NONE } from "../../lib/text/format";
import type { JobStore } from "../../state/job/job";
import { Asked } from "../../ui/asked";
import { type Column, DataTable } from "../../ui/datatable";
import { Inputs } from "../../ui/inputs";

export function Bandwidth({ store }: { store: JobStore }) {
  return (
    <Asked<Nccl> store={store} of="/nccl" title={t("Bandwidth by nccl-tests")} class="report wide bandwidth" isNone={({ runs }) => runs.length === 0}>
      {(reply) => <Runs job={store.name} reply={reply} />}
    </Asked>
  );
}

const HOSTS_CHARS = 60;

const hostsOf = ({ hosts }: NcclRun): string => cutMiddle(hosts.join(", "), HOSTS_CHARS);

/** The largest size that others were measured with, too, which decides whether a run is slow; else the largest. */
const toldBy = ({ rows }: NcclRun): NcclRow | undefined =>
  [...rows].sort((a, b) => Number(b.median_busbw !== null) - Number(a.median_busbw !== null) || b.size - a.size)[0];

/** Of a size: against the limit, and against others. */
function against<Row>(rowOf: (row: Row) => NcclRow | undefined): Column<Row>[] {
  return [
    {
      title: t("% of the limit"),
      hint: t("Out of place; of one machine NVLink is the limit, of several EFA"),
      isNumber: true,
      cell: (row) => {
        const share = rowOf(row)?.share_of_limit;
        return typeof share === "number" ? (100 * share).toFixed(1) : NONE;
      },
    },
    {
      title: t("others, GB/s"),
      hint: t("Median of other runs of the same kind, three at least"),
      isNumber: true,
      cell: (row) => formatValue(rowOf(row)?.median_busbw),
    },
  ];
}

function Runs({ job, reply: { runs, machines, limits, instance_type, compared_jobs, partial } }: { job: string; reply: Nccl }) {
  const chosen = useSignal<NcclRun | null>(null);
  const slow = runs.filter((run) => run.slow);
  const suspects = machines.filter((one) => one.suspect);
  const shown = chosen.value ?? slow[0] ?? runs[0];
  return (
    <>
      {slow.length > 0 && <p class="notice">{t("Slow: {machines}", { machines: slow.map(hostsOf).join("; ") })}</p>}
      {suspects.length > 0 && <p class="notice">{t("Suspect: {machines}: all its runs are slow, others are not", { machines: suspects.map((one) => one.host).join(", ") })}</p>}
      <DataTable
        class="plain"
        rows={runs}
        keyOf={(run) => `${run.stream} ${run.line}`}
        columns={[
          { title: t("stream"), isHead: true, cell: (run) => <a href={`${logsHref(job, { stream: run.stream })}#L${run.line}`}>{cutMiddle(run.stream, 32)}</a> },
          { title: t("test"), cell: (run) => <bdi class="mono">{run.test ?? NONE}</bdi> },
          { title: t("machines"), cell: (run) => <bdi class="mono" title={run.hosts.join(", ")}>{hostsOf(run)}</bdi> },
          { title: t("ranks"), isNumber: true, cell: (run) => formatCount(run.ranks) },
          { title: t("size"), isNumber: true, cell: (run) => formatBytes(toldBy(run)?.size ?? 0) },
          { title: t("bus bandwidth, GB/s"), isNumber: true, cell: (run) => formatValue(toldBy(run)?.out_of_place.busbw) },
          ...against<NcclRun>(toldBy),
          {
            title: t("verdict"),
            hint: t("slow: below four fifths of the others"),
            cell: (run) => run.slow && <span class="severity warning">▲ {t("slow")}</span>,
          },
          {
            cell: (run) => (
              <button type="button" aria-pressed={run === shown} onClick={() => (chosen.value = run)}>
                {t("by size")}
              </button>
            ),
          },
        ]}
      />
      {shown && (
        <>
          <h3>
            <bdi>{shown.stream}</bdi> · {t("by size")}
          </h3>
          <DataTable
            class="plain"
            rows={shown.rows}
            keyOf={(row) => shown.rows.indexOf(row)}
            columns={[
              { title: t("size"), isHead: true, cell: (row) => formatBytes(row.size) },
              { title: t("out of place, GB/s"), isNumber: true, cell: (row) => formatValue(row.out_of_place.busbw) },
              { title: t("in place, GB/s"), isNumber: true, cell: (row) => formatValue(row.in_place.busbw) },
              ...against<NcclRow>((row) => row),
            ]}
          />
        </>
      )}
      {partial && <p class="dim">{t("Not all of it was read: there is too much.")}</p>}
      <Inputs
        rows={[
          ["instance_type", instance_type],
          ["peer_gb_s", limits.peer_gb_s, limits.source],
          ["network_gb_s", limits.network_gb_s, limits.source],
          ["compared_jobs", compared_jobs],
        ]}
      />
    </>
  );
}
