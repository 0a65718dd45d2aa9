// Beside session.ts, because the first view does not need it.
import { noteSignIn, send } from "../../api/client";
import { isSignInOpen, loadSession } from "./session";

export async function signIn(token: string): Promise<void> {
  await send("POST", "session", {}, { token });
  isSignInOpen.value = false;
  noteSignIn();
  await loadSession();
}

export async function signOut(): Promise<void> {
  await send("DELETE", "session");
  window.location.assign("/");
}
