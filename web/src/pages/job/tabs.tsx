import { useEffect } from "preact/hooks";
import { definitionsHref, jobHref } from "../../lib/url";
import { navigate } from "../../state/router";
import { isTyping } from "../../ui/querybar";

/** The parts of a job's page; D goes to the other one. */
export function JobTabs({ name, part, preset }: { name: string; part: "charts" | "definitions"; preset?: string | null | undefined }) {
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
  const tab = (of: typeof part, href: string, text: string) => (
    <a href={href} aria-current={of === part ? "page" : undefined} {...(of === part ? {} : { "aria-keyshortcuts": "d", title: `${text}: key d` })}>
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
