import { useSignal } from "@preact/signals";
import type { ComponentType, RefObject } from "preact";
import { useEffect, useRef } from "preact/hooks";
import { say, t } from "../i18n/i18n";
import { useKeys } from "../state/core/keys";
import { navigate, query, route } from "../state/core/router";
import { buildSearch } from "../lib/url/url";
import { isLiveWanted, liveState } from "../live/client";
import { queryProblem } from "../state/core/queryproblem";
import type { Completion } from "./complete";

interface Help {
  completion: Completion;
  Suggestions: ComponentType<{ completion: Completion }>;
  Highlight: ComponentType<{ text: string; from: RefObject<HTMLDivElement | null> }>;
  optionId: (at: number) => string;
  LIST_ID: string;
}

const EXAMPLE = "status:inprogress loss.last>3 name~llama";

/** The same language in every view; where there is nothing to filter, a search leads to the list of jobs. */
export function QueryBar() {
  const input = useRef<HTMLInputElement>(null);
  /** The same text in colours lies behind the input, whose own is not seen. */
  const lexed = useRef<HTMLDivElement>(null);
  const here = route.value.view;
  const isFilter = here === "jobs" || here === "incidents" || here === "definitions";
  const applied = isFilter ? (query.value["q"] ?? "") : "";
  const text = useSignal(applied);
  /** Comes with the first focus; without it one can still type and search. */
  const help = useSignal<Help | null>(null);
  const isHelpAsked = useRef(false);

  useEffect(() => {
    text.value = applied;
  }, [applied, text]);

  // In a job's page "/" belongs to the search of its log, which comes later and so is asked first.
  const hasKey = here !== "job";
  const focus = (): void => {
    input.current?.focus();
    input.current?.select();
  };
  useKeys(say("Everywhere"), [{ on: ["/", "Ctrl+k"], does: say("search jobs"), run: focus }]);

  // A query that is there already is shown in colours, too.
  useEffect(() => {
    if (applied !== "") void getHelp();
  }, [applied]);

  const getHelp = async (): Promise<void> => {
    if (isHelpAsked.current) return;
    isHelpAsked.current = true;
    try {
      const { Completion, Suggestions, Highlight, optionId, LIST_ID } = await import("./complete");
      const completion = new Completion((edited) => {
        text.value = edited.text;
        const field = input.current;
        if (!field) return;
        field.value = edited.text;
        field.setSelectionRange(edited.caret, edited.caret);
        completion.ask(edited.text, edited.caret);
      });
      help.value = { completion, Suggestions, Highlight, optionId, LIST_ID };
      const field = input.current;
      if (field && document.activeElement === field && field.value !== applied) completion.ask(field.value, field.selectionStart ?? field.value.length);
    } catch {
      isHelpAsked.current = false;
    }
  };

  const apply = (q: string): void => {
    help.value?.completion.close();
    const path = isFilter ? `/${here}` : "/jobs";
    const kept = isFilter ? query.value : {};
    navigate(path + buildSearch(kept, { q: q.trim() || undefined }));
  };

  const { completion, Suggestions, Highlight, optionId, LIST_ID } = help.value ?? {};
  const isOpen = (completion?.offer.value ?? null) !== null;
  const chosen = completion?.chosen.value ?? -1;
  const wrong = isFilter && queryProblem.value?.query === text.value ? queryProblem.value : null;

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
      <div class="queryfield">
        {Highlight && <Highlight text={text.value} from={lexed} />}
        <input
          ref={input}
          type="text"
          enterkeyhint="search"
          name="q"
          aria-label={t("Search jobs")}
          aria-keyshortcuts={hasKey ? "/" : undefined}
          placeholder={t("Search jobs: {example}", { example: EXAMPLE })}
          autocomplete="off"
          spellcheck={false}
          role="combobox"
          aria-autocomplete="list"
          aria-expanded={isOpen}
          aria-controls={LIST_ID}
          aria-activedescendant={chosen >= 0 ? optionId?.(chosen) : undefined}
          aria-invalid={wrong !== null}
          aria-describedby={wrong ? "querywrong" : undefined}
          value={text}
          onScroll={(event) => lexed.current && (lexed.current.scrollLeft = event.currentTarget.scrollLeft)}
          onFocus={() => void getHelp()}
          onBlur={() => completion?.close()}
          onInput={(event) => {
            const field = event.currentTarget;
            text.value = field.value;
            if (text.value === "" && applied !== "") apply("");
            else completion?.ask(field.value, field.selectionStart ?? field.value.length);
          }}
          onKeyDown={(event) => {
            if (completion?.takesKey(event)) event.preventDefault();
            else if (event.key === "Escape") input.current?.blur();
          }}
        />
      </div>
      {completion && Suggestions && <Suggestions completion={completion} />}
      {wrong && !isOpen && (
        <p class="wrong" id="querywrong" role="alert">
          <span aria-hidden="true">{wrong.query.slice(0, wrong.at)}</span>
          <b>▲ {wrong.detail}</b>
        </p>
      )}
      {here === "jobs" && (
        <button type="button" class="quiet" popovertarget="views">
          {t("Views")} ▾
        </button>
      )}
      {here !== "unknown" && <Connection />}
    </form>
  );
}

const STATES = {
  live: { glyph: "●", text: say("live"), title: say("New lines appear by themselves.") },
  connecting: { glyph: "◐", text: say("connecting"), title: say("The live connection is being opened. What is shown stays.") },
  offline: { glyph: "✕", text: say("offline"), title: say("The server does not answer. What is shown stays; the page tries again.") },
} as const;

function Connection() {
  if (!isLiveWanted.value) return null;
  const { glyph, text, title } = STATES[liveState.value];
  return (
    <span class={`connection ${liveState.value}`} title={t(title)} role="status">
      <span class="glyph" aria-hidden="true">
        {glyph}
      </span>
      <span class="word">{t(text)}</span>
    </span>
  );
}
