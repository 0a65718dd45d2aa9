// English is the text in the source and its own key; another language is a table of these texts, fetched when it is chosen.
// What a table lacks is shown in English. Ask in render, not in a constant of a module: there the language is not chosen yet.
import { signal } from "@preact/signals";
import type { ComponentChildren } from "preact";
import { grouped } from "../lib/text/number";

export type Language = "en" | "zh";
type Values = Readonly<Record<string, string | number>>;

export const language = signal<Language>("en");
/** The chosen language's text, where it has it; null: English. */
export const table = signal<((english: string) => string | undefined) | null>(null);

const inLanguage = (english: string): string => table.value?.(english) ?? english;

const PLACE = /\{(\w+)\}/g;

/** The text in the chosen language; `{name}` stands for a value. */
export function t(english: string, values: Values = {}): string {
  return inLanguage(english).replace(PLACE, (place, name: string) => String(values[name] ?? place));
}

/** By number: `{n}` is the count, as it is to be shown. */
export function tn(count: number, one: string, many: string, values: Values = {}): string {
  return t(count === 1 ? one : many, { n: grouped(count), ...values });
}

/** A text with elements in its places. */
export function tx(english: string, parts: Readonly<Record<string, ComponentChildren>>): ComponentChildren[] {
  return inLanguage(english).split(/(\{\w+\})/).map((piece) => parts[piece.slice(1, -1)] ?? piece);
}

/** Marks a text that stands in a constant, for those who collect texts; t() says it when it is shown. */
export const say = (english: string): string => english;

/** For Intl. */
export const locale = (): string => (language.value === "zh" ? "zh-CN" : "en-US");
