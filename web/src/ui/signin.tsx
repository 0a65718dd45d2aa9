import { useSignal } from "@preact/signals";
import { asProblem } from "../api/client";
import { t, tx } from "../i18n/i18n";
import { isSignInOpen, session } from "../state/core/session";
import { signIn, signInAddress } from "../state/core/signin";
import { Dialog } from "./dialog";

export function SignIn() {
  const token = useSignal("");
  const error = useSignal("");
  const isBusy = useSignal(false);

  const submit = async (event: Event): Promise<void> => {
    event.preventDefault();
    isBusy.value = true;
    error.value = "";
    try {
      await signIn(token.value.trim());
      token.value = "";
    } catch (reason) {
      const problem = asProblem(reason);
      error.value = problem.status === 401 ? t("This token is not known here, or has been taken back.") : problem.message;
    } finally {
      isBusy.value = false;
    }
  };

  return (
    <Dialog title={t("Sign in")} class="signin" onClose={() => (isSignInOpen.value = false)}>
      <Providers />
      <form onSubmit={(event) => void submit(event)}>
        <p>
          {tx("This server asks for a token. An administrator makes one with {command}, or in the settings.", {
            command: <code>sm-server token create NAME --scope read</code>,
          })}
        </p>
        <label>
          {t("Token")}
          <input
            type="password"
            autocomplete="current-password"
            required
            value={token}
            onInput={(event) => (token.value = event.currentTarget.value)}
            aria-describedby="signin-error"
          />
        </label>
        <p id="signin-error" class="error" role="alert">
          {error}
        </p>
        <div class="actions">
          <button type="button" onClick={() => (isSignInOpen.value = false)}>
            {t("Not now")}
          </button>
          <button type="submit" class="primary" disabled={isBusy}>
            {t("Sign in")}
          </button>
        </div>
      </form>
    </Dialog>
  );
}

/** Links, since the browser leaves the page: what goes wrong there is said on a page of the server's. */
function Providers() {
  const providers = session.value?.providers ?? [];
  if (providers.length === 0) return null;
  return (
    <ul class="providers">
      {providers.map(({ name, label }) => (
        <li key={name}>
          <a class="button" href={signInAddress(name)}>
            {t("Sign in with {label}", { label })}
          </a>
        </li>
      ))}
    </ul>
  );
}
