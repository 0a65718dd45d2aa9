import { signal, useSignal } from "@preact/signals";
import { send } from "../../api/client";
import { say, t, tx } from "../../i18n/i18n";
import { formatTime } from "../../lib/text/format";
import { loadSession } from "../../state/core/session";
import { Confirm } from "../../ui/confirm";
import { CopyLine } from "../../ui/copy";
import { DataTable } from "../../ui/datatable";
import type { Part, Token } from "./parts";
import { PartSection } from "./section";

const NAME_MAX = 63;
const SCOPES = ["read", "write", "admin"] as const;
const MEANINGS: Readonly<Record<Token["scope"], string>> = {
  read: say("read: see everything"),
  write: say("write: also send lines, points and jobs"),
  admin: say("admin: also change settings, tokens and what is stored"),
};

/** The text of the token that was made last: the server does not know it any more. */
const made = signal<{ name: string; token: string } | null>(null);

export function Tokens({ part }: { part: Part<{ tokens: Token[] }> }) {
  const tokens = part.value.value?.tokens ?? [];
  const leaving = useSignal<Token | null>(null);
  return (
    <PartSection part={part} id="tokens" title={t("Tokens")}>
      {tokens.length === 0 ? (
        <p>{t("There is no token: whoever reaches this server may do everything. The first one is an administrator's, and from then on everybody needs one.")}</p>
      ) : (
        <TokenTable tokens={tokens} onRevoke={(token) => (leaving.value = token)} />
      )}
      {made.value && (
        <div class="made" role="status">
          <p>{tx("The text of {name}. It is shown this once: keep it now.", { name: <bdi>{made.value.name}</bdi> })}</p>
          <CopyLine text={made.value.token} label={t("the token")} />
        </div>
      )}
      <TokenForm part={part} isFirst={tokens.length === 0} />
      {leaving.value && <Revoke part={part} token={leaving.value} onClose={() => (leaving.value = null)} />}
    </PartSection>
  );
}

function TokenTable({ tokens, onRevoke }: { tokens: readonly Token[]; onRevoke: (token: Token) => void }) {
  return (
    <div class="scrolls" tabIndex={0} role="group" aria-label={t("Tokens")}>
      <DataTable
        rows={tokens}
        keyOf={(token) => token.name}
        columns={[
          { title: t("name"), isHead: true, cell: (token) => <bdi>{token.name}</bdi> },
          { title: t("may"), cell: (token) => token.scope },
          { title: t("team"), cell: (token) => <bdi>{token.team || t("all")}</bdi> },
          { title: t("made"), cell: (token) => formatTime(token.created_ms) },
          {
            cell: (token) => (
              <button type="button" aria-label={t("Revoke {name}", { name: token.name })} onClick={() => onRevoke(token)}>
                {t("Revoke…")}
              </button>
            ),
          },
        ]}
      />
    </div>
  );
}

function Revoke({ part, token, onClose }: { part: Part<unknown>; token: Token; onClose: () => void }) {
  const revoke = async (): Promise<void> => {
    await part.change("DELETE", `/${encodeURIComponent(token.name)}`, undefined, t("Revoked {name}", { name: token.name }));
    if (made.value?.name === token.name) made.value = null;
  };
  return (
    <Confirm title={t("Revoke this token?")} action={t("Revoke")} onYes={() => void revoke()} onClose={onClose}>
      <p>{tx("Whoever uses {name} is refused from now on, senders of lines included. A token that is gone does not come back.", { name: <strong><bdi>{token.name}</bdi></strong> })}</p>
    </Confirm>
  );
}

function TokenForm({ part, isFirst }: { part: Part<unknown>; isFirst: boolean }) {
  const name = useSignal("");
  const scope = useSignal<Token["scope"]>("read");
  const team = useSignal("");
  const submit = async (event: Event): Promise<void> => {
    event.preventDefault();
    let text = "";
    const wanted = { name: name.value.trim(), scope: isFirst ? "admin" : scope.value, team: team.value.trim() };
    const isMade = await part.attempt(async () => {
      const reply = await send("POST", "tokens", {}, wanted);
      text = ((await reply.json()) as { token: string }).token;
      // Without a session the page itself would be the first to be refused.
      if (isFirst) await send("POST", "session", {}, { token: text });
    }, t("Made {name}", { name: wanted.name }));
    if (!isMade) return;
    made.value = { name: wanted.name, token: text };
    name.value = "";
    if (isFirst) await loadSession();
    await part.load();
  };
  return (
    <form class="line" onSubmit={(event) => void submit(event)}>
      <label>
        {t("Name")}
        <input type="text" required maxLength={NAME_MAX} autocomplete="off" value={name} onInput={(event) => (name.value = event.currentTarget.value)} />
      </label>
      <label>
        {t("It may")}
        <select disabled={isFirst} value={isFirst ? "admin" : scope.value} onChange={(event) => (scope.value = event.currentTarget.value as Token["scope"])}>
          {SCOPES.map((one) => (
            <option key={one} value={one}>
              {t(MEANINGS[one])}
            </option>
          ))}
        </select>
      </label>
      <label>
        {t("Team (empty: all)")}
        <input type="text" maxLength={NAME_MAX} autocomplete="off" value={team} disabled={isFirst} onInput={(event) => (team.value = event.currentTarget.value)} />
      </label>
      <button type="submit" class="primary">
        {t("Make a token")}
      </button>
    </form>
  );
}
