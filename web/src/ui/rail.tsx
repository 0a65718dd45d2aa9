import type { ComponentChildren } from "preact";
import { route } from "../state/router";
import { session, isSignInOpen, signOut } from "../state/session";
import { isDark, setTheme, theme, type Theme } from "../state/theme";

function Item({ href, view, label, children }: { href: string; view: string; label: string; children: ComponentChildren }) {
  const current = route.value.view;
  const isHere = current === view || (view === "jobs" && current === "job");
  return (
    <a href={href} class="item" aria-current={isHere ? "page" : undefined}>
      <svg viewBox="0 0 20 20" aria-hidden="true">
        {children}
      </svg>
      <span>{label}</span>
    </a>
  );
}

const NEXT_THEME: Record<Theme, Theme> = { system: "light", light: "dark", dark: "system" };

function ThemeButton() {
  const current = theme.value;
  return (
    <button
      type="button"
      class="item"
      onClick={() => setTheme(NEXT_THEME[current])}
      title={`Theme: ${current}. Click for ${NEXT_THEME[current]}.`}
      aria-label={`Theme: ${current}. Switch to ${NEXT_THEME[current]}.`}
    >
      <svg viewBox="0 0 20 20" aria-hidden="true">
        <circle cx="10" cy="10" r="6.5" />
        <path class="solid" d={isDark() ? "M10 3.5a6.5 6.5 0 0 0 0 13z" : "M10 3.5a6.5 6.5 0 0 1 0 13z"} />
      </svg>
      <span>{current === "system" ? "Auto" : current === "light" ? "Light" : "Dark"}</span>
    </button>
  );
}

function SessionButton() {
  if (!session.value?.required) return null;
  const isIn = session.value.authenticated;
  return (
    <button type="button" class="item" onClick={() => (isIn ? void signOut() : (isSignInOpen.value = true))}>
      <svg viewBox="0 0 20 20" aria-hidden="true">
        <path d={isIn ? "M8 4H4v12h4M9 10h8m-3-3 3 3-3 3" : "M12 4h4v12h-4M3 10h8m-3-3 3 3-3 3"} />
      </svg>
      <span>{isIn ? "Sign out" : "Sign in"}</span>
    </button>
  );
}

export function Rail() {
  return (
    <nav class="rail" aria-label="Views">
      <a href="/" class="brand" title="smfleet" aria-label="smfleet, the fleet">
        <svg viewBox="0 0 20 20" aria-hidden="true">
          <rect x="1.5" y="1.5" width="17" height="17" rx="3" />
          <path d="M4.5 5.5c1.5 6 3 7.5 5 7.7l1.7-5 1.7 5.5 2.6 1" />
        </svg>
      </a>
      <Item href="/" view="fleet" label="Fleet">
        <path d="M3 16.5v-5h3.5v5zM8.25 16.5v-9h3.5v9zM13.5 16.5v-13H17v13z" />
      </Item>
      <Item href="/jobs" view="jobs" label="Jobs">
        <path d="M3 5.5h2M8 5.5h9M3 10h2M8 10h9M3 14.5h2M8 14.5h9" />
      </Item>
      <Item href="/compare" view="compare" label="Compare">
        <path d="M3 15C6 4 9 4 17 5.5M3 8c4 6 8 7 14 7" />
      </Item>
      <Item href="/pools" view="pools" label="Pools">
        <path d="M3 4.5h9v3H3zM7 9h10v3H7zM3 13.5h6v3H3z" />
      </Item>
      <Item href="/incidents" view="incidents" label="Alerts">
        <path d="M10 3.5 17.5 16.5h-15zM10 8.5v4M10 14v1" />
      </Item>
      <span class="grow" />
      <ThemeButton />
      <SessionButton />
    </nav>
  );
}
