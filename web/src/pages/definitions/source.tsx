import { t, tn } from "../../i18n/i18n";
import type { DefinitionsDoc } from "../../api/types";
import { AUTOMATIC, type Workbench } from "../../state/job/workbench";

const OWN = "";

function sourceTitle(doc: DefinitionsDoc): string {
  switch (doc.source) {
    case "job":
      return t("This job's own definitions");
    case "preset":
      return t("Preset {name}", { name: doc.preset ?? "" });
    case "server":
      return t("The server's own definitions, for jobs without");
    default:
      return doc.damaged ? t("Damaged definitions") : t("No definitions yet");
  }
}

function choiceTitle(choice: string): string {
  return choice === AUTOMATIC ? t("Automatic, when saved: the preset that fits the job's lines") : t("Preset {name}, when saved", { name: choice });
}

/** Of a log that several programs wrote into: those beside the one that leads. */
function Others({ doc }: { doc: DefinitionsDoc }) {
  const others = doc.source === "preset" ? (doc.formats ?? []).filter((one) => one.preset !== doc.preset) : [];
  if (!others.length) return null;
  return (
    <p class="dim" data-test="formats">
      {t("The log has lines of other formats, too:")}{" "}
      {others.map((one, i) => (
        <span key={one.preset} title={one.reason}>
          {i > 0 && ", "}
          {one.preset} ({tn(one.lines, "{n} line", "{n} lines")})
        </span>
      ))}
    </p>
  );
}

/** Which definitions the job has and why, and a list of others. */
export function Source({ bench }: { bench: Workbench }) {
  const doc = bench.doc.value;
  const choice = bench.choice.value;
  const presets = bench.server.value?.presets ?? [];
  if (!doc) return null;
  const shown = choice ?? (doc.source === "job" || doc.source === "server" || bench.isDirty.value ? OWN : (doc.preset ?? AUTOMATIC));
  const names = presets.map((one) => one.name);
  return (
    <section class="source" aria-label={t("Where the definitions come from")}>
      <p>
        <strong>{choice ? choiceTitle(choice) : sourceTitle(doc)}</strong>
        {!choice && doc.reason && <span class="dim">: {doc.reason}</span>}
        {!choice && !doc.damaged && doc.source === "none" && <span class="dim">{t(": a preset is chosen by the job's first lines, or add one below")}</span>}
      </p>
      {!choice && <Others doc={doc} />}
      {doc.damaged && (
        <p role="note" title={doc.damaged}>
          {t("The definitions that are stored cannot be read: its lines are kept without points. Once some are saved, the whole log is extracted by them.")}
        </p>
      )}
      <label>
        {t("use")}{" "}
        <select
          value={shown}
          onChange={(event) => {
            const name = event.currentTarget.value;
            if (name === OWN) bench.revert();
            else bench.choose(name);
          }}
        >
          <option value={OWN} disabled={shown !== OWN}>
            {t("own definitions")}
          </option>
          <option value={AUTOMATIC}>{t("automatic")}</option>
          {shown !== OWN && shown !== AUTOMATIC && !names.includes(shown) && <option value={shown}>{shown}</option>}
          {names.map((name) => (
            <option key={name} value={name}>
              {name}
            </option>
          ))}
        </select>
      </label>
    </section>
  );
}
