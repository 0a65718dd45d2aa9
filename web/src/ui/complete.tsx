import { signal } from "@preact/signals";
import type { RefObject } from "preact";
import { useEffect, useRef } from "preact/hooks";
import { getJson, isAbort } from "../api/client";
import { say, t, tn } from "../i18n/i18n";
import { adoptStyle } from "../lib/jobs/adopt";
import { applySuggestion, type Edited, type Suggestion, type SuggestionsReply } from "../lib/text/suggest";
import { formatCount } from "../lib/text/format";
import { Latest } from "../lib/flow/latest";
import { lexQuery } from "../lib/text/querylex";
import style from "../styles/complete.css?inline";

adoptStyle(style);

const KINDS: Readonly<Record<string, string>> = {
  property: say("property"), role: say("role"), metric: say("metric"), value: say("value"),
  hyperparameter: say("hyperparameter"), tag: say("tag"), environment: say("environment"), label: say("label"),
};
const REST_MS = 120;
const LIMIT = 20;
export const LIST_ID = "suggestions";

interface Offer {
  text: string;
  caret: number;
  from: number;
  rows: Suggestion[];
}

/** What may come next in the query: asked for when the hand rests; what is chosen goes to `take`. */
export class Completion {
  readonly offer = signal<Offer | null>(null);
  /** -1: none, and Enter searches for what is there. */
  readonly chosen = signal(-1);
  private readonly latest = new Latest(REST_MS);

  constructor(private readonly take: (edited: Edited) => void) {}

  /** For the text before the caret. A list that is not there costs nobody a message: one can type without it. */
  ask(text: string, caret: number): void {
    this.latest.ask(async (abort) => {
      try {
        const reply = await getJson<SuggestionsReply>("search/suggestions", { prefix: text.slice(0, caret), limit: LIMIT }, abort);
        if (!abort.aborted) this.show({ text, caret, from: reply.from, rows: reply.suggestions });
      } catch (error) {
        if (!isAbort(error)) this.close();
      }
    });
  }

  close(): void {
    this.latest.stop();
    this.offer.value = null;
    this.chosen.value = -1;
  }

  pick(at: number): void {
    const offer = this.offer.value;
    const row = offer?.rows[at];
    if (!offer || !row) return;
    const edited = applySuggestion(offer.text, offer.caret, offer.from, row);
    this.close();
    this.take(edited);
  }

  /** Whether the key was for the list. */
  takesKey(event: KeyboardEvent): boolean {
    if (event.isComposing || event.ctrlKey || event.metaKey || event.altKey || event.shiftKey) return false;
    const input = event.currentTarget as HTMLInputElement;
    const count = this.offer.value?.rows.length ?? 0;
    if (count === 0) {
      if (event.key === "ArrowDown") this.ask(input.value, input.selectionStart ?? input.value.length);
      return event.key === "ArrowDown";
    }
    const at = this.chosen.value;
    if (event.key === "ArrowDown") this.chosen.value = at + 1 < count ? at + 1 : -1;
    else if (event.key === "ArrowUp") this.chosen.value = at < 0 ? count - 1 : at - 1;
    else if (event.key === "Escape") this.close();
    else if ((event.key === "Enter" || event.key === "Tab") && at >= 0) this.pick(at);
    else return false;
    return true;
  }

  private show(offer: Offer): void {
    // What is there already word for word is no news.
    const typed = offer.text.slice(0, offer.caret);
    const rows = offer.rows.filter((row) => applySuggestion(typed, typed.length, offer.from, row).text.trimEnd() !== typed);
    this.offer.value = rows.length > 0 ? { ...offer, rows } : null;
    this.chosen.value = -1;
  }
}

export const optionId = (at: number): string => `suggestion-${at}`;

export function Suggestions({ completion }: { completion: Completion }) {
  const list = useRef<HTMLUListElement>(null);
  const rows = completion.offer.value?.rows ?? [];
  const chosen = completion.chosen.value;
  useEffect(() => {
    if (chosen >= 0) list.current?.children[chosen]?.scrollIntoView({ block: "nearest" });
  }, [chosen]);
  return (
    <>
      <ul class="suggestions" id={LIST_ID} role="listbox" aria-label={t("Suggestions")} hidden={rows.length === 0} ref={list}>
        {rows.map((row, i) => (
          <li
            key={row.text}
            id={optionId(i)}
            role="option"
            aria-selected={i === chosen}
            onMouseDown={(event) => {
              // The focus stays where one types.
              event.preventDefault();
              completion.pick(i);
            }}
          >
            <bdi>{row.text}</bdi>
            <span class="dim">{t(KINDS[row.kind] ?? row.kind)}</span>
            <span class="dim num">{row.count === undefined ? "" : formatCount(row.count)}</span>
          </li>
        ))}
      </ul>
      <span class="hidden" role="status">
        {rows.length > 0 && tn(rows.length, "{n} suggestion, arrow keys choose", "{n} suggestions, arrow keys choose")}
      </span>
    </>
  );
}

/** The text in colours, behind the input, whose own is then not seen. */
export function Highlight({ text, from }: { text: string; from: RefObject<HTMLDivElement | null> }) {
  return (
    <div class="lexed" aria-hidden="true" ref={from}>
      {lexQuery(text).map((token, i) => (
        <span key={i} class={token.kind}>
          {token.text}
        </span>
      ))}
    </div>
  );
}
