import { useEffect, useState } from "preact/hooks";

/** Panels come a screen's part before they are scrolled to, and go when they are far away again. */
const MARGIN = "300px 0px";

const heard = new WeakMap<Element, (isSeen: boolean) => void>();
let observer: IntersectionObserver | null = null;
/** What came into sight and has not been told of it: a panel a frame, so that scrolling stays smooth. */
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
      if (waiting.size === 0 && entries.length > 0) requestAnimationFrame(tellNext);
      for (const { target, isIntersecting } of entries) waiting.set(target, isIntersecting);
    },
    { root: document.getElementById("main"), rootMargin: MARGIN },
  );
  heard.set(element, tell);
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
  useEffect(() => (host.current ? watch(host.current, setSeen) : undefined), []);
  return isSeen;
}
