import { useSignal } from "@preact/signals";
import { useEffect, useRef } from "preact/hooks";
import { navigate, query, route } from "../state/router";
import { buildSearch } from "../lib/url";
import { liveState } from "../live/client";

const EXAMPLE = "status:inprogress loss.last>3 name~llama";

/** The same language in every view; where there is nothing to filter, a search leads to the list of jobs. */
export function QueryBar() {
  const input = useRef<HTMLInputElement>(null);
  const here = route.value.view;
  const isFilter = here === "jobs" || here === "incidents";
  const applied = isFilter ? (query.value["q"] ?? "") : "";
  const text = useSignal(applied);

  useEffect(() => {
    text.value = applied;
  }, [applied, text]);

  // In a job's page the key belongs to the search of its log.
  const hasKey = here !== "job";
  useEffect(() => {
    if (!hasKey) return;
    const focus = (event: KeyboardEvent): void => {
      if (event.key !== "/" || event.ctrlKey || event.metaKey || event.altKey || isTyping(event.target)) return;
      event.preventDefault();
      input.current?.focus();
      input.current?.select();
    };
    document.addEventListener("keydown", focus);
    return () => document.removeEventListener("keydown", focus);
  }, [hasKey]);

  const apply = (q: string): void => {
    const path = here === "incidents" ? "/incidents" : "/";
    const kept = isFilter ? query.value : {};
    navigate(path + buildSearch(kept, { q: q.trim() || undefined }));
  };

  return (
    <form
      class="querybar"
      role="search"
      onSubmit={(event) => {
        event.preventDefault();
        apply(text.value);
      }}
    >
      {hasKey && <kbd aria-hidden="true">/</kbd>}
      <input
        ref={input}
        type="search"
        name="q"
        aria-label="Search jobs"
        aria-keyshortcuts={hasKey ? "/" : undefined}
        placeholder={`Search jobs: ${EXAMPLE}`}
        autocomplete="off"
        spellcheck={false}
        value={text}
        onInput={(event) => {
          text.value = event.currentTarget.value;
          if (text.value === "" && applied !== "") apply("");
        }}
        onKeyDown={(event) => event.key === "Escape" && input.current?.blur()}
      />
      <Connection />
    </form>
  );
}

const STATES = {
  live: { glyph: "●", text: "live", title: "New lines appear by themselves." },
  reconnecting: { glyph: "◐", text: "reconnecting", title: "The live connection is being opened. What is shown stays." },
  offline: { glyph: "✕", text: "offline", title: "The server does not answer. What is shown stays; the page tries again." },
} as const;

function Connection() {
  const { glyph, text, title } = STATES[liveState.value];
  return (
    <span class={`connection ${liveState.value}`} title={title} role="status">
      <span class="glyph" aria-hidden="true">
        {glyph}
      </span>
      {text}
    </span>
  );
}

export function isTyping(target: EventTarget | null): boolean {
  return target instanceof HTMLElement && (target.isContentEditable || /^(INPUT|TEXTAREA|SELECT)$/.test(target.tagName));
}
