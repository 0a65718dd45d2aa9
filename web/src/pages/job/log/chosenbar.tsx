import { useSignal } from "@preact/signals";
import { apiUrl, jobPath } from "../../../api/client";
import { t, tn } from "../../../i18n/i18n";
import { linesHash, type Lines } from "../../../lib/log/lineranges";
import { newNoteHref } from "../../../lib/jobs/notes";
import { linesHref } from "../../../state/log/lines";
import type { LogStore } from "../../../state/log/log";
import { mayWrite } from "../../../state/core/session";

const SAID_MS = 1500;

/** What can be done with the lines that are chosen. */
export function ChosenBar({ job, log, lines, onClear }: { job: string; log: LogStore; lines: Lines; onClear(): void }) {
  const said = useSignal("");
  const count = lines.to - lines.from + 1;
  const raw = apiUrl(jobPath(job, "/logs/raw"), { stream: log.stream, from: lines.from, limit: count });
  const tell = (text: string): void => {
    said.value = text;
    window.setTimeout(() => (said.value = ""), SAID_MS);
  };
  const copy = async (make: () => Promise<string>, done: string): Promise<void> => {
    try {
      await navigator.clipboard.writeText(await make());
      tell(done);
    } catch {
      tell(t("The browser refused"));
    }
  };
  const text = async (): Promise<string> => {
    const reply = await fetch(raw, { credentials: "same-origin" });
    if (!reply.ok) throw new Error(String(reply.status));
    return (await reply.text()).replace(/\n$/, "");
  };
  const link = (): Promise<string> => Promise.resolve(new URL(linesHref(lines, { stream: log.stream }), window.location.href).href);
  return (
    <div class="chosenbar" role="toolbar" aria-label={t("Chosen lines")}>
      <strong>{linesHash(lines).slice(1)}</strong>
      <span class="dim">{tn(count, "{n} line", "{n} lines")}</span>
      <span class="grow" />
      <span role="status" class="dim">
        {said}
      </span>
      <button type="button" title={t("The lines as they came")} onClick={() => void copy(text, t("Lines copied"))}>
        {t("copy")}
      </button>
      <button type="button" onClick={() => void copy(link, t("Link copied"))}>
        {t("copy link")}
      </button>
      {mayWrite() && (
        <a class="button" href={newNoteHref(job, { at: "line", line: String(lines.from), stream: log.stream })} title={t("Write a note at the first of these lines")}>
          {t("note…")}
        </a>
      )}
      <a class="button" download href={raw} aria-label={t("Download the chosen lines")} title={t("Download the chosen lines")}>
        ⤓
      </a>
      <button type="button" aria-label={t("Choose no line")} title={t("Choose no line (Escape)")} onClick={onClear}>
        ✕
      </button>
    </div>
  );
}
