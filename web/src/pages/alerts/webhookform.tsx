import { useSignal } from "@preact/signals";
import type { Webhook, WebhookDraft, WebhookPreview } from "../../api/alerts";
import { asProblem, type Problem } from "../../api/client";
import type { Severity } from "../../api/types";
import { t } from "../../i18n/i18n";
import { patchQuery } from "../../state/core/router";
import { FORMAT_NAMES } from "../../lib/jobs/sent";
import { Delete } from "./delete";
import { MessagePreview, usePreview } from "./messagepreview";
import { Check, Choice, hostOf } from "./ruleform";
import type { Webhooks } from "./editables";
import { useTeams } from "./teams";

const FORMATS = ["", "json", "cloudevents", "slack", "discord", "teams", "pagerduty", "feishu", "dingtalk", "wecom"] as const;

const NEW: WebhookDraft = {
  url: "",
  format: "",
  minimum_severity: "warning",
  events: ["incident"],
  per_minute: 60,
  heartbeat_s: 0,
  report_at: "",
  report_tz: "",
  team: "",
  enabled: true,
};

function draftOf(hook: Webhook | null): WebhookDraft {
  if (!hook) return NEW;
  const { id: _id, has_secret: _has, created_ms: _created, next_report_ms: _next, ...draft } = hook;
  return draft;
}

/** What the server chooses where nothing is said is not said: chats take fewer a minute, and an address may tell its format. */
function bodyOf(draft: WebhookDraft, hook: Webhook | null): Partial<WebhookDraft> {
  const { secret, per_minute, format, ...rest } = draft;
  const isChosen = format !== "" && format !== hook?.format;
  const noReport = format === "pagerduty" ? { report_at: "" } : {}; // it takes none, and the form does not show it
  return { ...rest, ...noReport, ...(isChosen ? { format } : {}), ...(secret ? { secret } : {}), ...(hook ? { per_minute } : {}) };
}

interface Props {
  hooks: Webhooks;
  hook: Webhook | null;
  onSecret(text: string): void;
}

export function WebhookForm({ hooks, hook, onSecret }: Props) {
  const draft = useSignal(draftOf(hook));
  const problem = useSignal<Problem | null>(null);
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
      const said = await hooks.save(hook?.id ?? null, bodyOf(draft.value, hook) as WebhookDraft);
      if (typeof said["secret"] === "string") onSecret(said["secret"]);
      if (!hook) patchQuery({ id: said["id"] === undefined ? undefined : String(said["id"]) });
    });
  const failed = problem.value;
  const preview = usePreview(bodyOf(draft.value, hook), draft.value.url);
  return (
    <form
      class="ruleform"
      aria-label={hook ? t("Change the webhook") : t("A new webhook")}
      onSubmit={(event) => {
        event.preventDefault();
        void save();
      }}
    >
      <Fields draft={draft.value} hook={hook} preview={preview} set={(patch) => (draft.value = { ...draft.value, ...patch })} />
      {preview && <MessagePreview preview={preview} />}
      {failed && (
        <p class="bad" role="alert">
          {failed.title}: {failed.detail}
        </p>
      )}
      <div class="actions">
        <button type="submit" class="primary" disabled={hooks.isSaving.value}>
          {t("Save")}
        </button>
        <button type="button" onClick={() => patchQuery({ id: undefined })}>
          {t("Cancel")}
        </button>
        <span class="grow" />
        {hook && (
          <Delete
            title={t("Delete the webhook to {host}?", { host: hostOf(hook.url) })}
            goes={t("What waits for it is not sent.")}
            onYes={() =>
              attempt(async () => {
                await hooks.remove(hook.id);
                patchQuery({ id: undefined });
              })
            }
          />
        )}
      </div>
    </form>
  );
}

/** As the server's: a document is for programs that check who sent it. */
const isSigned = (format: string): boolean => format === "" || format === "json" || format === "cloudevents";

interface FieldProps {
  draft: WebhookDraft;
  hook: Webhook | null;
  preview: WebhookPreview | null;
  set(patch: Partial<WebhookDraft>): void;
}

