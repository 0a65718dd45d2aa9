// What became of messages.
import type { ComponentChildren } from "preact";
import type { Delivery } from "../../api/alerts";
import { say, t } from "../../i18n/i18n";
import { formatCount, NONE } from "../../lib/text/format";
import { Age } from "../../ui/time";

const STATES = { pending: say("waiting"), done: say("delivered"), dead: say("given up") } as const;
const LOOKS = { pending: ["stopping", "◐"], done: ["completed", "✓"], dead: ["failed", "✕"] } as const;

interface Props {
  rows: readonly Delivery[];
  withWebhook?: boolean;
  action?: (row: Delivery) => ComponentChildren;
}

export function DeliveryTable({ rows, withWebhook = false, action }: Props) {
  return (
    <div class="scroll" tabIndex={0} role="group" aria-label={t("Messages")}>
      <table class="deliveries">
        <thead>
          <tr>
            <th scope="col">{t("state")}</th>
            {withWebhook && <th scope="col">{t("webhook")}</th>}
            {!withWebhook && <th scope="col">{t("incident")}</th>}
            <th scope="col" class="num">
              {t("attempts")}
            </th>
            <th scope="col">{t("last answer")}</th>
            <th scope="col" class="num">
              {t("age")}
            </th>
            {action && <td />}
          </tr>
        </thead>
        <tbody>
          {rows.map((row) => (
            <tr key={row.n}>
              <td class={`status ${LOOKS[row.state][0]}`}>
                <span class="glyph" aria-hidden="true">
                  {LOOKS[row.state][1]}
                </span>
                {t(STATES[row.state])}
              </td>
              {withWebhook && (
                <td>
                  <a href={`/webhooks?id=${row.webhook}`}>#{row.webhook}</a>
                </td>
              )}
              {!withWebhook && <td>{incidentOf(row)}</td>}
              <td class="num">{formatCount(row.attempts)}</td>
              <td title={row.last_error}>{[row.last_code, row.last_error].filter(Boolean).join(" ") || NONE}</td>
              <td class="num">
                <Age ms={row.created_ms} />
              </td>
              {action && <td>{action(row)}</td>}
            </tr>
          ))}
        </tbody>
      </table>
    </div>
  );
}

/** Heartbeats and tests are of no incident. */
function incidentOf(row: Delivery) {
  if (row.incident.startsWith("0-")) return <span class="dim">{NONE}</span>;
  return <a href={`/incidents?id=${encodeURIComponent(row.incident)}`}>{row.incident}</a>;
}
