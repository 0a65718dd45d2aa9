import { t } from "../i18n/i18n";
import { adoptStyle } from "../lib/jobs/adopt";
import { scopes, type Key } from "../state/core/keys";
import style from "../styles/help.css?inline";
import { Dialog } from "./dialog";

adoptStyle(style);

const SIGNS: Record<string, string> = { ArrowUp: "↑", ArrowDown: "↓", ArrowLeft: "←", ArrowRight: "→", Escape: "Esc" };

function Keys({ on }: { on: Key["on"] }) {
  return (
    <dt>
      {[on].flat().map((one) => (
        <span key={one}>
          {one.split(" ").map((key) => (
            <kbd key={key}>{key.replace(/[A-Z][a-z]+[A-Z]?[a-z]*$/, (word) => SIGNS[word] ?? word)}</kbd>
          ))}
        </span>
      ))}
    </dt>
  );
}

/** Lists what the keyboard does here: the part that is nearest first. */
export function Help({ onClose }: { onClose: () => void }) {
  const parts = new Map<string, readonly Key[]>();
  for (const { current } of [...scopes.value].reverse()) parts.set(current.title, [...(parts.get(current.title) ?? []), ...current.keys]);
  return (
    <Dialog title={t("What the keyboard does here")} class="help" onClose={onClose}>
      <form method="dialog">
        <button class="quiet" aria-label={t("Close")}>
          ✕
        </button>
      </form>
      {[...parts].map(([title, keys]) => (
        <section key={title}>
          <h3>{t(title)}</h3>
          <dl>
            {keys.map((key) => (
              <div key={key.does}>
                <Keys on={key.on} />
                <dd>{t(key.does)}</dd>
              </div>
            ))}
          </dl>
        </section>
      ))}
    </Dialog>
  );
}
