import type { RefObject } from "preact";
import { useEffect, useState } from "preact/hooks";
import { buildList, type Find, type LogTarget } from "../../../lib/log/logurl";
import { say } from "../../../i18n/i18n";
import { useKeys } from "../../../state/core/keys";
import { HitStore } from "../../../state/log/hits";
import { ErrorStore } from "../../../state/log/logerrors";
import { CaptureStore } from "../../../state/log/logcaptures";
import { MergedStore } from "../../../state/log/merged";
import type { Definition } from "../../../api/types";

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
  const { isMerged, atMs, stream, line, only } = target;
  const key = buildList(only);
  useEffect(() => {
    if (!isMerged) return setMerged(null);
    const next = new MergedStore(job, only);
    setMerged(next);
    return () => next.stop();
  }, [job, isMerged, key]);
  useEffect(() => {
    if (merged) void merged.show(atMs, stream, line);
  }, [merged, atMs, stream, line]);
  return merged;
}

/** What the job's definitions capture; null: there are none. */
export function useCaptures(job: string, stream: string | null, definitions: readonly Definition[]): CaptureStore | null {
  const [captures, setCaptures] = useState<CaptureStore | null>(null);
  useEffect(() => {
    if (stream === null || definitions.length === 0) return setCaptures(null);
    const next = new CaptureStore(job, stream, definitions);
    setCaptures(next);
    return () => next.stop();
  }, [job, stream, definitions]);
  return captures;
}

export function useErrors(job: string, stream: string | null): ErrorStore | null {
  const [errors, setErrors] = useState<ErrorStore | null>(null);
  useEffect(() => {
    if (stream === null) return setErrors(null);
    const next = new ErrorStore(job, stream);
    setErrors(next);
    return () => next.stop();
  }, [job, stream]);
  return errors;
}

interface Keys {
  input: RefObject<HTMLInputElement | null>;
  hasHits: boolean;
  step(by: number): void;
  error(by: number): void;
  follow(): void;
}

/** Wherever one is but in a field. */
export function useLogKeys({ input, hasHits, step, error, follow }: Keys): void {
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
    { on: "f", does: say("follow the newest line, or stop"), run: follow },
  ]);
}
