import type { DefinitionsDoc } from "../../api/types";
import { definitionsHref, jobHref, logsHref, nodesHref } from "../../lib/url";
import { say, t } from "../../i18n/i18n";
import { useKeys } from "../../state/keys";
import { navigate } from "../../state/router";

interface Props {
  name: string;
  part: "charts" | "nodes" | "logs" | "definitions";
  definitions?: DefinitionsDoc | null;
}

/** The parts of a job's page; D goes to the definitions and back. */
export function JobTabs({ name, part, definitions }: Props) {
  const other = part === "definitions" ? jobHref(name) : definitionsHref(name);
  useKeys(say("Job"), [{ on: "d", does: say("to the definitions, and back"), run: () => navigate(other) }]);
  const preset = definitions?.preset;
  const why = preset && definitions.reason ? `: ${preset}, ${definitions.reason}` : "";
  const tab = (of: typeof part, href: string, text: string, title: string) => {
    const hasKey = href === other;
    return (
      <a
        href={href}
        aria-current={of === part ? "page" : undefined}
        aria-keyshortcuts={hasKey ? "d" : undefined}
        title={of === part ? undefined : `${title}${hasKey ? " (key D)" : ""}`}
      >
        {text}
      </a>
    );
  };
  return (
    <nav class="jobtabs" aria-label="Parts of this job">
      {tab("charts", jobHref(name), "Charts", "Charts")}
      {tab("nodes", nodesHref(name), "Nodes", "Who sends, and how each ended")}
      {tab("logs", logsHref(name), t("Log"), t("The log alone, in all the room"))}
      {tab("definitions", definitionsHref(name), preset ? `Definitions: ${preset}` : "Definitions", `Definitions${why}`)}
    </nav>
  );
}
