// What is worked out of a job, set right by hand: by_hand of its document. A field that is empty is not set.
import { useSignal } from "@preact/signals";
import { useLayoutEffect, useRef } from "preact/hooks";
import { asProblem, jobPath, send, type Problem } from "../../../api/client";
import type { JobDoc } from "../../../api/types";
import { say, t } from "../../../i18n/i18n";
import { fieldTime, timeOf } from "../../../lib/text/fieldtime";
import { formatTime, isUtc, NONE } from "../../../lib/text/format";
import type { JobStore } from "../../../state/job/job";
import { factsOf } from "../../../state/job/jobfacts";
import { Dialog } from "../../../ui/dialog";

type ByHand = NonNullable<JobDoc["by_hand"]>;
type Member = Exclude<keyof ByHand, "faults" | "restarts">; // these are set right where they are shown
type Texts = Record<Member, string>;

const FIELDS: readonly { name: Member; label: string; kind: "text" | "whole" | "number" | "time" | "pairs" }[] = [
  { name: "instance_type", label: say("Instance type"), kind: "text" },
  { name: "nodes", label: say("Nodes"), kind: "whole" },
  { name: "price_per_hour", label: say("Price of one node an hour"), kind: "number" },
  { name: "start_ms", label: say("Start of the training"), kind: "time" },
  { name: "end_ms", label: say("End of the training"), kind: "time" },
  { name: "settings", label: say("Settings, as name=value; …"), kind: "pairs" },
];
type Field = (typeof FIELDS)[number];

/** "a=1; b=2" */
const pairsOf = (text: string): [string, string][] =>
  text.split(";").flatMap((pair) => {
    const [name = "", ...value] = pair.split("=");
    return name.trim() === "" ? [] : [[name.trim(), value.join("=").trim()]];
  });

function textOf({ name, kind }: Field, by: ByHand | undefined): string {
  const value = by?.[name];
  if (typeof value === "object") return Object.entries(value).map((pair) => pair.join("=")).join("; ");
  return value === undefined ? "" : kind === "time" ? fieldTime(Number(value)) : String(value);
}

const textsOf = (by: ByHand | undefined): Texts => Object.fromEntries(FIELDS.map((field) => [field.name, textOf(field, by)])) as Texts;

/** What is no number goes to the server as it is: the server says what it wants. */
function valueOf({ kind }: Field, text: string): string | number | null {
  if (text.trim() === "") return null;
  if (kind === "text") return text.trim();
  const number = kind === "time" ? timeOf(text) : Number(text);
  return Number.isFinite(number) ? number : text;
}

/** Only what was touched, so that what somebody else sets meanwhile stays. */
function changesOf(now: Texts, before: Texts): object {
  const touched = FIELDS.filter(({ name }) => now[name] !== before[name]);
  const gone = pairsOf(before.settings).map(([name]) => [name, null]);
  return Object.fromEntries(touched.map((field) => [field.name, field.kind === "pairs" ? Object.fromEntries([...gone, ...pairsOf(now.settings)]) : valueOf(field, now[field.name])]));
}

/** What holds while the field is empty, as far as the job's document tells. */
function worked(name: Member, doc: JobDoc): string | undefined {
  switch (name) {
    case "instance_type":
      return doc.ResourceConfig?.InstanceType;
    case "nodes":
      return doc.nodes?.toString();
    case "start_ms":
      return doc.TrainingStartTime === undefined ? undefined : formatTime(doc.TrainingStartTime * 1000);
    case "end_ms":
      return doc.TrainingEndTime === undefined ? undefined : formatTime(doc.TrainingEndTime * 1000);
    case "price_per_hour":
    case "settings":
      return undefined; // the list of prices has it by type and day; settings are many
  }
}

