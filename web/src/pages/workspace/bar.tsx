// What holds for all panels: which jobs, which axis, how much of it; and what becomes of the workspace.
import { useSignal } from "@preact/signals";
import { useEffect, useRef } from "preact/hooks";
import { say, t } from "../../i18n/i18n";
import type { Problem } from "../../api/client";
import { Soon } from "../../lib/flow/poll";
import { download } from "../../lib/jobs/export";
import { buildSearch, type Axis } from "../../lib/url/url";
import { DocumentError, parseWorkspace, type PanelKind, type Workspace } from "../../lib/workspace/document";
import { useKeys } from "../../state/core/keys";
import type { WorkspaceStore } from "../../state/workspace/workspace";
import { Confirm } from "../../ui/confirm";
import { Dialog } from "../../ui/dialog";
import { Popover } from "../../ui/popover";
import { ProblemBox } from "../../ui/problem";
import { zoomed } from "./line";

const TYPING_MS = 300;
const FORGET_MS = 10_000;
export const NAME_MAX = 128;

const AXES: readonly { axis: Axis; name: string; title: string }[] = [
  { axis: "step", name: say("step"), title: say("By step") },
  { axis: "time", name: say("time"), title: say("By the clock") },
  { axis: "relative", name: say("relative"), title: say("By the time since the start") },
  { axis: "rstep", name: say("rel. step"), title: say("By the steps since the first one") },
  { axis: "tokens", name: say("tokens"), title: say("By the tokens that were seen") },
  { axis: "flops", name: "FLOPs", title: say("By the arithmetic that was done: 6 × parameters × tokens") },
];
const HOURS = [1, 6, 12, 24, 72, 168];
const KINDS: readonly { kind: PanelKind; name: string; about: string }[] = [
  { kind: "line", name: say("Curves"), about: say("expressions over jobs, by step or time") },
  { kind: "scatter", name: say("Scatter"), about: say("a point a job: one value by another") },
  { kind: "table", name: say("Table"), about: say("a row a job") },
  { kind: "number", name: say("Number"), about: say("one value of all jobs") },
  { kind: "text", name: say("Text"), about: say("what others should know") },
];

export function saveFile(workspace: Workspace): void {
  const url = URL.createObjectURL(new Blob([`${JSON.stringify(workspace, null, 2)}\n`], { type: "application/json" }));
  download(url, `${(workspace.title ?? "workspace").replace(/[^\w.-]+/g, "-")}.workspace.json`);
  setTimeout(() => URL.revokeObjectURL(url), FORGET_MS);
}

/** The file's workspace, or what is wrong with it. */
export async function readFile(input: HTMLInputElement): Promise<Workspace | string | null> {
  const file = input.files?.[0];
  if (!file) return null;
  try {
    return parseWorkspace(await file.text());
  } catch (error) {
    if (error instanceof DocumentError) return error.message;
    throw error;
  } finally {
    input.value = "";
  }
}

interface Props {
  store: WorkspaceStore;
  workspace: Workspace;
  onAdd(kind: PanelKind): void;
}

