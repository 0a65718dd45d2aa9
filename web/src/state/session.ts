import { effect, signal } from "@preact/signals";
import { getJson, refusals, send } from "../api/client";
import type { Session } from "../api/types";

export const session = signal<Session | null>(null);
export const isSignInOpen = signal(false);
/** Goes up when a sign-in succeeds: what failed before is worth another try. */
export const signIns = signal(0);

export async function loadSession(): Promise<void> {
  try {
    session.value = await getJson<Session>("session");
  } catch {
    // Whoever needs data says what is wrong; this reply only decides about the dialog.
    return;
  }
  if (isSignedOut()) isSignInOpen.value = true;
}

export async function signIn(token: string): Promise<void> {
  await send("POST", "session", {}, { token });
  isSignInOpen.value = false;
  signIns.value++;
  await loadSession();
}

export async function signOut(): Promise<void> {
  await send("DELETE", "session");
  window.location.assign("/");
}

effect(() => {
  if (refusals.value === 0) return;
  isSignInOpen.value = true;
  const known = session.peek();
  if (known) session.value = { ...known, authenticated: false };
});

/** Whether asking for anything would only be refused. */
export const isSignedOut = (): boolean => session.value?.required === true && !session.value.authenticated;
