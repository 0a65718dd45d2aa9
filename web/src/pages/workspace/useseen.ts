import { useEffect, useState } from "preact/hooks";

/** Panels come a screen's part before they are scrolled to, and go when they are far away again. */
const MARGIN = "300px 0px";

/** Whether an element is in sight, or nearly. */
export function useSeen(host: { current: HTMLElement | null }): boolean {
  const [isSeen, setSeen] = useState(false);
  useEffect(() => {
    const element = host.current;
    if (!element) return;
    const observer = new IntersectionObserver(([entry]) => setSeen(entry?.isIntersecting ?? false), { root: document.getElementById("main"), rootMargin: MARGIN });
    observer.observe(element);
    return () => observer.disconnect();
  }, []);
  return isSeen;
}