export function Bar({ store, workspace, onAdd }: Props) {
  const { title = "", query = "", x = "step", ranges, last_hours: hours, smooth = 0 } = workspace;
  const isNaming = useSignal(false);
  const problem = useSignal<Problem | null>(null);
  const saved = store.saved.value;
  const isChanged = store.isChanged.value;
  const set = (patch: Partial<Workspace>, kind = ""): void => store.edit((now) => clean({ ...now, ...patch }), kind);
  const save = async (isForced = false): Promise<void> => {
    if (store.fault.peek() !== null) return;
    if (!saved) isNaming.value = true;
    else problem.value = await store.save(saved.name, isForced);
  };
  useKeys(say("Workspace"), [{ on: ["Ctrl+s"], does: say("save for the team"), inFields: true, run: () => void save() }]);
  return (
    <div class="wsbar">
      <div class="viewhead">
        <h1>
          <span class="hidden">{t("Workspace")}: </span>
          <Field class="name" label={t("Title")} value={title} placeholder={t("Workspace")} onChange={(text) => set({ title: text }, "title")} />
        </h1>
        <Field class="which" label={t("Which jobs, as a query")} value={query} placeholder={t("Which jobs, as a query")} onChange={(text) => set({ query: text }, "query")} />
        <span class="state" role="status">
          {store.fault.value !== null ? t("cannot be kept as it is") : saved ? (isChanged ? t("changed since it was saved") : t("saved")) : t("not saved; the address holds it")}
        </span>
        <button type="button" class="primary" disabled={(saved !== null && !isChanged) || store.fault.value !== null} onClick={() => void save()}>
          {saved ? t("Save") : t("Save…")}
        </button>
        <button type="button" popovertarget="wsadd">
          + {t("Panel")} ▾
        </button>
        <button type="button" class="quiet" popovertarget="wsmore" aria-label={t("More")}>
          ⋯
        </button>
      </div>
      <div class="toolbar" role="toolbar" aria-label={t("All panels")}>
        <div class="segments" role="group" aria-label={t("Horizontal axis")}>
          {AXES.map(({ axis, name, title: about }) => (
            <button key={axis} type="button" title={t(about)} aria-pressed={x === axis} onClick={() => set({ x: axis })}>
              {t(name)}
            </button>
          ))}
        </div>
        {x === "time" && (
          <label>
            <span class="hidden">{t("Of the clock")}</span>
            <select value={hours ?? ""} onChange={(event) => store.edit((now) => withHours(zoomed(now, null), Number(event.currentTarget.value)))}>
              <option value="">{t("all of it")}</option>
              {[...new Set([...HOURS, ...(hours === undefined ? [] : [hours])])].sort((a, b) => a - b).map((one) => (
                <option key={one} value={one}>
                  {one < 48 ? t("the last {n} h", { n: one }) : t("the last {n} d", { n: Number((one / 24).toFixed(2)) })}
                </option>
              ))}
            </select>
          </label>
        )}
        {(x === "step" || x === "rstep") && <Range store={store} workspace={workspace} />}
        <label class="smooth">
          {t("smooth")}
          <input type="range" min="0" max="0.99" step="0.01" value={smooth} onInput={(event) => set({ smooth: Number(event.currentTarget.value) || undefined } as Partial<Workspace>, "smooth")} />
          <output>{smooth.toFixed(2).replace(/^0/, "")}</output>
        </label>
        <button type="button" class={ranges?.[x] ? "" : "gone"} onClick={() => store.edit((now) => zoomed(now, null))}>
          {t("reset zoom")}
        </button>
        <span class="grow" />
        <button type="button" class="quiet" disabled={!store.canUndo.value} title="Ctrl+Z" onClick={() => store.undo()}>
          {t("Undo")}
        </button>
        <button type="button" class="quiet" disabled={!store.canRedo.value} title="Ctrl+Y" onClick={() => store.redo()}>
          {t("Redo")}
        </button>
        <a href={`/wall${buildSearch({}, { q: query })}`}>
          {t("All metrics")}
        </a>
      </div>
      {problem.value && problem.value.status !== 412 && <ProblemBox problem={problem.value} onRetry={() => void save()} />}
      {store.fault.value !== null && (
        <p class="wrong" role="alert" lang="en">
          {store.fault.value}
        </p>
      )}
      {store.overtaken.value === "saved" && <Overtaken store={store} onForce={() => void save(true)} onName={() => (isNaming.value = true)} />}
      {store.overtaken.value === "deleted" && <Deleted onAgain={() => void store.saveAgain().then((trouble) => (problem.value = trouble))} onName={() => (isNaming.value = true)} />}
      <Popover id="wsadd" title={t("Add a panel")} class="wsmenu">
        {(close) => (
          <ul>
            {KINDS.map(({ kind, name, about }) => (
              <li key={kind}>
                <button type="button" onClick={() => (close(), onAdd(kind))}>
                  {t(name)} <span class="dim">{t(about)}</span>
                </button>
              </li>
            ))}
          </ul>
        )}
      </Popover>
      <More store={store} workspace={workspace} onName={() => (isNaming.value = true)} />
      {isNaming.value && <Naming store={store} title={title} onClose={() => (isNaming.value = false)} />}
    </div>
  );
}

