export const SERIES_COLORS = 8;
/** How curves of one hue are told apart, in pixels of line and gap. */
export const DASHES: readonly (readonly number[])[] = [[], [6, 3], [2, 3], [8, 3, 2, 3]];

/** A job's or metric's place in the palette: from its name alone, so it is the same on every page. */
export function seriesIndex(name: string): number {
  let hash = 0x811c9dc5;
  for (let i = 0; i < name.length; i++) {
    hash ^= name.charCodeAt(i);
    hash = Math.imul(hash, 0x01000193);
  }
  return (hash >>> 0) % SERIES_COLORS;
}
