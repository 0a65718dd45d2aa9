// Where messages go, whether they arrived, and a test of both.
import { useSignal } from "@preact/signals";
import type { Delivery, Webhook } from "../../api/alerts";
import { send } from "../../api/client";
import { say, t } from "../../i18n/i18n";
import { formatDuration, NONE } from "../../lib/text/format";
import { Editable } from "../../state/core/editable";
import { Resource } from "../../state/core/resource";
import { hearIncidents } from "../../state/job/hearincidents";
import { useKeys } from "../../state/core/keys";
import { patchQuery, query } from "../../state/core/router";
import { useStore } from "../../state/core/store";
import { CopyLine } from "../../ui/copy";
import { DataTable } from "../../ui/datatable";
import { ProblemBox } from "../../ui/problem";
import { Skeleton } from "../../ui/skeleton";
import { DeliveryTable } from "./deliveries";
import type { Webhooks } from "./editables";
import { hostOf } from "./ruleform";
import { WebhookForm } from "./webhookform";
import { every } from "../../lib/flow/poll";

export function WebhooksView() {
  const hooks = useStore((): Webhooks => new Editable("webhooks"), [], (next) => void Promise.all([hearIncidents(), next.load()]));
  return hooks && <Content hooks={hooks} />;
}

function Content({ hooks }: { hooks: Webhooks }) {
  const rows = hooks.rows.value;
  const problem = hooks.problem.value;
  const chosen = query.value["id"] ?? "";
  const hook = rows?.find((one) => String(one.id) === chosen);
  const secret = useSignal<string | null>(null);
  useKeys(say("Webhooks"), [{ on: "Escape", does: say("close the webhook"), run: () => chosen !== "" && (patchQuery({ id: undefined }), true) }]);
  return (
    <>
      <div class="toolbar">
        <span class="dim">{t("Each gets what the rules say, signed, and again until it has arrived.")}</span>
        <span class="grow" />
        <button type="button" class="primary" disabled={problem !== null} onClick={() => patchQuery({ id: "new" })}>
          {t("New webhook")}
        </button>
      </div>
      {problem && <ProblemBox problem={problem} onRetry={() => void hooks.load()} />}
      {!rows && !problem && <Skeleton rows={4} />}
      {secret.value && <Secret text={secret.value} onDone={() => (secret.value = null)} />}
      {rows?.length === 0 && chosen === "" && <NoWebhook />}
      {rows && (rows.length > 0 || chosen === "new") && (
        <div class={chosen ? "alerts chosen" : "alerts"}>
          <div class="alertlist">
            <Table rows={rows} chosen={chosen} />
          </div>
          {(hook || chosen === "new") && (
            <div class="alertdetail" key={chosen}>
              <WebhookForm hooks={hooks} hook={hook ?? null} onSecret={(text) => (secret.value = text)} />
              {hook && <Log hook={hook} />}
            </div>
          )}
        </div>
      )}
    </>
  );
}

function NoWebhook() {
  return (
    <section class="empty">
      <h1>{t("Nobody is told yet")}</h1>
      <p>{t("A webhook is an address that gets a message when an incident opens and when it is over: a chat, a pager, a script of your own.")}</p>
    </section>
  );
}

function Secret({ text, onDone }: { text: string; onDone(): void }) {
  return (
    <section class="secret" role="status">
      <p>{t("With this secret the receiver checks that a message is from here. It is shown only now.")}</p>
      <CopyLine text={text} label={t("the webhook's secret")} />
      <button type="button" onClick={onDone}>
        {t("I have it")}
      </button>
    </section>
  );
}

function Table({ rows, chosen }: { rows: readonly Webhook[]; chosen: string }) {
  const isChosen = (one: Webhook): boolean => String(one.id) === chosen;
  return (
    <DataTable
      class="jobs"
      rows={rows}
      keyOf={(hook) => hook.id}
      rowClass={(hook) => `${hook.enabled ? "" : "past"} ${isChosen(hook) ? "chosen" : ""}`}
      columns={[
        {
          title: t("webhook"),
          cell: (hook) => (
            <>
              <a href={`/webhooks?id=${hook.id}`} aria-current={isChosen(hook) ? "true" : undefined}>
                #{hook.id} <bdi>{hostOf(hook.url)}</bdi>
              </a>
              {!hook.enabled && <span class="dim"> {t("off")}</span>}
            </>
          ),
        },
        { title: t("format"), cell: (hook) => hook.format },
        { title: t("from"), cell: (hook) => hook.minimum_severity },
        { title: t("heartbeat"), cell: (hook) => (hook.heartbeat_s ? t("each {time}", { time: formatDuration(hook.heartbeat_s) }) : NONE) },
        { title: t("report"), cell: (hook) => hook.report_at || NONE, cellHint: (hook) => (hook.report_at ? hook.report_tz || "UTC" : undefined) },
        { cell: () => null },
      ]}
    />
  );
}

const RELOAD_MS = 2000;

/** What it was sent. While something waits it is looked at again and again. */
class HookLog extends Resource<{ deliveries: Delivery[] }> {
  constructor(private readonly hook: number) {
    super(`webhooks/${hook}/deliveries`, { limit: 100 });
    this.whenStopped(every(RELOAD_MS, () => this.value.value?.deliveries.some((row) => row.state === "pending") && void this.load()));
  }

  async post(path: string): Promise<void> {
    if (await this.request(() => send("POST", `webhooks/${this.hook}/${path}`, {}, {}))) await this.load();
  }
}

function Log({ hook }: { hook: Webhook }) {
  const log = useStore(() => new HookLog(hook.id), [], (next) => next.load());
  const rows = log?.value.value?.deliveries;
  const problem = log?.problem.value;

  return (
    <section>
      <h3>{t("Messages")}</h3>
      <div class="actions">
        <button type="button" onClick={() => void log?.post("test")}>
          {t("Send a test")}
        </button>
        {hook.format !== "pagerduty" && (
          <button type="button" onClick={() => void log?.post("report")}>
            {t("Send the report of the last 24 hours")}
          </button>
        )}
      </div>
      {problem && <ProblemBox problem={problem} onRetry={() => void log?.load()} />}
      {rows?.length === 0 && <p class="dim">{t("None yet.")}</p>}
      {rows && rows.length > 0 && (
        <DeliveryTable
          rows={rows}
          action={(row) =>
            row.state === "pending" ? null : (
              <button type="button" onClick={() => void log?.post(`deliveries/${row.n}/retry`)}>
                {t("Send again")}
              </button>
            )
          }
        />
      )}
    </section>
  );
}
