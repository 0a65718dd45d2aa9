import { useLayoutEffect, useState } from "preact/hooks";
import type { Runs, RunsSpec } from "../../state/workspace/runs";
import type { WorkspaceStore } from "../../state/workspace/workspace";

/** The jobs of a query, shared with the other panels that ask for the same; asked for before the frame that shows who asks. */
export function useRuns(store: WorkspaceStore, spec: RunsSpec): Runs | null {
  const [runs, setRuns] = useState<Runs | null>(null);
  useLayoutEffect(() => {
    const taken = store.runs.take(spec);
    setRuns(taken.runs);
    return () => taken.stop();
  }, [store, JSON.stringify(spec)]);
  return runs;
}
