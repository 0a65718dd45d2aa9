import type { ComponentChildren } from "preact";
import { jobPath } from "../api/client";
import { Resource } from "../state/core/resource";
import { useStore } from "../state/core/store";
import { ProblemBox } from "./problem";
import { Skeleton } from "./skeleton";

interface Props<T> {
  store: { name: string };
  /** What is asked of the job: "/tokens". */
  of: string;
  title: string;
  class?: string;
  /** Of these nothing is shown, not even the title; nor before it is known. */
  isNone?: (reply: T) => boolean;
  children: (reply: T) => ComponentChildren;
}

/** What the server works out of a job, below a title: it is on its way, it failed, or here it is. */
export function Asked<T>({ store, of, title, class: className, isNone, children }: Props<T>) {
  const asked = useStore(
    () => new Resource<T>(jobPath(store.name, of)),
    [store],
    (next) => next.load(),
  );
  const reply = asked?.value.value;
  const problem = asked?.problem.value;
  if (isNone && !problem && (!reply || isNone(reply))) return null;
  return (
    <section class={className}>
      <h2>{title}</h2>
      {problem ? <ProblemBox problem={problem} onRetry={() => void asked?.load()} /> : reply ? children(reply) : <Skeleton rows={3} />}
    </section>
  );
}
