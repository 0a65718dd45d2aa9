import type { DefinitionsDoc } from "../../api/types";
import { AUTOMATIC, type Workbench } from "../../state/workbench";

const OWN = "";

function sourceTitle(doc: DefinitionsDoc): string {
  switch (doc.source) {
    case "job":
      return "This job's own definitions";
    case "preset":
      return `Preset ${doc.preset ?? ""}`;
    case "server":
      return "The server's own definitions, for jobs without";
    default:
      return "No definitions yet";
  }
}

function choiceTitle(choice: string): string {
  return choice === AUTOMATIC ? "Automatic, when saved: the preset that fits the job's lines" : `Preset ${choice}, when saved`;
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
    <section class="source" aria-label="Where the definitions come from">
      <p>
        <strong>{choice ? choiceTitle(choice) : sourceTitle(doc)}</strong>
        {!choice && doc.reason && <span class="dim">: {doc.reason}</span>}
        {!choice && doc.source === "none" && <span class="dim">: a preset is chosen by the job's first lines, or add one below</span>}
      </p>
      <label>
        use{" "}
        <select
          value={shown}
          onChange={(event) => {
            const name = event.currentTarget.value;
            if (name === OWN) bench.revert();
            else bench.choose(name);
          }}
        >
          <option value={OWN} disabled={shown !== OWN}>
            own definitions
          </option>
          <option value={AUTOMATIC}>automatic</option>
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
