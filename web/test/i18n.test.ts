// Every text that is asked for is in a table, with the same places; nothing is in it that nobody asks for.
import { expect, test } from "vitest";

const sources = import.meta.glob<string>("../src/**/*.{ts,tsx}", { eager: true, query: "?raw", import: "default" });
const tables = import.meta.glob<Record<string, string>>("../src/i18n/zh/*.ts", { eager: true, import: "default" });

const STRING = String.raw`"((?:[^"\\]|\\.)*)"`;
const ASKED = [new RegExp(String.raw`\btx?\(\s*${STRING}`, "g"), new RegExp(String.raw`\btn\([^"]*?${STRING},\s*${STRING}`, "g"),
  // texts that wait in a constant until they are asked for: label: say("…")
  new RegExp(String.raw`\bsay\(\s*${STRING}`, "g")];

const asked = new Set<string>();
for (const [path, text] of Object.entries(sources)) {
  if (path.includes("/i18n/")) continue;
  for (const pattern of ASKED) {
    for (const [, ...found] of text.matchAll(pattern)) found.forEach((one) => one !== undefined && asked.add(JSON.parse(`"${one}"`) as string));
  }
}
// what the server says of a definition that is tried, which the page shows by t()
const server = Object.values(import.meta.glob<string>("../../server/extract/trial.c", { eager: true, query: "?raw", import: "default" })).join("");
const warnings = [...(/\btrial_warning_text\([^]*?\n\}/.exec(server)?.[0] ?? "").matchAll(new RegExp(`return ${STRING}`, "g"))].map(([, text]) => text ?? "").filter(Boolean);
warnings.forEach((text) => asked.add(text));

const places = (text: string): string[] => [...text.matchAll(/\{\w+\}/g)].map(String).sort();

test("every text that is asked for has a translation", () => {
  expect(warnings.length).toBeGreaterThan(5);
  const known = new Set(Object.values(tables).flatMap((table) => Object.keys(table)));
  expect([...asked].filter((text) => !known.has(text))).toEqual([]);
});

test("every translation is asked for, stands in one table, and has the places of its text", () => {
  const seen = new Set<string>();
  for (const [english, chinese] of Object.values(tables).flatMap((table) => Object.entries(table))) {
    expect(asked, english).toContain(english);
    expect(seen.has(english), `twice, and so for zh/common.ts: ${english}`).toBe(false);
    seen.add(english);
    expect(places(chinese), english).toEqual(places(english));
  }
});
