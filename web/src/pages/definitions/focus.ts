import type { Field } from "../../lib/jobs/draft";

/** Puts the cursor into a cell once it is drawn. */
export function focusCell(id: number, field: Field): void {
  requestAnimationFrame(() => requestAnimationFrame(() => document.getElementById(cellId(id, field))?.focus()));
}

export const cellId = (id: number, field: Field | "up" | "down" | "delete"): string => `d${id}-${field}`;
