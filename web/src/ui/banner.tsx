import { isAnswering } from "../api/client";
import { t } from "../i18n/i18n";
import { formatClock } from "../lib/text/format";
import { liveState } from "../live/client";
import { signal, effect } from "@preact/signals";
import { askNow } from "../state/core/info";

/** Since when nobody answers; null: somebody does. */
const sinceMs = signal<number | null>(null);

effect(() => {
  const isGone = !isAnswering.value || liveState.value === "offline";
  sinceMs.value = isGone ? (sinceMs.peek() ?? Date.now()) : null;
});

/** Above the view, for as long as the server is not there. What is shown goes on where it stopped: events are numbered. */
export function OfflineBanner() {
  const since = sinceMs.value;
  return (
    <div class="banner" role="status">
      {since !== null && (
        <p>
          <strong>✕ {t("Offline since {time}.", { time: formatClock(since) })}</strong>{" "}
          {t("The server does not answer. What is shown stays, and what is missed meanwhile is caught up.")}
          <button type="button" onClick={askNow}>
            {t("Try now")}
          </button>
        </p>
      )}
    </div>
  );
}
