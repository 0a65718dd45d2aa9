// Where the server's bytes are in a text that is being typed, and what a suggestion makes of it.

/** Index into the text of a byte of its UTF-8. */
export function indexOfByte(text: string, byte: number): number {
  let at = 0;
  let bytes = 0;
  for (const glyph of text) {
    if (bytes >= byte) break;
    bytes += sizeOf(glyph.codePointAt(0) ?? 0);
    at += glyph.length;
  }
  return at;
}

const sizeOf = (code: number): number => (code < 0x80 ? 1 : code < 0x800 ? 2 : code < 0x10000 ? 3 : 4);

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