export function ByHandDialog({ store, doc, onClose }: { store: JobStore; doc: JobDoc; onClose: () => void }) {
  const before = useSignal(textsOf(doc.by_hand)).value; // as it was when the form was opened
  const texts = useSignal(before);
  const problem = useSignal<Problem | null>(null);
  const isBusy = useSignal(false);
  const form = useRef<HTMLFormElement>(null);
  const failed = problem.value;
  const [, wrong] = /^by_hand\.(\w+)/.exec(String(failed?.facts["field"] ?? "")) ?? [];

  useLayoutEffect(() => {
    if (wrong) form.current?.querySelector<HTMLInputElement>(`[name="${wrong}"]`)?.focus();
  }, [failed, wrong]);

  const patch = async (by_hand: object | null): Promise<void> => {
    isBusy.value = true;
    problem.value = null;
    try {
      if (by_hand === null || Object.keys(by_hand).length > 0) {
        await send("PATCH", jobPath(store.name), {}, { by_hand });
        await Promise.all([store.reloadDoc(), factsOf(store).reload()]);
      }
      onClose();
    } catch (error) {
      problem.value = asProblem(error);
    } finally {
      isBusy.value = false;
    }
  };
  const set = (name: Member, text: string): void => {
    texts.value = { ...texts.value, [name]: text };
  };
  return (
    <Dialog title={t("Set right by hand")} closesOutside onClose={onClose}>
      <form
        ref={form}
        class="byhand"
        onSubmit={(event) => {
          event.preventDefault();
          void patch(changesOf(texts.value, before));
        }}
      >
        <p>{t("Counts before what is stated, logged or in a list: in times, goodput and cost. What is left empty is worked out.")}</p>
        {FIELDS.map((field) => (
          <Row key={field.name} field={field} doc={doc} text={texts.value[field.name]} wasSet={before[field.name] !== ""} wrong={wrong === field.name ? failed : null} set={set} />
        ))}
        <p class="error" role="alert">
          {failed && !wrong && failed.message}
        </p>
        <div class="actions">
          {doc.by_hand && (
            <button type="button" class="all" disabled={isBusy.value} onClick={() => void patch(null)}>
              {t("Take all of it back")}
            </button>
          )}
          <button type="button" onClick={onClose}>
            {t("Leave as it is")}
          </button>
          <button type="submit" class="primary" disabled={isBusy.value}>
            {t("Save the changes")}
          </button>
        </div>
      </form>
    </Dialog>
  );
}

const MODES = { text: "text", pairs: "text", whole: "numeric", number: "decimal" } as const;

interface RowProps {
  field: Field;
  doc: JobDoc;
  text: string;
  wasSet: boolean;
  wrong: Problem | null;
  set(name: Member, text: string): void;
}

function Row({ field: { name, label, kind }, doc, text, wasSet, wrong, set }: RowProps) {
  const input = useRef<HTMLInputElement>(null);
  const title = t(label);
  const unit = kind === "time" ? (isUtc.value ? "UTC" : t("local time")) : kind === "number" ? doc.currency : undefined;
  const hint = `byhand-${name}`;
  const shared = {
    ref: input,
    name,
    value: text,
    autocomplete: "off",
    "aria-invalid": wrong !== null,
    "aria-describedby": wrong ? `${hint}-wrong ${hint}` : hint,
    onInput: (event: Event) => set(name, (event.currentTarget as HTMLInputElement).value),
  } as const;
  return (
    <div>
      <label>
        {title}
        {unit && `, ${unit}`}
        {kind === "time" ? <input type="datetime-local" step={1} {...shared} /> : <input inputMode={MODES[kind]} {...shared} />}
      </label>
      {wrong && (
        <p id={`${hint}-wrong`} class="wrong" lang="en">
          {wrong.detail || wrong.title}
        </p>
      )}
      <p class="hint">
        <span id={hint}>{text !== "" ? wasSet ? <b>{t("set by hand")}</b> : t("not saved yet") : wasSet ? t("will be worked out again") : t("now: {value}", { value: worked(name, doc) ?? NONE })}</span>
        {wasSet && text !== "" && (
          <button
            type="button"
            class="quiet"
            aria-label={t("Take it back: {what}", { what: title })}
            onClick={() => {
              set(name, "");
              input.current?.focus();
            }}
          >
            {t("Take it back")}
          </button>
        )}
      </p>
    </div>
  );
}