/** Without what is as it is anyway. */
function clean(workspace: Workspace): Workspace {
  const next: Record<string, unknown> = { ...workspace };
  for (const [key, value] of Object.entries(next)) if (value === undefined || value === "") delete next[key];
  return next as unknown as Workspace;
}

/** 0: all that there is. */
function withHours({ last_hours: _, ...workspace }: Workspace, hours: number): Workspace {
  return hours > 0 ? { ...workspace, last_hours: hours } : workspace;
}

interface FieldProps {
  class: string;
  label: string;
  value: string;
  placeholder: string;
  onChange(text: string): void;
}

/** Tells what was typed once the hand rests, or leaves, or saves. */
function Field({ class: className, label, value, placeholder, onChange }: FieldProps) {
  const last = useRef(onChange);
  last.current = onChange;
  const typed = useRef(value);
  const soon = useRef<Soon | null>(null);
  useEffect(() => () => soon.current?.stop(), []);
  const tell = (): void => {
    soon.current?.stop();
    last.current(typed.current);
  };
  return (
    <input
      type="text"
      class={className}
      aria-label={label}
      placeholder={placeholder}
      autocomplete="off"
      spellcheck={false}
      value={value}
      onInput={(event) => {
        typed.current = event.currentTarget.value;
        soon.current?.stop();
        soon.current = new Soon(TYPING_MS, () => last.current(typed.current));
        soon.current.ask();
      }}
      onKeyDown={(event) => (event.key === "Enter" || (event.ctrlKey && event.key === "s")) && ((typed.current = event.currentTarget.value), tell())}
      onChange={(event) => ((typed.current = event.currentTarget.value), tell())}
    />
  );
}

function Range({ store, workspace }: { store: WorkspaceStore; workspace: Workspace }) {
  const [from, to] = workspace.ranges?.[workspace.x ?? "step"] ?? [];
  const set = (low: string, high: string): void => {
    const [a, b] = [Number(low), Number(high)];
    const isRange = low.trim() !== "" && high.trim() !== "" && Number.isFinite(a) && Number.isFinite(b) && a < b;
    if (isRange || (low.trim() === "" && high.trim() === "")) store.edit((now) => zoomed(now, isRange ? [a, b] : null));
  };
  const low = useRef<HTMLInputElement>(null);
  const high = useRef<HTMLInputElement>(null);
  const tell = (): void => set(low.current?.value ?? "", high.current?.value ?? "");
  return (
    <span class="xrange">
      <input ref={low} type="text" inputmode="numeric" aria-label={t("From step")} placeholder={t("from")} value={from ?? ""} onChange={tell} />
      –
      <input ref={high} type="text" inputmode="numeric" aria-label={t("To step")} placeholder={t("to")} value={to ?? ""} onChange={tell} />
    </span>
  );
}

function Deleted({ onAgain, onName }: { onAgain(): void; onName(): void }) {
  return (
    <div class="problem" role="alert">
      <span class="glyph" aria-hidden="true">
        ✕
      </span>
      <div>
        <strong>{t("Somebody else has deleted it since you opened it")}</strong>
        <p>{t("Yours is still here, and can be saved as a new one.")}</p>
      </div>
      <button type="button" onClick={onAgain}>
        {t("Save as new")}
      </button>
      <button type="button" onClick={onName}>
        {t("Save as…")}
      </button>
    </div>
  );
}

