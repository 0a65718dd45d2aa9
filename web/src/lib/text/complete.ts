// Where the server's bytes are in a text that is being typed.

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
