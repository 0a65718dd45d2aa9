import { useEffect, useState } from "preact/hooks";
import type { Runs, RunsSpec } from "../../state/workspace/runs";
import type { WorkspaceStore } from "../../state/workspace/workspace";

/** The jobs of a query, shared with the other panels that ask for the same. */
export function useRuns(store: WorkspaceStore, spec: RunsSpec): Runs | null {
  const [runs, setRuns] = useState<Runs | null>(null);
  useEffect(() => {
    const taken = store.runs.take(spec);
    setRuns(taken.runs);
    return () => taken.stop();
  }, [store, JSON.stringify(spec)]);
  return runs;
}
