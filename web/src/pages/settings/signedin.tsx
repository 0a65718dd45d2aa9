import { t, tx } from "../../i18n/i18n";
import { session } from "../../state/core/session";
import { signOut } from "../../state/core/signin";

/** Who this browser is to the server, and the way out. */
export function SignedIn() {
  const now = session.value;
  if (!now?.authenticated) return null;
  const scope = <strong>{now.scope ?? ""}</strong>;
  return (
    <p>
      {now.is_person
        ? tx("Signed in as {name}, who may {scope}.", { name: <bdi>{now.name ?? ""}</bdi>, scope })
        : tx("Signed in with a token that may {scope}.", { scope })}{" "}
      <button type="button" onClick={() => void signOut()}>
        {t("Sign out")}
      </button>{" "}
      <button type="button" title={t("Ends all sessions of this token or person, in other browsers, too.")} onClick={() => void signOut(true)}>
        {t("Sign out everywhere")}
      </button>
    </p>
  );
}
