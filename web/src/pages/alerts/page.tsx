// Incidents, the rules that say who hears of them, and the webhooks by which they are told.
import { t } from "../../i18n/i18n";
import { adoptStyle } from "../../lib/jobs/adopt";
import { route } from "../../state/core/router";
import style from "../../styles/alerts.css?inline";
import "../../styles/table";
import { lazy } from "../../ui/lazy";
import { IncidentsView } from "./incidents";

adoptStyle(style);

const RulesView = lazy(async () => (await import("./rules")).RulesView, 6);
const WebhooksView = lazy(async () => (await import("./webhooks")).WebhooksView, 6);

export function AlertsPage({ search, state, id }: { search: string; state: string; id: string }) {
  const here = route.value.view;
  const tabs = [
    ["incidents", t("Incidents")],
    ["rules", t("Rules")],
    ["webhooks", t("Webhooks")],
  ] as const;
  return (
    <div class="view">
      <div class="viewhead">
        <h1>{t("Alerts")}</h1>
        <nav class="segments" aria-label={t("Parts of the alerts")}>
          {tabs.map(([view, label]) => (
            <a key={view} href={`/${view}`} aria-current={here === view ? "page" : undefined}>
              {label}
            </a>
          ))}
        </nav>
      </div>
      {here === "rules" && <RulesView />}
      {here === "webhooks" && <WebhooksView />}
      {here === "incidents" && <IncidentsView search={search} state={state} id={id} />}
    </div>
  );
}
