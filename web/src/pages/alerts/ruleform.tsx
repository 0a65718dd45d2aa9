import { useSignal, type Signal } from "@preact/signals";
import { useEffect } from "preact/hooks";
import type { PreviewReply, Rule, RuleDraft, Webhook } from "../../api/alerts";
import { asProblem, getJson, send, type Problem } from "../../api/client";
import type { Severity } from "../../api/types";
import { say, t, tn } from "../../i18n/i18n";
import { cutMiddle, formatCount, formatTime, formatValue } from "../../lib/text/format";
import { kindTitle } from "../../lib/chart/marks";
import { bodyOf, draftOf, formatSeconds, parseSeconds } from "../../lib/jobs/ruledraft";
import { KINDS } from "../../lib/jobs/kindsnoticed";
import { jobHref } from "../../lib/url/url";
import { patchQuery } from "../../state/core/router";
import { Delete } from "./delete";
import { mayChange, type Rules } from "./editables";

const SEVERITIES: readonly Severity[] = ["info", "warning", "critical"];
const severities = () => ({ info: t("info"), warning: t("warning"), critical: t("critical") });

export function RuleForm({ rules, rule }: { rules: Rules; rule: Rule | null }) {
  const draft = useSignal<RuleDraft>(draftOf(rule));
  const problem = useSignal<Problem | null>(null);
  const preview = useSignal<PreviewReply | null>(null);
  const isTrying = useSignal(false);
  const set = (patch: Partial<RuleDraft>): void => void (draft.value = { ...draft.value, ...patch });

  const attempt = async (act: () => Promise<void>): Promise<void> => {
    problem.value = null;
    try {
      await act();
    } catch (error) {
      problem.value = asProblem(error);
    }
  };
  const save = (): Promise<void> =>
    attempt(async () => {
      await rules.save(rule?.id ?? null, bodyOf(draft.value));
      patchQuery({ id: undefined });
    });
  const tryIt = (): Promise<void> =>
    attempt(async () => {
      isTrying.value = true;
      preview.value = null;
      try {
        const reply = await send("POST", "rules/preview", {}, { ...bodyOf(draft.value), name: draft.value.name || "preview" });
        preview.value = (await reply.json()) as PreviewReply;
      } finally {
        isTrying.value = false;
      }
    });
  const failed = problem.value;
  return (
    <form
      class="alertdetail ruleform"
      aria-label={rule ? t("Change the rule") : t("A new rule")}
      onSubmit={(event) => {
        event.preventDefault();
        void save();
      }}
    >
      <Fields draft={draft.value} set={set} isDefault={rule?.name === "default"} />
      {failed && (
        <p class="bad" role="alert">
          {failed.title}: {failed.detail}
        </p>
      )}
      <div class="actions">
        {mayChange() && (
          <button type="submit" class="primary" disabled={rules.isSaving.value || draft.value.name.trim() === ""}>
            {t("Save")}
          </button>
        )}
        <button type="button" disabled={isTrying.value} onClick={() => void tryIt()}>
          {t("What would it have told?")}
        </button>
        <button type="button" onClick={() => patchQuery({ id: undefined })}>
          {t("Cancel")}
        </button>
        <span class="grow" />
        {rule && rule.name !== "default" && mayChange() && (
          <Delete
            title={t("Delete the rule {name}?", { name: rule.name })}
            goes={t("What its condition has opened is over then.")}
            onYes={() => attempt(async () => {
              await rules.remove(rule.id);
              patchQuery({ id: undefined });
            })}
          />
        )}
      </div>
      <div role="status">{preview.value && <Preview reply={preview.value} />}</div>
    </form>
  );
}

interface FieldProps {
  draft: RuleDraft;
  set(patch: Partial<RuleDraft>): void;
}

