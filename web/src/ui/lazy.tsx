import { signal } from "@preact/signals";
import type { ComponentType } from "preact";
import { useLayoutEffect, useRef } from "preact/hooks";
import { asProblem, isAnswering, type Problem } from "../api/client";
import { ProblemBox } from "./problem";
import { Skeleton } from "./skeleton";

/** The frame that is being made is shown, and what it needs done is done. */
export const nextFrame = (): Promise<void> => new Promise((resolve) => requestAnimationFrame(() => setTimeout(resolve)));

/** A file that did not come while the server was away comes when it is back; a second failure is one. */
export async function insist<T>(load: () => Promise<T>): Promise<T> {
  try {
    return await load();
  } catch {
    isAnswering.value = false; // so that somebody knocks
    let off = (): void => undefined;
    await new Promise<void>((resolve) => (off = isAnswering.subscribe((is) => is && resolve())));
    off();
    return load();
  }
}

const PATIENCE_MS = 700;

/** What one came for is there, or is not going to be: it is time for what stands around it. */
export let hasDrawn: () => void;
const drawn = new Promise<void>((resolve) => (hasDrawn = resolve));
setTimeout(() => hasDrawn(), PATIENCE_MS);

let awaited = 0;

function awaitOne(): () => void {
  awaited++;
  let isOver = false;
  return () => {
    if (isOver) return;
    isOver = true;
    awaited--;
    void nextFrame().then(() => awaited === 0 && hasDrawn());
  };
}

/**
 * A curve, or the lines, of those that one came for are on their way: what stands around comes after the last of them. What comes back says that it
 * is drawn, as `isOver` does, or that it is not going to be.
 */
export function useAwaited(isOver: boolean): () => void {
  const end = useRef<() => void>(() => undefined);
  useLayoutEffect(() => (end.current = awaitOne()), []);
  useLayoutEffect(() => {
    if (isOver) end.current();
  }, [isOver]);
  return () => end.current();
}

/** What stands around what one came for, files and requests: it comes when that has been drawn. Nobody sees a frame in a hidden page. */
export const later = async <T,>(load: () => Promise<T>): Promise<T> => {
  await drawn;
  if (!document.hidden) await nextFrame();
  return load();
};

/** Views that ran in one go with the page's first script (vite.config.ts, RUNS_AT_ONCE), by name: an import of them ends a frame later. */
const present = new Map<string, unknown>();

export const isHere = (name: string, view: unknown): void => void present.set(name, view);

/**
 * A part of the page that is fetched when it is first shown: the first view does not wait for it. rows: the room that it takes. name: of
 * one that says that it `isHere`.
 */
export function lazy<Props extends object>(load: () => Promise<ComponentType<Props>>, rows: number, name = ""): ComponentType<Props> {
  const part = signal<ComponentType<Props> | null>(null);
  const problem = signal<Problem | null>(null);
  let isAsked = false;

  const ask = async (): Promise<void> => {
    isAsked = true;
    problem.value = null;
    try {
      part.value = await insist(load);
    } catch (error) {
      problem.value = asProblem(error);
      isAsked = false;
    }
  };

  return function Lazy(props: Props) {
    const Part = part.value ?? (present.get(name) as ComponentType<Props> | undefined);
    if (Part) return <Part {...props} />;
    if (!isAsked && !problem.value) void ask();
    // A newer server no longer has the file of an older page: loading anew is the way in both cases.
    if (problem.value && rows > 0) return <ProblemBox problem={problem.value} onRetry={() => location.reload()} />;
    return rows > 0 ? <Skeleton rows={rows} /> : null;
  };
}
