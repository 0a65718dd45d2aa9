import { useEffect, useState } from "preact/hooks";
import type { Trash } from "../../api/trash";
import { say, t } from "../../i18n/i18n";
import { adoptStyle } from "../../lib/jobs/adopt";
import { setWant } from "../../live/client";
import { freshSeq } from "../../state/core/info";
import style from "../../styles/settings.css?inline";
import { About } from "./about";
import { Look } from "./look";
import { Options } from "./options";
import { Part, type Option, type Prices, type Retention, type Token } from "./parts";
import { PriceList } from "./prices";
import { RetentionLimits } from "./retention";
import { Tokens } from "./tokens";
import { TrashList } from "./trash";

adoptStyle(style);

const SECTIONS = [
  ["look", say("This browser")],
  ["tokens", say("Tokens")],
  ["retention", say("Retention")],
  ["trash", say("Trash")],
  ["prices", say("Prices")],
  ["options", say("Server options")],
  ["about", say("About")],
] as const;

export function SettingsPage() {
  const [parts] = useState(() => ({
    tokens: new Part<{ tokens: Token[] }>("tokens"),
    retention: new Part<Retention>("retention"),
    trash: new Part<Trash>("trash"),
    prices: new Part<Prices>("prices"),
    options: new Part<{ options: Option[] }>("options"),
  }));
  useEffect(() => {
    // Nothing here is live but the frame's own word on it.
    void freshSeq().then((after) => setWant({ jobs: null, kinds: ["incident"], after }));
    const all = Object.values(parts);
    all.forEach((part) => void part.load());
    return () => all.forEach((part) => part.stop());
  }, []);
  return (
    <div class="settings">
      <nav aria-label={t("Parts of the settings")}>
        {SECTIONS.map(([id, title]) => (
          <a key={id} href={`#${id}`}>
            {t(title)}
          </a>
        ))}
      </nav>
      <div>
        <h1 class="hidden">{t("Settings")}</h1>
        <Look />
        <Tokens part={parts.tokens} />
        <RetentionLimits part={parts.retention} />
        <TrashList part={parts.trash} />
        <PriceList part={parts.prices} />
        <Options part={parts.options} />
        <About retention={parts.retention} />
      </div>
    </div>
  );
}
