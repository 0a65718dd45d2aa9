// What a part of the page holds of the server while somebody looks at it: whatever a store has under way ends with the store.
import { signal } from "@preact/signals";
import { useLayoutEffect, useState } from "preact/hooks";
import { asProblem, getJson, isAbort, type Params, type Problem } from "../../api/client";

export interface Stoppable {
  stop(): void;
}

/** Hears what became of a request: a problem, or null. Of one that nobody waits for it hears nothing. */
export type Note = (problem: Problem | null) => void;

export class Store {
  readonly problem = signal<Problem | null>(null);
  private readonly life = new AbortController();
  readonly signal = this.life.signal;

  stop(): void {
    this.life.abort();
  }

  /** What stands on this store ends with it. */
  whenStopped(...ends: (Stoppable | (() => void))[]): void {
    for (const end of ends) this.signal.addEventListener("abort", () => ("stop" in end ? end.stop() : end()));
  }

  protected note(problem: Problem | null): void {
    this.problem.value = problem;
  }

  /** null: it failed, or nobody waits for it any more. */
  protected async request<T>(act: () => Promise<T>, note: Note = (problem) => this.note(problem)): Promise<T | null> {
    try {
      const result = await act();
      if (this.signal.aborted) return null;
      note(null);
      return result;
    } catch (error) {
      if (!isAbort(error) && !this.signal.aborted) note(asProblem(error));
      return null;
    }
  }

  protected get<T>(path: string, params?: Params, note?: Note): Promise<T | null> {
    return this.request(() => getJson<T>(path, params, this.signal), note);
  }

  /** The same, and puts the reply to its use, whose failure is told as well. Whether all of it went well. */
  protected async getFor<T>(path: string, use: (reply: T) => void, params?: Params, note?: Note): Promise<boolean> {
    return (await this.request(async () => (use(await getJson<T>(path, params, this.signal)), true), note)) === true;
  }
}

/**
 * A store for as long as a component shows it, made anew when `inputs` change; null: there is nothing to show.
 * It starts before the first frame: each frame that an effect waits for is one more until there is something to see.
 */
export function useStore<S extends Stoppable>(make: () => S | null, inputs: readonly unknown[], start?: (store: S) => unknown): S | null {
  const [store, setStore] = useState<S | null>(null);
  useLayoutEffect(() => {
    const next = make();
    setStore(next);
    if (next) start?.(next);
    return () => next?.stop();
  }, inputs);
  return store;
}
