import { useSignal } from "@preact/signals";
import { t, tn } from "../../../i18n/i18n";
import { findInTree, treeLines } from "../../../lib/text/tree";
import type { JobStore } from "../../../state/job/job";
import { Skeleton } from "../../../ui/skeleton";

const OPEN_DEPTH = 2;
const MANY = 60;
const MOST_LINES = 2000;
const SAID_MS = 2000;

/** The document as the server has it: folds, is searched and copied. */
export function DocumentPart({ store }: { store: JobStore }) {
  const doc = store.doc.value;
  const find = useSignal("");
  const toggled = useSignal<ReadonlyMap<string, boolean>>(new Map());
  const said = useSignal("");
  if (!doc) return <Skeleton rows={8} />;

  const { open, hits } = findInTree(doc, find.value);
  const isSmall = JSON.stringify(doc).length < 4000;
  const lines = treeLines(
    doc,
    (path, depth) => toggled.value.get(path) ?? (open.has(path) || depth < (isSmall ? OPEN_DEPTH + 1 : OPEN_DEPTH - 1)),
    MOST_LINES,
  );
  const toggle = (path: string, isOpen: boolean): void => {
    toggled.value = new Map(toggled.value).set(path, !isOpen);
  };
  const copy = async (): Promise<void> => {
    try {
      await navigator.clipboard.writeText(JSON.stringify(doc, null, 2));
      said.value = t("Copied to the clipboard");
    } catch {
      said.value = t("The browser refuses its clipboard");
    }
    window.setTimeout(() => (said.value = ""), SAID_MS);
  };
  return (
    <div class="report document">
      <div class="toolbar">
        <label>
          <span class="hidden">{t("Search the document")}</span>
          <input type="search" placeholder={t("Search the document")} value={find.value} onInput={(event) => (find.value = event.currentTarget.value)} />
        </label>
        {find.value !== "" && <span role="status">{tn(hits.size, "{n} match", "{n} matches")}</span>}
        <span class="grow" />
        <span role="status">{said}</span>
        <button type="button" onClick={() => void copy()}>
          {t("Copy the document")}
        </button>
      </div>
      <ul class="tree mono">
        {lines.map((line, i) => {
          const next = lines[i + 1];
          const isOpen = line.count !== null && next !== undefined && next.depth > line.depth;
          const name = line.key === "" ? t("document") : line.key;
          return (
            <li key={line.path} style={{ paddingInlineStart: `${line.depth * 16 + 4}px` }} class={hits.has(line.path) ? "hit" : ""}>
              {line.count === null ? (
                <>
                  <span class="dim">{name}: </span>
                  <span class={(line.text?.length ?? 0) > MANY ? "long" : ""}>{line.text}</span>
                </>
              ) : (
                <button type="button" class="quiet" aria-expanded={isOpen} disabled={line.count === 0} onClick={() => toggle(line.path, isOpen)}>
                  {isOpen ? "▾" : "▸"} {name} <span class="dim">{line.isList ? `[${line.count}]` : `{${line.count}}`}</span>
                </button>
              )}
            </li>
          );
        })}
      </ul>
      {lines.length >= MOST_LINES && <p class="dim">{t("Only the first {n} lines are shown: fold something, or copy the document.", { n: MOST_LINES })}</p>}
    </div>
  );
}
