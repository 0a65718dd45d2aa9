// What a panel is made of, beside it while it follows.
import type { ComponentChildren } from "preact";
import { useEffect, useMemo, useRef } from "preact/hooks";
import { say, t } from "../../i18n/i18n";
import { COLUMNS, HUES, LEAST_WIDTH, MOST_EXPRESSIONS, MOST_HEIGHT, MOST_JOBS, type Fold, type Hue, type LinePanel, type Panel, type Workspace } from "../../lib/workspace/document";
import { FUNCTION_NAMES } from "../../lib/workspace/expression";
import type { WorkspaceStore } from "../../state/workspace/workspace";
import { FOLDS } from "./bodies";
import { titleOf } from "./grid";
import { readPanel, runsOf, USUAL_MOST } from "./line";
import { useRuns } from "./useruns";

interface Props {
  store: WorkspaceStore;
  workspace: Workspace;
  panel: Panel;
  onChange(next: Panel): void;
  onClose(): void;
}

/** Without what is empty and may be absent. */
function patched(panel: Panel, patch: Record<string, unknown>): Panel {
  const next: Record<string, unknown> = { ...panel, ...patch };
  for (const [key, value] of Object.entries(next)) if (value === undefined) delete next[key];
  return next as unknown as Panel;
}

export function Editor({ store, workspace, panel, onChange, onClose }: Props) {
  const host = useRef<HTMLElement>(null);
  useEffect(() => host.current?.querySelector<HTMLElement>("textarea, input")?.focus(), []);
  const set = (patch: Record<string, unknown>): void => onChange(patched(panel, patch));
  return (
    <aside class="wseditor" ref={host} aria-label={t("Change {title}", { title: titleOf(panel) })}>
      <header>
        <h2>{t("Panel")}</h2>
        <button type="button" class="quiet" aria-label={t("Close")} title="Esc" onClick={onClose}>
          ✕
        </button>
      </header>
      <Own panel={panel} set={set} />
      <Labelled title={t("Title")}>
        <input type="text" maxLength={60} value={panel.title ?? ""} onInput={(event) => set({ title: event.currentTarget.value || undefined })} />
      </Labelled>
      {panel.kind !== "text" && (
        <Labelled title={t("Which jobs, as a query")} hint={t("Empty: those of the workspace")}>
          <input type="text" class="mono" spellcheck={false} placeholder={workspace.query ?? t("all jobs")} value={panel.query ?? ""} onInput={(event) => set({ query: event.currentTarget.value || undefined })} />
        </Labelled>
      )}
      <div class="pair">
        <Whole title={t("Width, of {n}", { n: COLUMNS })} least={LEAST_WIDTH} most={COLUMNS} value={panel.width} onChange={(width) => set({ width })} />
        <Whole title={t("Height")} least={1} most={MOST_HEIGHT} value={panel.height} onChange={(height) => set({ height })} />
      </div>
      {panel.kind === "line" && <Colors store={store} workspace={workspace} panel={panel} set={set} />}
    </aside>
  );
}

interface OwnProps {
  panel: Panel;
  set(patch: Record<string, unknown>): void;
}

function Own({ panel, set }: OwnProps) {
  if (panel.kind === "line")
    return (
      <>
        <Labelled title={t("Expressions, one a line")} hint={t("A metric or role, numbers, + - * / and {functions}. In a quoted name * stands for anything: \"gpu/*/util\".", { functions: FUNCTION_NAMES.join(", ") })}>
          <textarea
            class="mono"
            rows={4}
            spellcheck={false}
            value={panel.expressions.join("\n")}
            onInput={(event) => set({ expressions: event.currentTarget.value.split("\n").slice(0, MOST_EXPRESSIONS) })}
          />
        </Labelled>
        <div class="pair">
          <Choose title={t("A curve for each")} value={panel.each ?? "job"} all={{ job: t("job"), stream: t("stream of a job") }} onChange={(each) => set({ each: each === "job" ? undefined : each })} />
          <Choose title={t("Vertical axis")} value={panel.scale ?? "linear"} all={SCALES()} onChange={(scale) => set({ scale: scale === "log" ? scale : undefined })} />
        </div>
        <Whole title={t("Jobs at most")} least={1} most={MOST_JOBS} value={panel.most ?? USUAL_MOST} onChange={(most) => set({ most: most === USUAL_MOST ? undefined : most })} />
      </>
    );
  if (panel.kind === "scatter")
    return (
      <>
        <Expression title={t("Across")} value={panel.x} onChange={(x) => set({ x })} />
        <Expression title={t("Up")} value={panel.y} onChange={(y) => set({ y })} />
        <Expression title={t("Colour by the setting")} value={panel.color ?? ""} onChange={(color) => set({ color: color || undefined })} />
        <div class="pair">
          <Choose title={t("Horizontal axis")} value={panel.xscale ?? "linear"} all={SCALES()} onChange={(xscale) => set({ xscale: xscale === "log" ? xscale : undefined })} />
          <Choose title={t("Vertical axis")} value={panel.scale ?? "linear"} all={SCALES()} onChange={(scale) => set({ scale: scale === "log" ? scale : undefined })} />
        </div>
      </>
    );
  if (panel.kind === "table")
    return (
      <>
        <Labelled title={t("Columns, one a line")} hint={t("Names of searches, as name, hp.lr or loss.best, or expressions of them.")}>
          <textarea class="mono" rows={6} spellcheck={false} value={panel.columns.join("\n")} onInput={(event) => set({ columns: event.currentTarget.value.split("\n").slice(0, 40) })} />
        </Labelled>
        <Expression title={t("Sorted by")} value={panel.sort ?? ""} onChange={(sort) => set({ sort: sort || undefined })} />
      </>
    );
  if (panel.kind === "number")
    return (
      <>
        <Expression title={t("Expression")} value={panel.expression} onChange={(expression) => set({ expression })} />
        <Choose title={t("Of all jobs")} value={panel.fold ?? "min"} all={FOLDS()} onChange={(fold) => set({ fold: fold as Fold })} />
      </>
    );
  return (
    <Labelled title={t("Text")} hint={t("“# ” begins a heading, “- ” an entry of a list; an empty line separates paragraphs.")}>
      <textarea rows={10} value={panel.text} onInput={(event) => set({ text: event.currentTarget.value })} />
    </Labelled>
  );
}

