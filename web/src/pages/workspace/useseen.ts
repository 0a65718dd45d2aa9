import { useLayoutEffect, useState } from "preact/hooks";

/** Panels come a screen's part before they are scrolled to, and go when they are far away again. */
const MARGIN = "300px 0px";

const heard = new WeakMap<Element, (isSeen: boolean) => void>();
let observer: IntersectionObserver | null = null;
/** Of these nothing has been said yet: what is in sight as the view opens comes at once, so that its curves are asked for together. */
const fresh = new WeakSet<Element>();
/** What came into sight by scrolling and has not been told of it: a panel a frame, so that it stays smooth. */
const waiting = new Map<Element, boolean>();

function tellNext(): void {
  const [next] = waiting;
  if (!next) return;
  const [element, isSeen] = next;
  waiting.delete(element);
  heard.get(element)?.(isSeen);
  if (waiting.size > 0) requestAnimationFrame(tellNext);
}

function watch(element: Element, tell: (isSeen: boolean) => void): () => void {
  observer ??= new IntersectionObserver(
    (entries) => {
      const wasIdle = waiting.size === 0;
      for (const { target, isIntersecting } of entries) {
        if (fresh.delete(target)) heard.get(target)?.(isIntersecting);
        else waiting.set(target, isIntersecting);
      }
      if (wasIdle && waiting.size > 0) requestAnimationFrame(tellNext);
    },
    { root: document.getElementById("main"), rootMargin: MARGIN },
  );
  heard.set(element, tell);
  fresh.add(element);
  observer.observe(element);
  return () => {
    observer?.unobserve(element);
    heard.delete(element);
    waiting.delete(element);
  };
}

/** Whether an element is in sight, or nearly. */
export function useSeen(host: { current: HTMLElement | null }): boolean {
  const [isSeen, setSeen] = useState(false);
  useLayoutEffect(() => (host.current ? watch(host.current, setSeen) : undefined), []);
  return isSeen;
}
