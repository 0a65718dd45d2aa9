import type { RefObject } from "preact";
import { useEffect, useState } from "preact/hooks";
import type { Find, LogTarget } from "../../lib/url";
import { say } from "../../i18n/i18n";
import { useKeys } from "../../state/keys";
import { HitStore } from "../../state/hits";
import { MergedStore } from "../../state/merged";

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
  const focus = (): void => {
    input.current?.focus();
    input.current?.select();
  };
  useKeys(say("Log"), [
    { on: "/", does: say("search the log"), run: focus },
    { on: "n", does: say("next hit"), run: () => hits !== null && step(1) },
    { on: "N", does: say("hit before"), run: () => hits !== null && step(-1) },
  ]);
}