function Fields({ draft, set, isDefault }: FieldProps & { isDefault: boolean }) {
  return (
    <>
      <label>
        {t("Name")}
        <input value={draft.name} required disabled={isDefault} onInput={(event) => set({ name: event.currentTarget.value })} />
      </label>
      <label>
        {t("Of jobs that match (empty: all)")}
        <input class="mono" value={draft.query} placeholder="tag.team=nlp status:running" onInput={(event) => set({ query: event.currentTarget.value })} />
      </label>
      <label>
        {t("A condition of one's own (empty: what detectors notice)")}
        <input class="mono" value={draft.expression} placeholder="tokens_per_second < 0.8 * median(500) for 20 steps" onInput={(event) => set({ expression: event.currentTarget.value })} />
      </label>
      {draft.expression ? (
        <Choice label={t("Its severity")} value={draft.severity} options={SEVERITIES} titles={severities()} onChoose={(severity) => set({ severity })} />
      ) : (
        <>
          <Kinds draft={draft} set={set} />
          <Choice label={t("From this severity on")} value={draft.minimum_severity} options={SEVERITIES} titles={severities()} onChoose={(minimum_severity) => set({ minimum_severity })} />
        </>
      )}
      <Check label={t("Tell webhooks")} isOn={draft.tell} onChange={(tell) => set({ tell })} />
      {draft.tell && <Telling draft={draft} set={set} />}
      <Choice
        label={t("Ask those who send the job for")}
        value={draft.command}
        options={["", "checkpoint", "stop", "checkpoint,stop"]}
        titles={{ "": t("nothing") }}
        onChoose={(command) => set({ command })}
      />
      <Check label={t("The rule is on")} isOn={draft.enabled} onChange={(enabled) => set({ enabled })} />
    </>
  );
}

function Kinds({ draft, set }: FieldProps) {
  const toggle = (kind: string, isOn: boolean): void =>
    set({ kinds: isOn ? [...draft.kinds, kind] : draft.kinds.filter((one) => one !== kind) });
  return (
    <fieldset>
      <legend>{t("Kinds (none: all)")}</legend>
      <div class="checks">
        {KINDS.map((kind) => (
          <Check key={kind} label={kindTitle(kind)} isOn={draft.kinds.includes(kind)} onChange={(isOn) => toggle(kind, isOn)} />
        ))}
      </div>
    </fieldset>
  );
}

function Telling({ draft, set }: FieldProps) {
  return (
    <fieldset>
      <legend>{t("Messages")}</legend>
      <Hearers draft={draft} set={set} />
      <Check label={t("Nobody else: rules made before it do not see what it takes")} isOn={draft.exclusive} onChange={(exclusive) => set({ exclusive })} />
      <Check label={t("Also when it is over")} isOn={draft.recovery} onChange={(recovery) => set({ recovery })} />
      <Time label={t("Once it has been open for")} seconds={draft.persistence_s} onChange={(persistence_s) => set({ persistence_s })} />
      <Time label={t("Then no other of the job for")} seconds={draft.cool_down_s} onChange={(cool_down_s) => set({ cool_down_s })} />
      <Time label={t("Collected into one message for")} seconds={draft.collect_s} onChange={(collect_s) => set({ collect_s })} />
      <QuietHours draft={draft} set={set} />
    </fieldset>
  );
}

function Hearers({ draft, set }: FieldProps) {
  const hooks = useSignal<Webhook[]>([]);
  useEffect(() => {
    // Who may not see webhooks keeps those that the rule names.
    getJson<{ webhooks: Webhook[] }>("webhooks").then((reply) => (hooks.value = reply.webhooks), () => undefined);
  }, []);
  if (hooks.value.length === 0) return null;
  const named = draft.webhooks === "all" ? [] : draft.webhooks;
  const toggle = (id: number, isOn: boolean): void => set({ webhooks: isOn ? [...named, id] : named.filter((one) => one !== id) });
  return (
    <div class="checks" role="group" aria-label={t("To which webhooks")}>
      <Check label={t("every webhook")} isOn={draft.webhooks === "all"} onChange={(isOn) => set({ webhooks: isOn ? "all" : [] })} />
      {draft.webhooks !== "all" &&
        hooks.value.map((hook) => (
          <Check key={hook.id} label={`#${hook.id} ${hook.format} ${hostOf(hook.url)}`} isOn={named.includes(hook.id)} onChange={(isOn) => toggle(hook.id, isOn)} />
        ))}
    </div>
  );
}

export function hostOf(url: string): string {
  try {
    return new URL(url).host;
  } catch {
    return url;
  }
}

const DAYS = [
  ["mon", say("Mon")],
  ["tue", say("Tue")],
  ["wed", say("Wed")],
  ["thu", say("Thu")],
  ["fri", say("Fri")],
  ["sat", say("Sat")],
  ["sun", say("Sun")],
] as const;

