// Beside session.ts, because the first view does not need it.
import { noteSignIn, send } from "../../api/client";
import { isSignInOpen, loadSession } from "./session";

export async function signIn(token: string): Promise<void> {
  await send("POST", "session", {}, { token });
  isSignInOpen.value = false;
  noteSignIn();
  await loadSession();
}

/** isEverywhere: all sessions of the token, in whatever browser. */
export async function signOut(isEverywhere = false): Promise<void> {
  await send("DELETE", "session", isEverywhere ? { everywhere: true } : {});
  window.location.assign("/");
}
