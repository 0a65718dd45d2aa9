// What somebody set right by hand of a job is marked; the form for it comes when it is asked for.
import { useSignal } from "@preact/signals";
import type { JobDoc } from "../../../api/types";
import { t } from "../../../i18n/i18n";
import { formatTime } from "../../../lib/text/format";
import type { JobStore } from "../../../state/job/job";
import { mayWrite } from "../../../state/core/session";
import { lazy } from "../../../ui/lazy";

export const ByHandDialog = lazy(async () => (await import("./byhand")).ByHandDialog, 0);

const valuesOf = (value: object): string[] => Object.entries(value).map(([name, one]) => (name.endsWith("_ms") ? formatTime(Number(one)) : typeof one === "boolean" ? `${name} ${one}` : String(one)));

/** By the names of the API, times as the page shows them. */
export const byHandText = (by: NonNullable<JobDoc["by_hand"]>): string =>
  Object.entries(by)
    .flatMap(([name, value]): [string, unknown][] => (typeof value === "object" ? Object.entries<unknown>(value) : [[name, name.endsWith("_ms") ? formatTime(Number(value)) : value]]))
    .map(([name, value]) => `${name} ${typeof value === "object" && value !== null ? valuesOf(value).join(": ") : String(value)}`)
    .join(", ");

export function ByHandMark({ store, doc }: { store: JobStore; doc: JobDoc }) {
  const isOpen = useSignal(false);
  const text = t("set by hand");
  const title = doc.by_hand && byHandText(doc.by_hand);
  return (
    <>
      {title !== undefined &&
        (mayWrite() ? (
          <button type="button" class="quiet fact byhandmark" title={title} aria-haspopup="dialog" onClick={() => (isOpen.value = true)}>
            {text}
          </button>
        ) : (
          <span class="fact" title={title}>
            {text}
          </span>
        ))}
      {isOpen.value && <ByHandDialog store={store} doc={doc} onClose={() => (isOpen.value = false)} />}
    </>
  );
}
