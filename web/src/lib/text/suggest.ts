// What a suggestion makes of a text that is being typed.
import { indexOfByte } from "./complete";

export interface Suggestion {
  text: string;
  kind: string;
  count?: number;
}

export interface SuggestionsReply {
  /** Byte of the prefix that was asked for from which a suggestion's text stands in its place. */
  from: number;
  suggestions: Suggestion[];
  partial: boolean;
}

export interface Edited {
  text: string;
  caret: number;
}

/** The text with a suggestion in the place of the term before the caret. After a value the next term may begin. */
export function applySuggestion(text: string, caret: number, from: number, chosen: Suggestion): Edited {
  const before = text.slice(0, indexOfByte(text.slice(0, caret), from));
  const rest = text.slice(caret);
  const gap = chosen.kind === "value" && !/^[\s)]/.test(rest) ? " " : "";
  const head = before + chosen.text + gap;
  return { text: head + rest, caret: head.length };
}
