import type { RefObject } from "preact";
import { useEffect } from "preact/hooks";
import { buildList, type Find, type LogTarget } from "../../../lib/log/logurl";
import { say } from "../../../i18n/i18n";
import { useKeys } from "../../../state/core/keys";
import { useStore } from "../../../state/core/store";
import { HitStore } from "../../../state/log/hits";
import { ErrorStore } from "../../../state/log/logerrors";
import { CaptureStore } from "../../../state/log/logcaptures";
import { MergedStore } from "../../../state/log/merged";

/** The search that the address asks for; null: none. */
export function useHits(job: string, find: Find): HitStore | null {
  const { text, isRegex, matchesCase, isOldest } = find;
  const make = (): HitStore | null => (text === "" ? null : new HitStore(job, { text, isRegex, matchesCase, isOldest }));
  const hits = useStore(make, [job, text, isRegex, matchesCase, isOldest], (next) => next.start());
  return text === "" ? null : hits;
}

/** All streams by time; it is loaded anew only for a place that it does not hold. */
export function useMerged(job: string, target: LogTarget): MergedStore | null {
  const { isMerged, atMs, stream, line, only } = target;
  const merged = useStore(() => (isMerged ? new MergedStore(job, only) : null), [job, isMerged, buildList(only)]);
  useEffect(() => {
    if (merged) void merged.show(atMs, stream, line);
  }, [merged, atMs, stream, line]);
  return merged;
}

/** What of the lines is a point: asked anew when there is a metric more, of which lines before may have points. */
export function useCaptures(job: string, stream: string | null, metrics = 0): CaptureStore | null {
  return useStore(() => (stream === null || metrics === 0 ? null : new CaptureStore(job, stream)), [job, stream, metrics]);
}

/** null: of all streams. */
export function useErrors(job: string, stream: string | null): ErrorStore | null {
  return useStore(() => new ErrorStore(job, stream), [job, stream]);
}

interface Keys {
  input: RefObject<HTMLInputElement | null>;
  hasHits: boolean;
  step(by: number): void;
  error(by: number): void;
  firstError(): void;
  follow(): void;
}

/** Wherever one is but in a field. */
export function useLogKeys({ input, hasHits, step, error, firstError, follow }: Keys): void {
  const focus = (): void => {
    input.current?.focus();
    input.current?.select();
  };
  useKeys(say("Log"), [
    { on: "/", does: say("search the log"), run: focus },
    { on: "n", does: say("next hit"), run: () => hasHits && step(1) },
    { on: "N", does: say("hit before"), run: () => hasHits && step(-1) },
    { on: "e", does: say("next error"), run: () => error(1) },
    { on: "E", does: say("error before"), run: () => error(-1) },
    { on: "w", does: say("what failed first, over all nodes"), run: firstError },
    { on: "f", does: say("follow the newest line, or stop"), run: follow },
  ]);
}