const HUE_TITLES: Readonly<Record<Hue, string>> = { blue: say("blue"), orange: say("orange"), green: say("green"), pink: say("pink"), violet: say("violet"), amber: say("amber"), olive: say("olive"), grey: say("grey") };

/** Which hue each job has, and each expression where there are several: by its name, or as somebody chose. */
function Colors({ store, workspace, panel, set }: { store: WorkspaceStore; workspace: Workspace; panel: LinePanel; set: OwnProps["set"] }) {
  const { read } = useMemo(() => readPanel(panel.expressions), [panel.expressions.join("\n")]);
  const rows = useRuns(store, runsOf(workspace, panel, read))?.rows.value ?? [];
  const colors = new Map(Object.entries(panel.colors ?? {}));
  const names = new Set([...rows.map((row) => row.TrainingJobName), ...(read.length > 1 ? read.map((one) => one.text) : []), ...colors.keys()]);
  const choose = (name: string, hue: string): void => {
    const next = new Map(colors);
    if (hue) next.set(name, hue as Hue);
    else next.delete(name);
    set({ colors: next.size > 0 ? Object.fromEntries(next) : undefined });
  };
  return (
    <details class="hues">
      <summary>{t("Colours")}</summary>
      {[...names].map((name) => (
        <label key={name}>
          <bdi>{name}</bdi>
          <select value={colors.get(name) ?? ""} style={colors.has(name) ? { border: `2px solid var(--series-${HUES.indexOf(colors.get(name) as Hue)})` } : undefined} onChange={(event) => choose(name, event.currentTarget.value)}>
            <option value="">{t("by its name")}</option>
            {HUES.map((hue) => (
              <option key={hue} value={hue}>
                {t(HUE_TITLES[hue])}
              </option>
            ))}
          </select>
        </label>
      ))}
    </details>
  );
}

const SCALES = () => ({ linear: t("linear"), log: t("logarithmic") });

function Labelled({ title, hint, children }: { title: string; hint?: string; children: ComponentChildren }) {
  return (
    <div>
      <label>
        <span>{title}</span>
        {children}
      </label>
      {hint && <small class="dim">{hint}</small>}
    </div>
  );
}

const Expression = ({ title, value, onChange }: { title: string; value: string; onChange(text: string): void }) => (
  <Labelled title={title}>
    <input type="text" class="mono" spellcheck={false} autocomplete="off" value={value} onInput={(event) => onChange(event.currentTarget.value)} />
  </Labelled>
);

function Choose<T extends string>({ title, value, all, onChange }: { title: string; value: T; all: Readonly<Record<T, string>>; onChange(value: T): void }) {
  return (
    <Labelled title={title}>
      <select value={value} onChange={(event) => onChange(event.currentTarget.value as T)}>
        {(Object.keys(all) as T[]).map((key) => (
          <option key={key} value={key}>
            {all[key]}
          </option>
        ))}
      </select>
    </Labelled>
  );
}

function Whole({ title, least, most, value, onChange }: { title: string; least: number; most: number; value: number; onChange(value: number): void }) {
  return (
    <Labelled title={title}>
      <input
        type="number"
        min={least}
        max={most}
        value={value}
        onInput={(event) => {
          const number = event.currentTarget.valueAsNumber;
          if (Number.isInteger(number) && number >= least && number <= most) onChange(number);
        }}
      />
    </Labelled>
  );
}
