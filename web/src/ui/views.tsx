import { useSignal } from "@preact/signals";
import { useEffect } from "preact/hooks";
import { t, tx } from "../i18n/i18n";
import { adoptStyle } from "../lib/jobs/adopt";
import { joinNames, splitNames } from "../lib/jobs/compare";
import { buildSearch } from "../lib/url/url";
import { query } from "../state/core/router";
import { deleteView, lastDeleted, loadViews, saveView, views, viewsProblem } from "../state/core/views";
import style from "../styles/views.css?inline";
import { ProblemBox } from "./problem";

adoptStyle(style);

const NAME_MAX = 128;

/** Choose, save, delete. Views are links, so that they open in a tab of their own as well. */
export function Views({ close }: { close: () => void }) {
  useEffect(() => {
    void loadViews();
    return () => (lastDeleted.value = null);
  }, []);
  const rows = views.value;
  const problem = viewsProblem.value;
  const deleted = lastDeleted.value;
  const { q = "", sort = "", cols = "" } = query.value;
  return (
    <>
      {problem && <ProblemBox problem={problem} onRetry={() => void loadViews()} />}
      {rows?.length === 0 && <p class="dim">{t("No view is saved yet. Search and sort the jobs, then keep that under a name.")}</p>}
      <ul>
        {rows?.map((view) => (
          <li key={`${view.scope} ${view.name}`}>
            <a href={`/jobs${buildSearch({ q: view.query, sort: view.sort, cols: joinNames(view.columns ?? []) })}`} aria-current={view.query === q && view.sort === sort ? "true" : undefined} onClick={close}>
              <bdi>{view.name}</bdi>
              <code>{[view.query, view.sort && `sort=${view.sort}`].filter(Boolean).join(" · ") || t("all jobs")}</code>
            </a>
            <button type="button" class="quiet" aria-label={t("Delete {name}", { name: view.name })} title={t("Delete {name}", { name: view.name })} onClick={() => void deleteView(view)}>
              ✕
            </button>
          </li>
        ))}
      </ul>
      <p role="status">
        {deleted && (
          <>
            {tx("Deleted {name}", { name: <bdi>{deleted.name}</bdi> })}{" "}
            <button type="button" onClick={() => void saveView(deleted).then((isBack) => isBack && (lastDeleted.value = null))}>
              {t("Undo")}
            </button>
          </>
        )}
      </p>
      <SaveForm q={q} sort={sort} columns={splitNames(cols)} />
    </>
  );
}

function SaveForm({ q, sort, columns }: { q: string; sort: string; columns: string[] }) {
  const name = useSignal("");
  const isThere = views.value?.some((view) => view.name === name.value.trim()) ?? false;
  return (
    <form
      onSubmit={(event) => {
        event.preventDefault();
        void saveView({ name: name.value.trim(), query: q, sort, columns }).then((isSaved) => isSaved && (name.value = ""));
      }}
    >
      <label>
        <span class="hidden">{t("Name of the view")}</span>
        <input type="text" maxLength={NAME_MAX} placeholder={t("Save what is shown as…")} autocomplete="off" value={name} onInput={(event) => (name.value = event.currentTarget.value)} />
      </label>
      <button type="submit" class="primary" disabled={name.value.trim() === ""}>
        {isThere ? t("Replace") : t("Save")}
      </button>
    </form>
  );
}
