import { t, tx } from "../i18n/i18n";

export function NoPage({ path }: { path: string }) {
  return (
    <div class="empty">
      <h1>{t("There is no page here")}</h1>
      <p>
        {tx("{path} is not one of this server's addresses.", { path: <code>{path}</code> })} <a href="/jobs">{t("All jobs")}</a>
      </p>
    </div>
  );
}
