// Panels over the jobs of queries, arranged as one likes: of the address, or as it is saved for the team.
import { useSignal } from "@preact/signals";
import { useEffect, useRef } from "preact/hooks";
import { say } from "../../i18n/i18n";
import { adoptStyle } from "../../lib/jobs/adopt";
import { fromQuery, isPacked } from "../../lib/workspace/address";
import { DocumentError, MOST_PANELS, type Panel, type Workspace } from "../../lib/workspace/document";
import { move } from "../../lib/workspace/layout";
import { asProblem } from "../../api/client";
import { useKeys } from "../../state/core/keys";
import { query } from "../../state/core/router";
import { useStore } from "../../state/core/store";
import { getRunsEarly } from "../../state/workspace/runs";
import { WorkspaceStore } from "../../state/workspace/workspace";
import "../../styles/charts";
import style from "../../styles/workspace.css?inline";
import { hasDrawn, lazy } from "../../ui/lazy";
import { ProblemBox } from "../../ui/problem";
import { Skeleton } from "../../ui/skeleton";
import { Bar } from "./bar";
import { Grid } from "./grid";
import { readPanel, runsOf } from "./line";

adoptStyle(style);

const Start = lazy(async () => (await import("./start")).Start, 10);
const Editor = lazy(async () => (await import("./editor")).Editor, 0);

/** What the address names: nothing, or one saved workspace, or words for one. */
function given(): { workspace: Workspace | null; fault: string | null } {
  try {
    return { workspace: fromQuery(query.peek()), fault: null };
  } catch (error) {
    if (error instanceof DocumentError) return { workspace: null, fault: error.message };
    throw error;
  }
}

/** The jobs of the panel that comes first, of which the others will mostly ask for the same. */
function askEarly(workspace: Workspace): void {
  const [first] = workspace.panels;
  if (first?.kind !== "line") return;
  const { read, faults } = readPanel(first.expressions);
  if (faults.length === 0 && read.length > 0) getRunsEarly(runsOf(workspace, first, read));
}

export function WorkspacePage() {
  const name = query.value["name"];
  const words = query.value["lines"];
  const fault = useSignal<string | null>(null);
  const store = useStore(
    () => new WorkspaceStore(),
    [name === undefined ? words : undefined],
    (next) => {
      const { workspace, fault: found } = given();
      fault.value = found;
      if (name === undefined && workspace && !isPacked(location.hash)) askEarly(workspace);
      return next.open(name, workspace);
    },
  );
  // Also while there is nothing to hear of points of: the frame says whether the server is there.
  useEffect(() => {
    if (store) void store.hearing.hear(store, []);
  }, [store]);
  const document = store?.document.value ?? null;
  const problem = store?.problem.value;
  const hasNoCurve = store !== null && !store.isOpening.value && !document?.panels.some((one) => one.kind === "line");
  useEffect(() => {
    if (hasNoCurve) hasDrawn();
  }, [hasNoCurve]);
  return (
    <div class="view workspace">
      {problem && <ProblemBox problem={asProblem(problem)} onRetry={() => location.reload()} />}
      {fault.value !== null && <p class="nothing" role="alert" lang="en">{fault.value}</p>}
      {store && document ? <Content store={store} workspace={document} /> : store && name === undefined && !store.isOpening.value ? <Start store={store} /> : !problem && <Skeleton rows={10} />}
    </div>
  );
}

const FRESH: Readonly<Record<Panel["kind"], () => Panel>> = {
  line: () => ({ kind: "line", expressions: ["loss"], width: 6, height: 2 }),
  scatter: () => ({ kind: "scatter", x: "hp.lr", y: "loss.final", width: 6, height: 2 }),
  table: () => ({ kind: "table", columns: ["name", "status", "loss.last"], width: 6, height: 2 }),
  number: () => ({ kind: "number", expression: "loss.last", fold: "min", width: 3, height: 1 }),
  text: () => ({ kind: "text", text: "", width: 3, height: 1 }),
};

function Content({ store, workspace }: { store: WorkspaceStore; workspace: Workspace }) {
  const editing = useSignal<number | null>(null);
  const host = useRef<HTMLDivElement>(null);
  const { panels } = workspace;
  const at = editing.value;
  const edited = at === null ? undefined : panels[at];
  useEffect(() => {
    if (at !== null && !panels[at]) editing.value = null;
  }, [at, panels]);

  const focus = (index: number): void => {
    requestAnimationFrame(() => host.current?.querySelector<HTMLElement>(`[data-panel="${index}"]`)?.focus());
  };
  const change = (index: number, next: (panel: Panel) => Panel, kind = ""): void =>
    store.edit((now) => ({ ...now, panels: now.panels.map((one, i) => (i === index ? next(one) : one)) }), kind && `${kind} ${index}`);
  const add = (kind: Panel["kind"]): void => {
    if (panels.length >= MOST_PANELS) return;
    store.edit((now) => ({ ...now, panels: [...now.panels, FRESH[kind]()] }));
    editing.value = panels.length;
  };
  const acts = {
    change,
    add,
    move: (from: number, to: number) => {
      store.edit((now) => ({ ...now, panels: move(now.panels, from, to) }));
      editing.value = null;
      focus(to);
    },
    copy: (index: number) => {
      store.edit((now) => ({ ...now, panels: [...now.panels.slice(0, index + 1), ...now.panels.slice(index)].slice(0, MOST_PANELS) }));
      focus(index + 1);
    },
    remove: (index: number) => {
      store.edit((now) => ({ ...now, panels: now.panels.filter((_, i) => i !== index) }));
      editing.value = null;
      focus(Math.min(index, panels.length - 2));
    },
    edit: (index: number) => (editing.value = index),
    focus,
  };

  useKeys(say("Workspace"), [
    { on: "a", does: say("add a panel of curves"), run: () => add("line") },
    { on: ["ArrowLeft", "ArrowRight", "ArrowUp", "ArrowDown"], does: say("to the panel beside the one that has the focus; with Shift: move it there") },
    { on: ["w", "W", "h", "H"], does: say("make the panel that has the focus wider, narrower, higher, lower") },
    { on: ["Enter", "e"], does: say("change the panel that has the focus") },
    { on: ["d", "Delete"], does: say("copy, or remove, the panel that has the focus") },
    { on: "Ctrl+z", does: say("take the last change back"), run: () => store.undo() },
    { on: ["Ctrl+y", "Ctrl+Shift+Z", "Ctrl+Z"], does: say("make it again"), run: () => store.redo() },
    { on: "Escape", does: say("close the editor of a panel"), inFields: true, run: () => editing.value !== null && close() },
  ]);
  const close = (): boolean => {
    const index = editing.value;
    editing.value = null;
    if (index !== null) focus(index);
    return true;
  };

  return (
    <>
      <Bar store={store} workspace={workspace} onAdd={add} />
      <div class={edited ? "work edited" : "work"} ref={host}>
        <Grid store={store} workspace={workspace} editing={at} acts={acts} />
        {edited && at !== null && <Editor key={`${at} ${edited.kind}`} store={store} workspace={workspace} panel={edited} onChange={(next) => change(at, () => next, "edit")} onClose={close} />}
      </div>
    </>
  );
}
