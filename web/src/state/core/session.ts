import { effect, signal } from "@preact/signals";
import { getJson, refusals, signIns } from "../../api/client";
import type { Session } from "../../api/types";

export const session = signal<Session | null>(null);

/** Where the server wants no token everybody may. */
export const mayWrite = (): boolean => session.value?.required !== true || session.value.scope === "write" || session.value.scope === "admin";
export const isSignInOpen = signal(false);

export async function loadSession(): Promise<void> {
  const era = signIns.peek();
  // Whoever needs data says what is wrong; this reply only decides about the dialog.
  const now = await getJson<Session>("session").catch(() => null);
  if (!now || era !== signIns.peek()) return;
  session.value = now;
  if (isSignedOut()) isSignInOpen.value = true;
}

effect(() => {
  if (refusals.value === 0) return;
  isSignInOpen.value = true;
  const known = session.peek();
  if (known) session.value = { ...known, authenticated: false };
  else void loadSession(); // by whom one may sign in
});

/** Whether asking for anything would only be refused. */
export const isSignedOut = (): boolean => session.value?.required === true && !session.value.authenticated;
