import type { RefObject } from "preact";
import { useEffect, useRef, useState } from "preact/hooks";
import type { Find, LogTarget } from "../../lib/url";
import { HitStore } from "../../state/hits";
import { MergedStore } from "../../state/merged";
import { isTyping } from "../../ui/querybar";

/** The search that the address asks for; null: none. */
export function useHits(job: string, find: Find): HitStore | null {
  const [hits, setHits] = useState<HitStore | null>(null);
  const { text, isRegex, matchesCase } = find;
  useEffect(() => {
    if (text === "") return setHits(null);
    const next = new HitStore(job, { text, isRegex, matchesCase });
    setHits(next);
    void next.start();
    return () => next.stop();
  }, [job, text, isRegex, matchesCase]);
  return text === "" ? null : hits;
}

/** All streams by time; it is loaded anew only for a place that it does not hold. */
export function useMerged(job: string, target: LogTarget): MergedStore | null {
  const [merged, setMerged] = useState<MergedStore | null>(null);
  const { isMerged, atMs, stream, line } = target;
  useEffect(() => {
    if (!isMerged) return setMerged(null);
    const next = new MergedStore(job);
    setMerged(next);
    return () => next.stop();
  }, [job, isMerged]);
  useEffect(() => {
    if (merged) void merged.show(atMs, stream, line);
  }, [merged, atMs, stream, line]);
  return merged;
}

/** "/" goes to the search, n and N from hit to hit, wherever one is but in a field. */
export function useLogKeys(input: RefObject<HTMLInputElement | null>, hits: HitStore | null, step: (by: number) => void): void {
  const latest = useRef({ hits, step });
  latest.current = { hits, step };
  useEffect(() => {
    const onKey = (event: KeyboardEvent): void => {
      if (event.ctrlKey || event.metaKey || event.altKey || isTyping(event.target)) return;
      if (event.key === "/") {
        input.current?.focus();
        input.current?.select();
      } else if (latest.current.hits && (event.key === "n" || event.key === "N")) latest.current.step(event.key === "n" ? 1 : -1);
      else return;
      event.preventDefault();
    };
    document.addEventListener("keydown", onKey);
    return () => document.removeEventListener("keydown", onKey);
  }, [input]);
}
