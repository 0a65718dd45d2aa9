// What is worked out of a job, set right by hand: by_hand of its document. A field that is empty is not set.
import { useSignal } from "@preact/signals";
import type { ComponentChildren } from "preact";
import { useLayoutEffect, useRef } from "preact/hooks";
import { asProblem, jobPath, send } from "../../../api/client";
import type { JobDoc } from "../../../api/types";
import { say, t } from "../../../i18n/i18n";
import { changesTo, faultOf, settingsOf, trimmed, type Setting } from "../../../lib/jobs/handsettings";
import { fieldTime, timeOf } from "../../../lib/text/fieldtime";
import { formatTime, isUtc, NONE } from "../../../lib/text/format";
import type { JobStore } from "../../../state/job/job";
import { factsOf } from "../../../state/job/jobfacts";
import { Dialog } from "../../../ui/dialog";
import { placeOf, SettingRows, wrongId } from "./byhandsettings";

type ByHand = NonNullable<JobDoc["by_hand"]>;
type Member = Exclude<keyof ByHand, "checkpoints" | "faults" | "restarts" | "settings">; // checkpoints, faults and restarts are set right where they are shown, settings are rows
type Texts = Record<Member, string>;

const FIELDS: readonly { name: Member; label: string; kind: "text" | "whole" | "number" | "time" }[] = [
  { name: "instance_type", label: say("Instance type"), kind: "text" },
  { name: "nodes", label: say("Nodes"), kind: "whole" },
  { name: "price_per_hour", label: say("Price of one node an hour"), kind: "number" },
  { name: "start_ms", label: say("Start of the training"), kind: "time" },
  { name: "end_ms", label: say("End of the training"), kind: "time" },
];
type Field = (typeof FIELDS)[number];

function textOf({ name, kind }: Field, by: ByHand | undefined): string {
  const value = by?.[name];
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
function changesOf(now: Texts, before: Texts, settings: Record<string, string | null> | null): object {
  const touched = FIELDS.filter(({ name }) => now[name] !== before[name]);
  return { ...Object.fromEntries(touched.map((field) => [field.name, valueOf(field, now[field.name])])), ...(settings && { settings }) };
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
      return undefined; // the list of prices has it by type and day
  }
}

/** Why nothing was saved. */
interface Refusal {
  /** The name of the field where it is said; "": below all. */
  field: string;
  text: string;
  /** The server speaks English. */
  isServers: boolean;
}

function refusalOf(error: unknown, rows: readonly Setting[]): Refusal {
  const problem = asProblem(error);
  const [, member = "", name] = /^by_hand\.(\w+)(?:\.(.*))?$/s.exec(String(problem.facts["field"] ?? "")) ?? [];
  // A long name is cut in the server's word.
  const at = name ? rows.findIndex((row) => row.name.startsWith(name)) : -1;
  const field = member !== "settings" ? member : at < 0 ? "" : placeOf(at, "value");
  return { field, text: field ? problem.detail || problem.title : problem.message, isServers: true };
}

export function ByHandDialog({ store, doc, onClose }: { store: JobStore; doc: JobDoc; onClose: () => void }) {
  const before = useSignal(textsOf(doc.by_hand)).value; // as it was when the form was opened
  const texts = useSignal(before);
  const settingsBefore = useSignal(settingsOf(doc.by_hand?.settings)).value;
  const settings = useSignal(settingsBefore);
  const refusal = useSignal<Refusal | null>(null);
  const isBusy = useSignal(false);
  const form = useRef<HTMLFormElement>(null);
  const refused = refusal.value;
  const wrong = refused?.field ?? "";

  useLayoutEffect(() => {
    if (wrong) form.current?.querySelector<HTMLInputElement>(`[name="${wrong}"]`)?.focus();
  }, [refused]);

  const patch = async (by_hand: object | null): Promise<void> => {
    isBusy.value = true;
    refusal.value = null;
    try {
      if (by_hand === null || Object.keys(by_hand).length > 0) {
        await send("PATCH", jobPath(store.name), {}, { by_hand });
        await Promise.all([store.reloadDoc(), factsOf(store).reload()]);
      }
      onClose();
    } catch (error) {
      refusal.value = refusalOf(error, settings.peek());
    } finally {
      isBusy.value = false;
    }
  };
  const save = (): void => {
    const rows = trimmed(settings.peek(), settingsBefore);
    const fault = faultOf(rows);
    if (!fault) return void patch(changesOf(texts.value, before, changesTo(rows, settingsBefore)));
    refusal.value = { field: placeOf(fault.at, fault.part), text: t(fault.text, { name: rows[fault.at]?.name ?? "" }), isServers: false };
  };
  const said = refused && <Wrong refused={refused} />;
  const setRows = (rows: Setting[]): void => {
    settings.value = rows;
    refusal.value = null; // of rows that have moved it would stand at another one
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
          save();
        }}
      >
        <p>{t("Counts before what is stated, logged or in a list: in times, goodput and cost. What is left empty is worked out.")}</p>
        {FIELDS.map((field) => (
          <Row key={field.name} field={field} doc={doc} text={texts.value[field.name]} wasSet={before[field.name] !== ""} wrong={wrong === field.name && said} set={set} />
        ))}
        <SettingRows rows={settings.value} wrong={wrong} said={said} set={setRows} />
        <p class="error" role="alert">
          {!wrong && refused?.text}
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

const Wrong = ({ refused: { field, text, isServers } }: { refused: Refusal }) => (
  <p id={wrongId(field)} class="wrong" lang={isServers ? "en" : undefined}>
    {text}
  </p>
);

const MODES = { text: "text", whole: "numeric", number: "decimal" } as const;

interface RowProps {
  field: Field;
  doc: JobDoc;
  text: string;
  wasSet: boolean;
  wrong: ComponentChildren;
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
    "aria-invalid": !!wrong,
    "aria-describedby": wrong ? `${wrongId(name)} ${hint}` : hint,
    onInput: (event: Event) => set(name, (event.currentTarget as HTMLInputElement).value),
  } as const;
  return (
    <div>
      <label>
        {title}
        {unit && `, ${unit}`}
        {kind === "time" ? <input type="datetime-local" step={1} {...shared} /> : <input inputMode={MODES[kind]} {...shared} />}
      </label>
      {wrong}
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
