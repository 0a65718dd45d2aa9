import { useSignal } from "@preact/signals";
import { useEffect } from "preact/hooks";
import type { WebhookDraft, WebhookPreview } from "../../api/alerts";
import { send } from "../../api/client";
import { t } from "../../i18n/i18n";
import { FORMAT_NAMES, seenOf } from "../../lib/jobs/sent";

const TYPING_MS = 200;

/** What the server would send there, asked for as one types; null: nothing yet, or no address. */
export function usePreview(draft: Partial<WebhookDraft>, url: string): WebhookPreview | null {
  const reply = useSignal<WebhookPreview | null>(null);
  const body = JSON.stringify(draft);
  useEffect(() => {
    const abort = new AbortController();
    const timer = window.setTimeout(() => {
      if (!/^https?:\/\/[^/]/.test(url)) return void (reply.value = null);
      send("POST", "webhooks/preview", {}, JSON.parse(body)).then(
        async (answer) => {
          const said = (await answer.json()) as WebhookPreview;
          if (!abort.signal.aborted) reply.value = said;
        },
        () => abort.signal.aborted || (reply.value = null), // what is wrong is said when it is saved
      );
    }, TYPING_MS);
    return () => {
      window.clearTimeout(timer);
      abort.abort();
    };
  }, [body, url]);
  return reply.value;
}

export function MessagePreview({ preview }: { preview: WebhookPreview }) {
  const { title, text } = seenOf(preview.format, preview.message);
  return (
    <section class="messagepreview" aria-label={t("The message as it will be seen")}>
      <h3>
        {t("As {receiver} will show it", { receiver: FORMAT_NAMES[preview.format] ?? preview.format })}
        <span class="dim"> {preview.is_example ? t("an example") : t("the newest open incident")}</span>
      </h3>
      <blockquote lang="en">
        {title && <strong>{title}</strong>}
        <p>{text}</p>
      </blockquote>
      <details>
        <summary>{t("What is sent")}</summary>
        <pre class="mono">{JSON.stringify(preview.message, null, 2)}</pre>
      </details>
    </section>
  );
}
