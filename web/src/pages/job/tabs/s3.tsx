// Requests to S3 by prefix, those that it refused, and which prefixes to split.
import type { S3, S3Prefix } from "../../../api/s3";
import { t } from "../../../i18n/i18n";
import { formatCount, NONE } from "../../../lib/text/format";
import type { JobStore } from "../../../state/job/job";
import { Asked } from "../../../ui/asked";
import { DataTable } from "../../../ui/datatable";
import { Inputs } from "../../../ui/inputs";

export function S3Section({ store }: { store: JobStore }) {
  return (
    <Asked<S3> store={store} of="/s3" title={t("Requests to S3")} class="wide" isNone={(reply) => reply.prefix_count === 0}>
      {(reply) => <Prefixes reply={reply} />}
    </Asked>
  );
}

const nameOf = ({ bucket, prefix }: S3Prefix): string => (bucket === null ? prefix : `s3://${bucket}/${prefix}`);
const peak = (value: number | null): string => (value === null ? NONE : formatCount(value));

function Prefixes({ reply: { limits, prefixes, ...sums } }: { reply: S3 }) {
  return (
    <>
      {sums.slow_downs > 0 && (
        <p class="notice">{t("S3 refused {n} of {all} requests (SlowDown)", { n: formatCount(sums.slow_downs), all: formatCount(sums.reads + sums.writes + sums.unknown) })}</p>
      )}
      <DataTable
        class="plain"
        rows={prefixes}
        keyOf={nameOf}
        columns={[
          { title: t("prefix"), isHead: true, cell: (one) => (nameOf(one) ? <bdi class="mono">{nameOf(one)}</bdi> : t("not named")) },
          { title: t("reads"), isNumber: true, cell: (one) => formatCount(one.reads) },
          { title: t("writes"), isNumber: true, cell: (one) => formatCount(one.writes) },
          { title: t("either"), hint: t("The lines do not say which"), isNumber: true, cell: (one) => formatCount(one.unknown) },
          { title: "SlowDown", isNumber: true, cell: (one) => (one.slow_downs ? <span class="severity warning">{t("{n} refused", { n: formatCount(one.slow_downs) })}</span> : 0) },
          { title: t("reads/s, most"), hint: t("Within one second of the clock, by access logs"), isNumber: true, cell: (one) => peak(one.peak_reads_per_s) },
          { title: t("writes/s, most"), hint: t("Within one second of the clock, by access logs"), isNumber: true, cell: (one) => peak(one.peak_writes_per_s) },
          { title: t("Advice"), cell: (one) => <span lang="en">{one.split?.text}</span> },
        ]}
      />
      {sums.prefix_count > prefixes.length && <p class="dim">{t("and {n} more", { n: formatCount(sums.prefix_count - prefixes.length) })}</p>}
      {(sums.partial || sums.peaks_partial) && <p class="dim">{t("Not all of it was read: there is too much.")}</p>}
      <Inputs
        rows={[
          ["reads_per_s", limits.reads_per_s, limits.source],
          ["writes_per_s", limits.writes_per_s, limits.source],
          ["lines", sums.lines],
          ["lines_looked_at", sums.lines_looked_at],
        ]}
      />
    </>
  );
}
