import type { DefinitionsDoc } from "../../../api/types";
import { say, t } from "../../../i18n/i18n";
import { definitionsHref, JOB_PARTS, jobHref, partHref, type JobPart } from "../../../lib/url/url";
import { useKeys } from "../../../state/core/keys";
import { navigate } from "../../../state/core/router";
import { useCurrentInView } from "../../../ui/inview";
import { adoptStyle } from "../../../lib/jobs/adopt";
import style from "../../../styles/jobtabs.css?inline";

adoptStyle(style);

interface Props {
  name: string;
  /** undefined: the charts. */
  part: JobPart | undefined;
  definitions?: DefinitionsDoc | null;
}

const PART_TITLES: Readonly<Record<JobPart, string>> = {
  logs: say("Log"),
  nodes: say("Nodes"),
  goodput: say("Goodput"),
  training: say("Training"),
  settings: say("Settings"),
  incidents: say("Incidents"),
  advice: say("Advice"),
  notes: say("Notes"),
  files: say("Files"),
  deliveries: say("Deliveries"),
  document: say("Document"),
  definitions: say("Definitions"),
};

const PARTS = [undefined, ...JOB_PARTS];

/** The parts of a job's page, each with a key; D goes to the definitions and back. */
export function JobTabs({ name, part, definitions }: Props) {
  const other = part === "definitions" ? jobHref(name) : definitionsHref(name);
  const to = (at: number): void => navigate(partHref(name, PARTS[(at + PARTS.length) % PARTS.length]));
  const at = PARTS.indexOf(part);
  useKeys(say("Job"), [
    { on: "d", does: say("to the definitions, and back"), run: () => navigate(other) },
    { on: "]", does: say("the next part of this job"), run: () => to(at + 1) },
    { on: "[", does: say("the part before"), run: () => to(at - 1) },
    { on: ["1", "2", "3", "4", "5", "6", "7", "8", "9"], does: say("the first to ninth part"), run: ({ key }) => to(Number(key) - 1) },
  ]);
  const preset = definitions?.preset;
  const why = preset && definitions.reason ? `${preset}, ${definitions.reason}` : undefined;
  const row = useCurrentInView<HTMLElement>(part);
  return (
    <nav class="jobtabs" ref={row} aria-label={t("Parts of this job")}>
      {PARTS.map((one, i) => {
        const href = partHref(name, one);
        const text = one ? t(PART_TITLES[one]) : t("Charts");
        return (
          <a key={href} href={href} aria-current={one === part ? "page" : undefined} aria-keyshortcuts={href === other ? "d" : i < 9 ? String(i + 1) : undefined} title={one === "definitions" ? why : undefined}>
            {one === "definitions" && preset ? `${text}: ${preset}` : text}
          </a>
        );
      })}
    </nav>
  );
}
