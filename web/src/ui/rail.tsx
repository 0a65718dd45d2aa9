import { say, t } from "../i18n/i18n";
import type { Route } from "../lib/url/url";
import { route } from "../state/core/router";
import { useCurrentInView } from "./inview";
import { isSignedOut, isSignInOpen } from "../state/core/session";

interface Place {
  href: string;
  label: string;
  /** The two keys that lead there. */
  keys: string;
  views: readonly Route["view"][];
  glyph: string;
}

const PLACES: readonly Place[] = [
  { href: "/", label: say("Fleet"), keys: "g f", views: ["fleet", "report"], glyph: "M3 3h6v6H3zM11 3h6v6h-6zM3 11h6v6H3zM11 11h6v6h-6z" },
  { href: "/jobs", label: say("Jobs"), keys: "g j", views: ["jobs", "job"], glyph: "M3 5.5h2M8 5.5h9M3 10h2M8 10h9M3 14.5h2M8 14.5h9" },
  { href: "/compare", label: say("Compare"), keys: "g c", views: ["compare"], glyph: "M3 15C6 4 9 4 17 5.5M3 8c4 6 8 7 14 7" },
  { href: "/workspace", label: say("Workspace"), keys: "g w", views: ["workspace", "wall"], glyph: "M3 3h8v6H3zM13 3h4v6h-4zM3 11h5v6H3zM10 11h7v6h-7z" },
  { href: "/pools", label: say("Pools"), keys: "g p", views: ["pools"], glyph: "M3 4.5h9v3H3zM7 9h10v3H7zM3 13.5h6v3H3z" },
  { href: "/nodes", label: say("Machines"), keys: "g m", views: ["nodes"], glyph: "M4 3h12v6H4zM4 11h12v6H4zM7 6h1M7 14h1" },
  { href: "/incidents", label: say("Alerts"), keys: "g a", views: ["incidents"], glyph: "M10 3.5 17.5 16.5h-15zM10 8.5v4M10 14v1" },
  { href: "/definitions", label: say("Definitions"), keys: "g d", views: ["definitions"], glyph: "M7 3.5H4v13h3M13 3.5h3v13h-3M8 10h.5M11.5 10h.5" },
  { href: "/settings", label: say("Settings"), keys: "g s", views: ["settings"], glyph: "M3 6h6M13 6h4M9 4v4h4V4zM3 14h2M9 14h8M5 12v4h4v-4z" },
];

function Glyph({ path }: { path: string }) {
  return (
    <svg viewBox="0 0 20 20" aria-hidden="true">
      <path d={path} />
    </svg>
  );
}

export function Rail() {
  const here = route.value.view;
  const row = useCurrentInView<HTMLElement>(here);
  return (
    <nav class="rail" ref={row} aria-label={t("Views")}>
      <a href="/" class="brand" title="smfleet" aria-hidden="true" tabIndex={-1}>
        <svg viewBox="0 0 20 20">
          <rect x="1.5" y="1.5" width="17" height="17" rx="3" />
          <path d="M4.5 5.5c1.5 6 3 7.5 5 7.7l1.7-5 1.7 5.5 2.6 1" />
        </svg>
      </a>
      {PLACES.map(({ href, label, keys, views, glyph }) => (
        <a key={href} href={href} class="item" aria-current={views.includes(here) ? "page" : undefined} aria-keyshortcuts={keys} title={`${t(label)} (${keys})`}>
          <Glyph path={glyph} />
          <span>{t(label)}</span>
        </a>
      ))}
      <span class="grow" />
      {isSignedOut() && (
        <button type="button" class="item" onClick={() => (isSignInOpen.value = true)}>
          <Glyph path="M12 4h4v12h-4M3 10h8m-3-3 3 3-3 3" />
          <span>{t("Sign in")}</span>
        </button>
      )}
    </nav>
  );
}
