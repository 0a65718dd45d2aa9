// Machines that were replaced in a job: why, how long it took, and whether the fault went with the machine.
import { jobPath } from "../../api/client";
import type { Replacement, Replacements } from "../../api/machines";
import { say, t, tn } from "../../i18n/i18n";
import { logsHref } from "../../lib/log/logurl";
import { cutMiddle, formatDuration, formatTime } from "../../lib/text/format";
import { Resource } from "../../state/core/resource";
import { useStore } from "../../state/core/store";
import type { JobStore } from "../../state/job/job";
import { DataTable } from "../../ui/datatable";
import { Inputs } from "../../ui/inputs";

const FOLLOWED: Readonly<Record<string, string>> = {
  machine: say("came again on the old machine"),
  stream: say("came again on the new machine"),
  "too early": say("too early to say"),
  "not seen again": say("not seen again"),
  "not provable": say("not provable"),
};

/** Nothing, where there was none. */
export function Replaced({ store }: { store: JobStore }) {
  const asked = useStore(
    () => new Resource<Replacements>(jobPath(store.name, "/replacements")),
    [store],
    (next) => next.load(),
  );
  const reply = asked?.value.value;
  if (asked?.problem.value) return <p role="alert">{asked.problem.value.message}</p>;
  if (!reply || reply.replacements.length === 0) return null;
  return (
    <section class="replaced">
      <h2>{t("Machines that were replaced")}</h2>
      <DataTable
        class="plain"
        rows={reply.replacements}
        keyOf={(one) => `${one.to_stream} ${one.line}`}
        columns={[
          { title: t("node"), isHead: true, cell: (one) => <a href={`${logsHref(store.name, { stream: one.to_stream })}#L${one.line}`}>{cutMiddle(one.to_stream, 32)}</a> },
          { title: t("old machine"), cellHint: (one) => one.from_job, cell: (one) => <bdi class="mono">{one.from}</bdi> },
          { title: t("new machine"), cell: (one) => <bdi class="mono">{one.to}</bdi> },
          { title: t("since"), cell: (one) => formatTime(one.at_ms) },
          { title: t("silent for"), hint: t("From the old machine's last line to the new one's first"), isNumber: true, cell: (one) => formatDuration(one.took_ms / 1000) },
          { title: t("why"), cell: (one) => <Why job={store.name} one={one} /> },
          { title: t("the fault since"), cell: (one) => <Since one={one} /> },
        ]}
      />
      {reply.left_out > 0 && <p class="dim">{tn(reply.left_out, "and {n} earlier one", "and {n} earlier ones")}</p>}
    </section>
  );
}

function Why({ job, one }: { job: string; one: Replacement }) {
  if (!one.fault) return <span lang="en">{one.why}</span>;
  return (
    <a lang="en" href={`${logsHref(one.from_job ?? job, { stream: one.stream })}#L${one.fault.line}`} title={one.fault.text}>
      {one.why}
    </a>
  );
}

function Since({ one }: { one: Replacement }) {
  if (!one.fault_followed) return null;
  const words = t(FOLLOWED[one.fault_followed] ?? one.fault_followed);
  const worked = t("The new machine worked for {observed}; {needed} say that the fault is gone", { observed: formatDuration((one.observed_ms ?? 0) / 1000), needed: formatDuration((one.needed_ms ?? 0) / 1000) });
  return (
    <>
      <span title={one.seen_again ? `${formatTime(one.seen_again.ts_ms)} ${one.seen_again_job ?? ""} ${one.seen_again.text}` : worked}>{words}</span>
      {one.followed_why && <span lang="en">: {one.followed_why}</span>}
      <Inputs formula="needed_ms = min(24 h, max(1 h, what the old machine worked here before its fault))" rows={[["observed_ms", one.observed_ms], ["needed_ms", one.needed_ms]]} />
    </>
  );
}
