import { signal } from "@preact/signals";
import { getJson } from "../api/client";
import type { ServerInfo } from "../api/types";
import { isSignedOut } from "./session";

const POLL_MS = 10_000;

export const info = signal<ServerInfo | null>(null);

/** Asked for while the page still starts: the first view needs it before anything else. */
export const infoLoaded: Promise<ServerInfo | null> = load();
let early: Promise<ServerInfo | null> | null = infoLoaded;

async function load(): Promise<ServerInfo | null> {
  try {
    info.value = await getJson<ServerInfo>("info");
    return info.value;
  } catch {
    return null;
  }
}

/**
 * The server's sequence before anything else is asked for. A subscription that starts here
 * misses nothing of the replies that follow, whichever of them is answered first.
 */
export async function freshSeq(): Promise<string | null> {
  const reply = early ?? load();
  early = null;
  return (await reply)?.seq ?? null;
}

export function pollInfo(): void {
  window.setInterval(() => {
    if (!document.hidden && !isSignedOut()) void load();
  }, POLL_MS);
}
