import { useSignal } from "@preact/signals";
import { useEffect, useRef } from "preact/hooks";
import { apiUrl, asProblem, jobPath, send } from "../../../api/client";
import type { JobDoc } from "../../../api/types";
import { joinNames } from "../../../lib/jobs/compare";
import { t } from "../../../i18n/i18n";
import { buildSearch, definitionsHref, jobHref, quoteText } from "../../../lib/url/url";
import type { JobStore } from "../../../state/job/job";
import { lazy } from "../../../ui/lazy";
import { Orders } from "../../nodes/orders";
import { RestartButton } from "./restart";
import { ByHandDialog } from "../common/byhandmark";
import { mayWrite } from "../../../state/core/session";

const EditDialog = lazy(async () => (await import("./edit")).EditDialog, 0);
const DeleteDialog = lazy(async () => (await import("./delete")).DeleteDialog, 0);

const SHOWN_MS = 4000;

type Asked = "edit" | "byhand" | "delete";

/** What can be done with a job: the common acts as buttons, the others in a menu. */
export function Actions({ store, doc }: { store: JobStore; doc: JobDoc }) {
  const asked = useSignal<Asked | null>(null);
  const { name } = store;
  return (
    <div class="acts">
      <a class="act" href={`/compare${buildSearch({ jobs: joinNames([name, doc.continues].filter((one) => one !== undefined)) })}`}>
        {t("Compare")}
      </a>
      {doc.TrainingJobStatus === "Failed" && mayWrite() && <RestartButton name={name} />}
      <Orders name={name} status={doc.TrainingJobStatus} />
      <Menu store={store} onAsk={(what) => (asked.value = what)} />
      {asked.value === "edit" && <EditDialog store={store} doc={doc} onClose={() => (asked.value = null)} />}
      {asked.value === "byhand" && <ByHandDialog store={store} doc={doc} onClose={() => (asked.value = null)} />}
      {asked.value === "delete" && <DeleteDialog store={store} doc={doc} onClose={() => (asked.value = null)} />}
    </div>
  );
}

/** Where the clipboard is refused the text is shown in a tab of its own. */
async function copyAs(name: string, as: string): Promise<string> {
  const text = await (await send("GET", jobPath(name), { as })).text();
  try {
    await navigator.clipboard.writeText(text);
    return t("Copied to the clipboard");
  } catch {
    window.open(apiUrl(jobPath(name), { as }), "_blank", "noopener");
    return t("Shown in a new tab");
  }
}

async function pin(name: string, pinned: boolean): Promise<string> {
  await send("POST", jobPath(name, "/pin"), {}, { pinned });
  return pinned ? t("Its log text is kept whatever the limits") : t("The limits hold for its log text again");
}

function Menu({ store, onAsk }: { store: JobStore; onAsk: (what: Asked) => void }) {
  const host = useRef<HTMLDetailsElement>(null);
  const said = useSignal("");
  const { name } = store;
  const close = (): void => {
    if (host.current) host.current.open = false;
  };
  useEffect(() => {
    const outside = (event: Event): void => {
      if (host.current?.open && !host.current.contains(event.target as Node)) close();
    };
    document.addEventListener("pointerdown", outside);
    return () => document.removeEventListener("pointerdown", outside);
  }, []);

  const run = async (act: () => Promise<string>): Promise<void> => {
    close();
    try {
      said.value = await act();
    } catch (error) {
      said.value = asProblem(error).message;
    }
    window.setTimeout(() => (said.value = ""), SHOWN_MS);
  };
  const button = (text: string, act: () => Promise<string>, title: string) => (
    <li>
      <button type="button" class="quiet" title={title} onClick={() => void run(act)}>
        {text}
      </button>
    </li>
  );
  const ask = (text: string, what: Asked) => (
    <li>
      <button
        type="button"
        class="quiet"
        onClick={() => {
          close();
          host.current?.querySelector("summary")?.focus(); // where the dialog gives the focus back to
          onAsk(what);
        }}
      >
        {text}
      </button>
    </li>
  );
  return (
    <>
      <details
        class="menu"
        ref={host}
        onKeyDown={(event) => {
          if (event.key !== "Escape" || !host.current?.open) return;
          event.stopPropagation();
          close();
          host.current.querySelector("summary")?.focus();
        }}
      >
        <summary class="act" aria-label={t("More that can be done with this job")}>
          ⋯
        </summary>
        <ul>
          {ask(t("Edit tags and notes…"), "edit")}
          {mayWrite() && ask(t("Set right by hand…"), "byhand")}
          {button(t("Copy as aws CLI"), () => copyAs(name, "aws-cli"), t("An aws sagemaker create-training-job command that runs this job again"))}
          {button(t("Copy as JSON"), () => copyAs(name, "json"), t("The CreateTrainingJob request that runs this job again"))}
          {button(t("Copy the link"), () => copyLink(name), t("This job's address"))}
          {button(t("Pin: keep its log"), () => pin(name, true), t("Its log text stays, whatever the limits on log text are"))}
          {button(t("Unpin"), () => pin(name, false), t("The limits on log text hold for this job, too"))}
          <li>
            <a href={apiUrl("export", { q: `name=${quoteText(name)}` })} download={`${name}.ndjson`} onClick={close} title={t("Document, lines, points and incidents, as smfleet imports them")}>
              {t("Export the whole job")}
            </a>
          </li>
          <li>
            <a href={definitionsHref(name)} onClick={close}>
              {t("Open in the definitions' workbench")}
            </a>
          </li>
          {ask(t("Delete…"), "delete")}
        </ul>
      </details>
      <span class="fact" role="status">
        {said}
      </span>
    </>
  );

  async function copyLink(job: string): Promise<string> {
    await navigator.clipboard.writeText(location.origin + jobHref(job));
    return t("Copied to the clipboard");
  }
}
