// Where panels stand: they follow each other through rows of twelve columns, so that an order and their sizes say it all.
import { COLUMNS, LEAST_WIDTH, MOST_HEIGHT } from "./document";

export interface Sized {
  width: number;
  height: number;
}

export interface Placed {
  /** From 0. */
  row: number;
  column: number;
}

/** As the page's grid does it: each behind the one before, at the next place where it has room. */
export function place(panels: readonly Sized[]): Placed[] {
  const taken = new Set<number>();
  const isFree = (row: number, column: number, { width, height }: Sized): boolean => {
    for (let r = row; r < row + height; r++) for (let c = column; c < column + width; c++) if (taken.has(r * COLUMNS + c)) return false;
    return column + width <= COLUMNS;
  };
  let [row, column] = [0, 0];
  return panels.map((panel) => {
    while (!isFree(row, column, panel)) [row, column] = column + panel.width < COLUMNS ? [row, column + 1] : [row + 1, 0];
    for (let r = row; r < row + panel.height; r++) for (let c = column; c < column + panel.width; c++) taken.add(r * COLUMNS + c);
    return { row, column };
  });
}

export function move<T>(all: readonly T[], from: number, to: number): T[] {
  const moved = all[from];
  if (moved === undefined || to < 0 || to >= all.length || from === to) return [...all];
  const rest = all.filter((_, i) => i !== from);
  return [...rest.slice(0, to), moved, ...rest.slice(to)];
}

export type Direction = "left" | "right" | "up" | "down";

/** The panel beside this one, or in the row above or below the nearest one. */
export function neighbour(panels: readonly Sized[], at: number, direction: Direction): number {
  if (direction === "left") return Math.max(0, at - 1);
  if (direction === "right") return Math.min(panels.length - 1, at + 1);
  const placed = place(panels);
  const here = placed[at];
  const own = panels[at];
  if (!here || !own) return at;
  const middle = here.column + own.width / 2;
  let best = at;
  let least = Infinity;
  placed.forEach((other, i) => {
    const { width = 0, height = 0 } = panels[i] ?? {};
    const gap = direction === "up" ? here.row - (other.row + height) : other.row - (here.row + own.height);
    if (gap < 0) return;
    // Nearest by rows; of those the one that stands most nearly below or above.
    const away = gap * COLUMNS + Math.abs(other.column + width / 2 - middle);
    if (away < least) [best, least] = [i, away];
  });
  return best;
}

const within = (value: number, least: number, most: number): number => Math.min(most, Math.max(least, Math.round(value)));

export const resized = <T extends Sized>(panel: T, width: number, height: number): T => ({
  ...panel,
  width: within(width, LEAST_WIDTH, COLUMNS),
  height: within(height, 1, MOST_HEIGHT),
});
