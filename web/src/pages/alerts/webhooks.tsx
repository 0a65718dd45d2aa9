// Where messages go, whether they arrived, and a test of both.
import { useSignal } from "@preact/signals";
import { useEffect, useState } from "preact/hooks";
import type { Delivery, Webhook, WebhookDraft } from "../../api/alerts";
import { asProblem, getJson, isAbort, send, type Problem } from "../../api/client";
import { say, t } from "../../i18n/i18n";
import { formatDuration, NONE } from "../../lib/text/format";
import { Editable } from "../../state/core/editable";
import { hearIncidents } from "../../state/job/hearincidents";
import { useKeys } from "../../state/core/keys";
import { patchQuery, query } from "../../state/core/router";
import { CopyLine } from "../../ui/copy";
import { ProblemBox } from "../../ui/problem";
import { Skeleton } from "../../ui/skeleton";
import { DeliveryTable } from "./deliveries";
import { hostOf } from "./ruleform";
import { WebhookForm } from "./webhookform";
import { every } from "../../lib/flow/poll";

export type Webhooks = Editable<Webhook, WebhookDraft>;

export function WebhooksView() {
  const [hooks, setHooks] = useState<Webhooks | null>(null);
  useEffect(() => {
    const next: Webhooks = new Editable("webhooks");
    setHooks(next);
    void hearIncidents();
    void next.load();
    return () => next.stop();
  }, []);
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
  return (
    <table class="jobs">
      <thead>
        <tr>
          <th scope="col">{t("webhook")}</th>
          <th scope="col">{t("format")}</th>
          <th scope="col">{t("from")}</th>
          <th scope="col">{t("heartbeat")}</th>
          <td />
        </tr>
      </thead>
      <tbody>
        {rows.map((hook) => (
          <tr key={hook.id} class={`${hook.enabled ? "" : "past"} ${String(hook.id) === chosen ? "chosen" : ""}`}>
            <td>
              <a href={`/webhooks?id=${hook.id}`} aria-current={String(hook.id) === chosen ? "true" : undefined}>
                #{hook.id} <bdi>{hostOf(hook.url)}</bdi>
              </a>
              {!hook.enabled && <span class="dim"> {t("off")}</span>}
            </td>
            <td>{hook.format}</td>
            <td>{hook.minimum_severity}</td>
            <td>{hook.heartbeat_s ? t("each {time}", { time: formatDuration(hook.heartbeat_s) }) : NONE}</td>
            <td />
          </tr>
        ))}
      </tbody>
    </table>
  );
}

const RELOAD_MS = 2000;

/** What it was sent. While something waits it is looked at again and again. */
function Log({ hook }: { hook: Webhook }) {
  const rows = useSignal<Delivery[] | null>(null);
  const problem = useSignal<Problem | null>(null);
  const [loader] = useState(() => new AbortController());

  const load = async (): Promise<void> => {
    try {
      rows.value = (await getJson<{ deliveries: Delivery[] }>(`webhooks/${hook.id}/deliveries`, { limit: 100 }, loader.signal)).deliveries;
      problem.value = null;
    } catch (error) {
      if (!isAbort(error)) problem.value = asProblem(error);
    }
  };
  const post = async (path: string): Promise<void> => {
    try {
      await send("POST", `webhooks/${hook.id}/${path}`, {}, {});
    } catch (error) {
      problem.value = asProblem(error);
    }
    await load();
  };
  useEffect(() => {
    void load();
    const end = every(RELOAD_MS, () => {
      if (rows.value?.some((row) => row.state === "pending")) void load();
    });
    return () => {
      end();
      loader.abort();
    };
  }, []);

  return (
    <section>
      <h3>{t("Messages")}</h3>
      <div class="actions">
        <button type="button" onClick={() => void post("test")}>
          {t("Send a test")}
        </button>
      </div>
      {problem.value && <ProblemBox problem={problem.value} onRetry={() => void load()} />}
      {rows.value?.length === 0 && <p class="dim">{t("None yet.")}</p>}
      {rows.value && rows.value.length > 0 && (
        <DeliveryTable
          rows={rows.value}
          action={(row) =>
            row.state === "pending" ? null : (
              <button type="button" onClick={() => void post(`deliveries/${row.n}/retry`)}>
                {t("Send again")}
              </button>
            )
          }
        />
      )}
    </section>
  );
}
