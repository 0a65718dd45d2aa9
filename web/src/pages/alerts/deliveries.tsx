// What became of messages.
import type { ComponentChildren } from "preact";
import type { Delivery } from "../../api/alerts";
import { say, t } from "../../i18n/i18n";
import { formatCount, NONE } from "../../lib/text/format";
import { DataTable } from "../../ui/datatable";
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
      <DataTable
        class="deliveries"
        rows={rows}
        keyOf={(row) => row.n}
        columns={[
          {
            title: t("state"),
            cellClass: (row) => `status ${LOOKS[row.state][0]}`,
            cell: (row) => (
              <>
                <span class="glyph" aria-hidden="true">
                  {LOOKS[row.state][1]}
                </span>
                {t(STATES[row.state])}
              </>
            ),
          },
          withWebhook ? { title: t("webhook"), cell: (row) => <a href={`/webhooks?id=${row.webhook}`}>#{row.webhook}</a> } : { title: t("incident"), cell: incidentOf },
          { title: t("attempts"), isNumber: true, cell: (row) => formatCount(row.attempts) },
          { title: t("last answer"), cellHint: (row) => row.last_error, cell: (row) => [row.last_code, row.last_error].filter(Boolean).join(" ") || NONE },
          { title: t("age"), isNumber: true, cell: (row) => <Age ms={row.created_ms} /> },
          ...(action ? [{ cell: action }] : []),
        ]}
      />
    </div>
  );
}

/** Heartbeats and tests are of no incident. */
function incidentOf(row: Delivery) {
  if (row.incident.startsWith("0-")) return <span class="dim">{NONE}</span>;
  return <a href={`/incidents?id=${encodeURIComponent(row.incident)}`}>{row.incident}</a>;
}
