import { effect, signal } from "@preact/signals";

export type Theme = "system" | "light" | "dark";

const KEY = "smfleet.theme";
const dark = window.matchMedia("(prefers-color-scheme: dark)");

function stored(): Theme {
  try {
    const value = localStorage.getItem(KEY);
    return value === "light" || value === "dark" ? value : "system";
  } catch {
    return "system";
  }
}

export const theme = signal<Theme>(stored());
const systemDark = signal(dark.matches);
dark.addEventListener("change", () => (systemDark.value = dark.matches));

export const isDark = (): boolean => (theme.value === "system" ? systemDark.value : theme.value === "dark");

export function setTheme(next: Theme): void {
  theme.value = next;
  try {
    if (next === "system") localStorage.removeItem(KEY);
    else localStorage.setItem(KEY, next);
  } catch {
    // Storage may be off: the choice then lasts as long as the page.
  }
}

effect(() => {
  if (theme.value === "system") delete document.documentElement.dataset["theme"];
  else document.documentElement.dataset["theme"] = theme.value;
});
