// Whether a failed job should be started again, from where and on which machines: docs/restarts.md.
import { useSignal } from "@preact/signals";
import { jobPath } from "../../../api/client";
import { session } from "../../../state/core/session";
import { say, t, tn, tx } from "../../../i18n/i18n";
import { adoptStyle } from "../../../lib/jobs/adopt";
import { restartCommand, type Restart } from "../../../lib/jobs/restart";
import { formatStep } from "../../../plot/axes";
import { formatTime } from "../../../lib/text/format";
import { machineHref } from "../../../lib/url/url";
import { logsHref } from "../../../lib/log/logurl";
import { useKeys } from "../../../state/core/keys";
import { Resource } from "../../../state/core/resource";
import { useStore } from "../../../state/core/store";
import style from "../../../styles/restart.css?inline";
import { CopyLine } from "../../../ui/copy";
import { Dialog } from "../../../ui/dialog";
import { ProblemBox } from "../../../ui/problem";
import { Skeleton } from "../../../ui/skeleton";

adoptStyle(style);

/** Of a job that failed. */
export function RestartButton({ name }: { name: string }) {
  const isOpen = useSignal(false);
  useKeys(say("Job"), [{ on: "R", does: say("what a restart of the failed job needs"), run: () => (isOpen.value = true) }]);
  return (
    <>
      <button type="button" aria-haspopup="dialog" aria-keyshortcuts="Shift+R" title={t("Whether it is due, from which checkpoint, without which machines (R)")} onClick={() => (isOpen.value = true)}>
        {t("Restart…")}
      </button>
      {isOpen.value && <RestartDialog name={name} onClose={() => (isOpen.value = false)} />}
    </>
  );
}

function RestartDialog({ name, onClose }: { name: string; onClose(): void }) {
  const asked = useStore(
    () => new Resource<Restart>(jobPath(name, "/restart")),
    [name],
    (next) => next.load(),
  );
  const restart = asked?.value.value;
  const problem = asked?.problem.value;
  return (
    <Dialog title={t("Restart of {job}", { job: name })} class="restart" closesOutside onClose={onClose}>
      {problem ? <ProblemBox problem={problem} onRetry={() => void asked?.load()} /> : restart ? <Facts restart={restart} /> : <Skeleton rows={4} />}
      <p class="actions">
        <button type="button" onClick={() => void asked?.load()}>
          {t("Ask again")}
        </button>
        <button type="button" onClick={onClose}>
          {t("Close")}
        </button>
      </p>
    </Dialog>
  );
}

function Facts({ restart }: { restart: Restart }) {
  const { due, why, checkpoint, drained, failures, failures_in_row: row } = restart;
  return (
    <>
      <p class={due ? "due" : "notdue"} role="status">
        <b>{due ? t("A restart is due") : t("No restart is due")}</b>: {why}
      </p>
      {!restart.extracted && <p role="alert">{t("The last lines are not looked at yet: a newer checkpoint may be in them.")}</p>}
      <dl>
        <dt>{t("failures")}</dt>
        <dd>{tn(failures, "{n}, of which {row} since the highest checkpoint", "{n}, of which {row} since the highest checkpoint", { row })}</dd>
        <dt>{t("from the checkpoint")}</dt>
        <dd>{checkpoint ? <Checkpoint checkpoint={checkpoint} /> : t("none is known: it begins anew")}</dd>
        <dt>{t("without these machines")}</dt>
        <dd>{drained.length === 0 ? t("none of them is to be drained") : <Drained drained={drained} />}</dd>
      </dl>
      {due && (
        <>
          <p>{t("Run your own command with it, as sm-ship --on-restart would:")}</p>
          <CopyLine text={restartCommand(restart, location.origin, session.value?.required === true)} label={t("the command")} />
        </>
      )}
    </>
  );
}

function Checkpoint({ checkpoint }: { checkpoint: NonNullable<Restart["checkpoint"]> }) {
  const { job, step, path, stream, line, ts_ms: at } = checkpoint;
  const where = (
    <a href={`${logsHref(job, { stream })}#L${line}`} title={t("The line that says so")}>
      {t("step {n}", { n: formatStep(step) })}
    </a>
  );
  return (
    <>
      {tx("{step}, saved {time}", { step: where, time: formatTime(at) })}
      {path !== null && <code>{path}</code>}
    </>
  );
}

function Drained({ drained }: { drained: Restart["drained"] }) {
  return (
    <ul>
      {drained.map(({ host, why }) => (
        <li key={host}>
          <a href={machineHref(host)}>{host}</a>: {why.join("; ")}
        </li>
      ))}
    </ul>
  );
}