function QuietHours({ draft, set }: FieldProps) {
  const { quiet } = draft;
  if (!quiet) {
    const tz = Intl.DateTimeFormat().resolvedOptions().timeZone;
    return <Check label={t("Quiet hours")} isOn={false} onChange={() => set({ quiet: { from: "22:00", to: "07:00", tz, unless: "critical" } })} />;
  }
  const change = (patch: Partial<typeof quiet>): void => set({ quiet: { ...quiet, ...patch } });
  const days = quiet.days ?? [];
  return (
    <>
      <Check label={t("Quiet hours")} isOn onChange={() => set({ quiet: null })} />
      <div class="quiethours">
        <label>
          {t("from")}
          <input type="time" value={quiet.from} required onInput={(event) => change({ from: event.currentTarget.value })} />
        </label>
        <label>
          {t("to")}
          <input type="time" value={quiet.to} required onInput={(event) => change({ to: event.currentTarget.value })} />
        </label>
        <label>
          {t("time zone")}
          <input value={quiet.tz ?? ""} placeholder="Europe/Berlin" onInput={(event) => change({ tz: event.currentTarget.value })} />
        </label>
        <Choice label={t("but for")} value={quiet.unless ?? ""} options={["", "critical"]} titles={{ ...severities(), "": t("nothing") }} onChoose={(unless) => set({ quiet: withUnless(quiet, unless) })} />
        <div class="checks" role="group" aria-label={t("On these days (none: every day)")}>
          {DAYS.map(([day, label]) => (
            <Check key={day} label={t(label)} isOn={days.includes(day)} onChange={(isOn) => change({ days: isOn ? [...days, day] : days.filter((one) => one !== day) })} />
          ))}
        </div>
      </div>
    </>
  );
}

function withUnless(quiet: NonNullable<RuleDraft["quiet"]>, unless: string): NonNullable<RuleDraft["quiet"]> {
  const { unless: _old, ...rest } = quiet;
  return unless === "" ? rest : { ...rest, unless: unless as Severity };
}

export function Check({ label, isOn, onChange }: { label: string; isOn: boolean; onChange(isOn: boolean): void }) {
  return (
    <label class="check">
      <input type="checkbox" checked={isOn} onChange={(event) => onChange(event.currentTarget.checked)} />
      <bdi>{label}</bdi>
    </label>
  );
}

interface ChoiceProps<T extends string> {
  label: string;
  value: T;
  options: readonly T[];
  titles?: Readonly<Record<string, string>>;
  onChoose(value: T): void;
}

export function Choice<T extends string>({ label, value, options, titles = {}, onChoose }: ChoiceProps<T>) {
  return (
    <label>
      {label}
      <select value={value} onChange={(event) => onChoose(event.currentTarget.value as T)}>
        {options.map((one) => (
          <option key={one} value={one}>
            {titles[one] ?? one}
          </option>
        ))}
      </select>
    </label>
  );
}

function Time({ label, seconds, onChange }: { label: string; seconds: number; onChange(seconds: number): void }) {
  const text: Signal<string> = useSignal(formatSeconds(seconds));
  const isWrong = parseSeconds(text.value) === null;
  return (
    <label>
      {label}
      <input
        value={text}
        placeholder="0"
        aria-invalid={isWrong}
        title={isWrong ? t("A time is written as 90 s, 5 min, 2 h or 1 d") : undefined}
        onInput={(event) => {
          text.value = event.currentTarget.value;
          const parsed = parseSeconds(text.value);
          if (parsed !== null) onChange(parsed);
        }}
      />
    </label>
  );
}

const FIRES_SHOWN = 100;

function Preview({ reply }: { reply: PreviewReply }) {
  return (
    <section>
      <h3>{reply.count === 0 ? t("In the last seven days it would have told nothing") : tn(reply.count, "It would have told {n} time in the last seven days", "It would have told {n} times in the last seven days")}</h3>
      {reply.partial && <p class="dim">{t("Time ran out: not all jobs were looked at.")}</p>}
      <ul>
        {reply.fires.slice(0, FIRES_SHOWN).map((fire, i) => (
          <li key={i}>
            <span class="dim">{formatTime(fire.ts_ms)}</span>{" "}
            <a href={jobHref(fire.job)} title={fire.job}>
              <bdi>{cutMiddle(fire.job, 40)}</bdi>
            </a>{" "}
            {kindTitle(fire.kind)} <span class="dim">{[fire.metric, fire.stream].filter(Boolean).join(" · ")}</span> {formatValue(fire.value)}{" "}
            {fire.step !== undefined && <span class="dim">{t("step {n}", { n: formatCount(fire.step) })}</span>}
          </li>
        ))}
      </ul>
    </section>
  );
}
