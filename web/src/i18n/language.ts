// Which language the page speaks: what was chosen here, else the browser's.
import { effect } from "@preact/signals";
import { language, table, type Language } from "./i18n";

const KEY = "smfleet.language";

function stored(): Language {
  try {
    const value = localStorage.getItem(KEY);
    if (value === "en" || value === "zh") return value;
  } catch {
    // Storage may be off: the browser's language is asked then.
  }
  return navigator.languages.find((name) => /^(en|zh)\b/.test(name))?.startsWith("zh") ? "zh" : "en";
}

language.value = stored();

export function setLanguage(next: Language): void {
  language.value = next;
  try {
    localStorage.setItem(KEY, next);
  } catch {
    // The choice then lasts as long as the page.
  }
}

effect(() => {
  const wanted = language.value;
  document.documentElement.lang = wanted === "zh" ? "zh-CN" : "en";
  if (wanted === "en") {
    table.value = null;
    return;
  }
  // Without its table the page stays in English, which is better than none.
  import("./zh").then(
    (part) => {
      if (language.value === wanted) table.value = part.zh;
    },
    () => undefined,
  );
});
