// Beside session.ts, because the first view does not need it.
import { noteSignIn, send } from "../../api/client";
import { comeBackTo } from "../../lib/url/comeback";
import { isSignInOpen, loadSession } from "./session";

export async function signIn(token: string): Promise<void> {
  await send("POST", "session", {}, { token });
  isSignInOpen.value = false;
  noteSignIn();
  await loadSession();
}

/** Where the browser goes to sign in; it comes back to where it is now. */
export function signInAddress(provider: string): string {
  return `/sign-in/${provider}?return=${encodeURIComponent(comeBackTo(window.location))}`;
}

/** isEverywhere: all sessions of the token or person, in whatever browser. */
export async function signOut(isEverywhere = false): Promise<void> {
  await send("DELETE", "session", isEverywhere ? { everywhere: true } : {});
  window.location.assign("/");
}