function Overtaken({ store, onForce, onName }: { store: WorkspaceStore; onForce(): void; onName(): void }) {
  return (
    <div class="problem" role="alert">
      <span class="glyph" aria-hidden="true">
        ✕
      </span>
      <div>
        <strong>{t("Somebody else has saved it since you opened it")}</strong>
        <p>{t("Yours is still here. Take theirs (Undo brings yours back), write yours over it, or save yours under another name.")}</p>
      </div>
      <button type="button" onClick={() => void store.loadTheirs()}>
        {t("Take theirs")}
      </button>
      <button type="button" onClick={onForce}>
        {t("Write over it")}
      </button>
      <button type="button" onClick={onName}>
        {t("Save as…")}
      </button>
    </div>
  );
}

function More({ store, workspace, onName }: { store: WorkspaceStore; workspace: Workspace; onName(): void }) {
  const isAsking = useSignal(false);
  const problem = useSignal<Problem | null>(null);
  const fault = useSignal<string | null>(null);
  const isCopied = useSignal(false);
  const saved = store.saved.value;
  const remove = async (): Promise<void> => void (problem.value = await store.remove());
  const read = async (input: HTMLInputElement, close: () => void): Promise<void> => {
    const found = await readFile(input);
    fault.value = typeof found === "string" ? found : null;
    if (found === null || typeof found === "string") return;
    store.take(found);
    close();
  };
  return (
    <>
      <Popover id="wsmore" title={t("Workspace")} class="wsmenu">
        {(close) => (
          <ul>
            <li>
              <button type="button" onClick={() => (close(), onName())}>
                {t("Save as…")}
              </button>
            </li>
            <li>
              <button type="button" onClick={() => void navigator.clipboard.writeText(location.href).then(() => (isCopied.value = true))}>
                {isCopied.value ? t("Copied") : t("Copy the address")}
              </button>
            </li>
            <li>
              <button type="button" onClick={() => (close(), saveFile(workspace))}>
                {t("Export as JSON")}
              </button>
            </li>
            <li>
              <label class="button">
                {t("Import JSON…")}
                <input type="file" accept="application/json,.json" class="hidden" onChange={(event) => void read(event.currentTarget, close)} />
              </label>
              {fault.value !== null && (
                <p class="wrong" role="alert" lang="en">
                  {fault.value}
                </p>
              )}
            </li>
            <li>
              <a class="button" href="/workspace" onClick={close}>
                {t("Other workspaces")}
              </a>
            </li>
            {saved && (
              <li>
                <button type="button" class="danger" onClick={() => (close(), (isAsking.value = true))}>
                  {t("Delete…")}
                </button>
              </li>
            )}
          </ul>
        )}
      </Popover>
      {problem.value && problem.value.status !== 412 && <ProblemBox problem={problem.value} onRetry={() => void remove()} />}
      {isAsking.value && saved && (
        <Confirm title={t("Delete “{name}”?", { name: saved.name })} action={t("Delete")} onYes={() => void remove()} onClose={() => (isAsking.value = false)}>
          <p>{t("It goes for the whole team. What is shown here stays in this page and its address, and can be saved again.")}</p>
        </Confirm>
      )}
    </>
  );
}

function Naming({ store, title, onClose }: { store: WorkspaceStore; title: string; onClose(): void }) {
  const problem = useSignal<Problem | null>(null);
  const save = async (event: SubmitEvent): Promise<void> => {
    event.preventDefault();
    const name = new FormData(event.currentTarget as HTMLFormElement).get("name");
    problem.value = await store.save(String(name).trim());
    if (problem.value === null) onClose();
  };
  return (
    <Dialog title={t("Save for the team")} onClose={onClose}>
      <form class="naming" onSubmit={(event) => void save(event)}>
        <label>
          {t("Name")} <input type="text" name="name" required maxLength={NAME_MAX} defaultValue={store.saved.value?.name ?? title} autocomplete="off" autofocus />
        </label>
        {problem.value && (
          <p class="wrong" role="alert">
            {problem.value.status === 412 ? t("There is a workspace of this name already. Choose another one.") : problem.value.detail || problem.value.title}
          </p>
        )}
        <p class="actions">
          <button type="button" onClick={onClose}>
            {t("Cancel")}
          </button>
          <button type="submit" class="primary">
            {t("Save")}
          </button>
        </p>
      </form>
    </Dialog>
  );
}
