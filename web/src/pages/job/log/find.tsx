import { useSignal } from "@preact/signals";
import type { RefObject } from "preact";
import { useEffect, useRef } from "preact/hooks";
import { t } from "../../../i18n/i18n";
import { formatCount } from "../../../lib/text/format";
import { findQuery, type Find } from "../../../lib/log/logurl";
import type { HitStore } from "../../../state/log/hits";
import { patchQuery } from "../../../state/core/router";

const TYPING_MS = 300;

interface Props {
  find: Find;
  hits: HitStore | null;
  /** Place of the chosen line in the list of hits, or -1. */
  active: number;
  input: RefObject<HTMLInputElement | null>;
  isOnlyHits: boolean;
  onStep(by: number): void;
}

/** The field to search the whole log with: applied as one types, Enter and Shift+Enter step through the hits. */
export function FindBar({ find, hits, active, input, isOnlyHits, onStep }: Props) {
  const text = useSignal(find.text);
  const timer = useRef(0);

  useEffect(() => {
    text.value = find.text;
  }, [find.text, text]);
  useEffect(() => () => window.clearTimeout(timer.current), []);

  const apply = (change: Partial<Find>): void => {
    window.clearTimeout(timer.current);
    const next = { ...find, text: text.value, ...change };
    patchQuery({ ...findQuery(next), ...(next.text === "" ? { hits: undefined } : {}) }, true);
  };
  const onKeyDown = (event: KeyboardEvent): void => {
    if (event.key === "Enter") {
      event.preventDefault();
      if (text.value === find.text) onStep(event.shiftKey ? -1 : 1);
      else apply({});
    } else if (event.key === "Escape") {
      event.preventDefault();
      text.value = "";
      apply({});
      input.current?.blur();
    }
  };
  const has = (hits?.hits.value?.length ?? 0) > 0;
  return (
    <div class="toolbar find" role="search" aria-label={t("Search in this job's log")}>
      <input
        ref={input}
        type="search"
        aria-label={t("Search in the log of all streams")}
        aria-keyshortcuts="/"
        title={t("/ comes here; Enter and Shift+Enter, or n and N, go from hit to hit; Escape clears")}
        placeholder={t("Search the log  /")}
        autocomplete="off"
        spellcheck={false}
        value={text}
        onInput={(event) => {
          text.value = event.currentTarget.value;
          window.clearTimeout(timer.current);
          timer.current = window.setTimeout(() => apply({}), TYPING_MS);
        }}
        onKeyDown={onKeyDown}
      />
      <button type="button" class="mono" aria-pressed={find.isRegex} title={t("Regular expression")} aria-label={t("Regular expression")} onClick={() => apply({ isRegex: !find.isRegex })}>
        .*
      </button>
      <button type="button" class="mono" aria-pressed={find.matchesCase} title={t("Match case")} aria-label={t("Match case")} onClick={() => apply({ matchesCase: !find.matchesCase })}>
        Aa
      </button>
      {hits && (
        <>
          <button type="button" disabled={!has} title={t("Previous hit (N)")} aria-label={t("Previous hit")} onClick={() => onStep(-1)}>
            ↑
          </button>
          <button type="button" disabled={!has} title={t("Next hit (n)")} aria-label={t("Next hit")} onClick={() => onStep(1)}>
            ↓
          </button>
          <span class="count" role="status">
            {countText(hits, active)}
          </span>
          <button type="button" aria-pressed={find.isOldest} title={t("Hits from the oldest to the newest")} aria-label={t("Hits from the oldest to the newest")} onClick={() => apply({ isOldest: !find.isOldest })}>
            {find.isOldest ? t("old → new") : t("new → old")}
          </button>
          <button type="button" aria-pressed={isOnlyHits} title={t("Only the hits, live, without the log")} onClick={() => patchQuery({ hits: isOnlyHits ? undefined : "only" }, true)}>
            {t("only hits")}
          </button>
        </>
      )}
    </div>
  );
}

function countText(hits: HitStore, active: number): string {
  const loaded = hits.hits.value;
  if (hits.problem.value) return "";
  if (loaded === null) return t("searching…");
  const total = hits.total.value;
  const isMore = hits.isCountPartial.value || (total === null && hits.cursor.value !== null);
  const all = `${formatCount(total ?? loaded.length)}${isMore ? "+" : ""}`;
  if (active >= 0) return t("{i} of {n}", { i: formatCount(active + 1), n: all });
  return all === "1" ? t("1 hit") : t("{n} hits", { n: all });
}