function Fields({ draft, hook, preview, set }: FieldProps) {
  const teams = useTeams();
  const known = preview?.is_known_address ? t("automatic: {receiver}", { receiver: FORMAT_NAMES[preview.format] ?? preview.format }) : t("automatic");
  const toggle = (event: string, isOn: boolean): void =>
    set({ events: isOn ? [...draft.events, event] : draft.events.filter((one) => one !== event) });
  return (
    <>
      <label>
        {t("Address")}
        <input type="url" required class="mono" value={draft.url} placeholder="https://hooks.slack.com/services/…" onInput={(event) => set({ url: event.currentTarget.value })} />
      </label>
      <Choice label={t("Format")} value={draft.format} options={FORMATS.filter((one) => one !== "" || !hook)} titles={{ ...FORMAT_NAMES, "": known }} onChoose={(format) => set({ format })} />
      <label>
        {t("Secret")}
        <input
          type="password"
          autocomplete="off"
          value={draft.secret ?? ""}
          placeholder={hook?.has_secret ? t("as it is") : preview?.format === "pagerduty" ? t("the integration's routing key") : t("made by the server")}
          onInput={(event) => set({ secret: event.currentTarget.value })}
        />
      </label>
      <Choice
        label={t("From this severity on")}
        value={draft.minimum_severity}
        options={["info", "warning", "critical"] satisfies Severity[]}
        onChoose={(minimum_severity) => set({ minimum_severity })}
      />
      <label>
        {t("Only this team (empty: every team)")}
        <input type="text" list="webhook-teams" value={draft.team} onInput={(event) => set({ team: event.currentTarget.value })} />
        <datalist id="webhook-teams">
          {teams.map((team) => (
            <option key={team} value={team} />
          ))}
        </datalist>
      </label>
      <Check label={t("Incidents")} isOn={draft.events.includes("incident")} onChange={(isOn) => toggle("incident", isOn)} />
      <Check label={t("Every change of a job's state")} isOn={draft.events.includes("job_state")} onChange={(isOn) => toggle("job_state", isOn)} />
      {(isSigned(preview?.is_known_address ? preview.format : draft.format) || draft.events.includes("restart")) && (
        <Check label={t("What the restart of a failed job needs, with its document")} isOn={draft.events.includes("restart")} onChange={(isOn) => toggle("restart", isOn)} />
      )}
      {hook && <Whole label={t("Messages a minute (0: no limit)")} value={draft.per_minute} onChange={(per_minute) => set({ per_minute })} />}
      <Whole label={t("A heartbeat each so many seconds (0: none)")} value={draft.heartbeat_s} onChange={(heartbeat_s) => set({ heartbeat_s })} />
      {(preview?.format ?? draft.format) !== "pagerduty" && <DailyReport draft={draft} set={set} />}
      <Check label={t("The webhook is on")} isOn={draft.enabled} onChange={(enabled) => set({ enabled })} />
    </>
  );
}

const ownZone = (): string => Intl.DateTimeFormat().resolvedOptions().timeZone;

/** A time that is set for the first time is meant where it is set. */
function DailyReport({ draft, set }: Pick<FieldProps, "draft" | "set">) {
  return (
    <>
      <label>
        {t("The report of each day at (empty: none)")}
        <input
          type="time"
          value={draft.report_at}
          onInput={(event) => {
            const report_at = event.currentTarget.value;
            set(draft.report_at === "" && draft.report_tz === "" ? { report_at, report_tz: ownZone() } : { report_at });
          }}
        />
      </label>
      {draft.report_at !== "" && (
        <label>
          {t("The time zone (empty: UTC)")}
          <input type="text" value={draft.report_tz} placeholder="Europe/Berlin" onInput={(event) => set({ report_tz: event.currentTarget.value })} />
        </label>
      )}
    </>
  );
}

function Whole({ label, value, onChange }: { label: string; value: number; onChange(value: number): void }) {
  return (
    <label>
      {label}
      <input type="number" min={0} step={1} value={value} onInput={(event) => onChange(event.currentTarget.valueAsNumber || 0)} />
    </label>
  );
}
