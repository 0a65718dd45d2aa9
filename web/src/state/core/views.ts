// Saved views of the list of jobs: a query and its order under a name, one's own or the team's.
import { signal } from "@preact/signals";
import { asProblem, getJson, send, type Problem } from "../../api/client";
import type { SavedView } from "../../api/types";

export const views = signal<SavedView[] | null>(null);
export const viewsProblem = signal<Problem | null>(null);
/** What was deleted last, until the menu closes: it can be had back. */
export const lastDeleted = signal<SavedView | null>(null);

async function attempt(act: () => Promise<unknown>): Promise<boolean> {
  try {
    await act();
    viewsProblem.value = null;
    return true;
  } catch (error) {
    viewsProblem.value = asProblem(error);
    return false;
  }
}

export async function loadViews(): Promise<void> {
  await attempt(async () => {
    views.value = (await getJson<{ views: SavedView[] }>("views")).views;
  });
}

/** Without a scope the server says whose it is. A view of the same name and scope is replaced. */
export async function saveView(view: Pick<SavedView, "name" | "query" | "sort"> & Partial<SavedView>): Promise<boolean> {
  const { name, query, sort, columns, scope } = view;
  const isSaved = await attempt(() => send("POST", "views", {}, { name, query, sort, columns, scope }));
  if (isSaved) await loadViews();
  return isSaved;
}

export async function deleteView(view: SavedView): Promise<void> {
  const isGone = await attempt(() => send("DELETE", "views", { name: view.name, scope: view.scope }));
  if (!isGone) return;
  lastDeleted.value = view;
  await loadViews();
}
