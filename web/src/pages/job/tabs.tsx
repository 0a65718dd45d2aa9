import { useEffect } from "preact/hooks";
import type { DefinitionsDoc } from "../../api/types";
import { definitionsHref, jobHref } from "../../lib/url";
import { navigate } from "../../state/router";
import { isTyping } from "../../ui/querybar";

interface Props {
  name: string;
  part: "charts" | "definitions";
  definitions?: DefinitionsDoc | null;
}

/** The parts of a job's page; D goes to the other one. */
export function JobTabs({ name, part, definitions }: Props) {
  const other = part === "charts" ? definitionsHref(name) : jobHref(name);
  useEffect(() => {
    const onKey = (event: KeyboardEvent): void => {
      if (event.key !== "d" || event.ctrlKey || event.metaKey || event.altKey || isTyping(event.target)) return;
      event.preventDefault();
      navigate(other);
    };
    document.addEventListener("keydown", onKey);
    return () => document.removeEventListener("keydown", onKey);
  }, [other]);
  const preset = definitions?.preset;
  const why = preset && definitions.reason ? `: ${preset}, ${definitions.reason}` : "";
  const tab = (of: typeof part, href: string, text: string) => (
    <a href={href} aria-current={of === part ? "page" : undefined} {...(of === part ? {} : { "aria-keyshortcuts": "d", title: `${of === "charts" ? "Charts" : `Definitions${why}`} (key D)` })}>
      {text}
    </a>
  );
  return (
    <nav class="jobtabs" aria-label="Parts of this job">
      {tab("charts", jobHref(name), "Charts")}
      {tab("definitions", definitionsHref(name), preset ? `Definitions: ${preset}` : "Definitions")}
    </nav>
  );
}
