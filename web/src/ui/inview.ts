import { useLayoutEffect, useRef } from "preact/hooks";

/** Of a row of links that scrolls sideways: the current one is in view whenever `here` changes. The page itself stays where it is. */
export function useCurrentInView<E extends HTMLElement>(here: unknown) {
  const host = useRef<E>(null);
  useLayoutEffect(() => {
    const row = host.current;
    const current = row?.querySelector<HTMLElement>("[aria-current]");
    if (!row || !current) return;
    const room = row.getBoundingClientRect();
    const place = current.getBoundingClientRect();
    if (place.left < room.left || place.right > room.right) row.scrollLeft += place.left + place.width / 2 - room.left - room.width / 2;
  }, [here]);
  return host;
}
