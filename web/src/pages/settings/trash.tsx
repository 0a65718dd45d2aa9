import { useSignal } from "@preact/signals";
import { jobPath, send } from "../../api/client";
import { restoreJob, type Trash, type TrashedJob } from "../../api/trash";
import { t, tn, tx } from "../../i18n/i18n";
import { formatBytes } from "../../lib/text/bytes";
import { formatCount, formatTime } from "../../lib/text/format";
import { jobHref } from "../../lib/url/url";
import { Confirm } from "../../ui/confirm";
import { DataTable } from "../../ui/datatable";
import type { Part } from "./parts";
import { PartSection } from "./section";

/** Deleted jobs: restored, or deleted for good before their time. */
export function TrashList({ part }: { part: Part<Trash> }) {
  const trash = part.value.value;
  const leaving = useSignal<TrashedJob | null>(null);
  const restored = useSignal("");
  const restore = (job: TrashedJob): void => {
    void part.attempt(async () => {
      restored.value = await restoreJob(job.TrainingJobName, job.id);
      await part.load();
    }, "");
  };
  const purge = (job: TrashedJob): void => {
    restored.value = "";
    void part.attempt(
      async () => {
        await send("DELETE", jobPath(job.TrainingJobName), { purge: true, id: job.id });
        await part.load();
      },
      t("Deleted {name}", { name: job.TrainingJobName }),
    );
  };
  return (
    <PartSection part={part} id="trash" title={t("Trash")}>
      {trash && (
        <>
          <p class="dim">
            {trash.kept_ms === 0 ? t("There is no trash: what is deleted goes at once (--trash-days).") : t("Deleted jobs can be restored until their time is over, or until the database needs their room.")}
          </p>
          {trash.count === 0 ? <p>{t("It is empty.")}</p> : <TrashTable trash={trash} onRestore={restore} onPurge={(job) => (leaving.value = job)} />}
        </>
      )}
      {restored.value && (
        <p role="status">{tx("{job} is there again.", { job: <a href={jobHref(restored.value)}><bdi>{restored.value}</bdi></a> })}</p>
      )}
      {leaving.value && <Purge job={leaving.value} onYes={purge} onClose={() => (leaving.value = null)} />}
    </PartSection>
  );
}

interface TableProps {
  trash: Trash;
  onRestore: (job: TrashedJob) => void;
  onPurge: (job: TrashedJob) => void;
}

function TrashTable({ trash, onRestore, onPurge }: TableProps) {
  const more = trash.count - trash.jobs.length;
  return (
    <>
      <div class="scrolls" tabIndex={0} role="group" aria-label={t("Trash")}>
        <DataTable
          rows={trash.jobs}
          keyOf={(job) => job.id}
          columns={[
            { title: t("job"), isHead: true, cell: (job) => <bdi>{job.TrainingJobName}</bdi> },
            { title: t("deleted"), cell: (job) => formatTime(job.deleted_ms) },
            { title: t("by"), cell: (job) => <bdi>{job.deleted_by}</bdi> },
            { title: t("goes for good"), cell: (job) => formatTime(job.purge_ms) },
            { title: t("size"), isNumber: true, cell: (job) => formatBytes(job.bytes) },
            {
              cell: (job) => (
                <>
                  <button type="button" aria-label={t("Restore {name}", { name: job.TrainingJobName })} onClick={() => onRestore(job)}>
                    {t("Restore")}
                  </button>{" "}
                  <button type="button" class="danger" aria-label={t("Delete {name}", { name: job.TrainingJobName })} onClick={() => onPurge(job)}>
                    {t("Delete…")}
                  </button>
                </>
              ),
            },
          ]}
        />
      </div>
      <p class="dim">
        {tn(trash.count, "{n} job, {size}", "{n} jobs, {size}", { size: formatBytes(trash.bytes) })}
        {more > 0 && ` · ${t("and {n} more", { n: formatCount(more) })}`}
      </p>
    </>
  );
}

function Purge({ job, onYes, onClose }: { job: TrashedJob; onYes: (job: TrashedJob) => void; onClose: () => void }) {
  return (
    <Confirm title={t("Delete for good?")} action={t("Delete")} onYes={() => onYes(job)} onClose={onClose}>
      <p>{tx("All that was logged of {job} goes, and does not come back.", { job: <strong><bdi>{job.TrainingJobName}</bdi></strong> })}</p>
    </Confirm>
  );
}
