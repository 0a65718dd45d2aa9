import { useLayoutEffect, useRef } from "preact/hooks";

/** Of a row of links that scrolls sideways: the current one is in view whenever `here` changes. The page itself stays where it is. */
export function useCurrentInView<E extends HTMLElement>(here: unknown) {
  const host = useRef<E>(null);
  useLayoutEffect(() => {
    const row = host.current;
    const current = row?.querySelector<HTMLElement>("[aria-current]");
    if (!row || !current) return;
    // Asked for here, their places would make the browser lay out what is not complete yet: it tells of them at the end of its own layout.
    const observer = new IntersectionObserver(
      ([entry]) => {
        observer.disconnect();
        const [place, room] = [entry?.boundingClientRect, entry?.rootBounds];
        if (!place || !room || (place.left >= room.left && place.right <= room.right)) return;
        row.scrollLeft += place.left + place.width / 2 - room.left - room.width / 2;
      },
      { root: row },
    );
    observer.observe(current);
    return () => observer.disconnect();
  }, [here]);
  return host;
}
