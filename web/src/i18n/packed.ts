// A language's table as it is sent: no English text is in it twice, which would be half of the table's size.

/** The names of all texts behind each other, and the texts in the same order. */
export type Packed = Readonly<{ keys: string; texts: string }>;

const KEY_CHARS = 4;
export const TEXT_END = "\n";

const DIGITS = "0123456789ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz_.";

/** What an English text is called in a table: 24 bits of its FNV-1a. Two texts of one name fail the build (scripts/texts.ts). */
export function keyOf(english: string): string {
  let hash = 0x811c9dc5;
  for (let i = 0; i < english.length; i++) hash = Math.imul(hash ^ english.charCodeAt(i), 0x01000193);
  hash ^= hash >>> 15;
  let key = "";
  for (let i = 0; i < KEY_CHARS; i++) key += DIGITS[(hash >>> (6 * i)) & 63];
  return key;
}

/** English to the table's language. */
export function unpack({ keys, texts }: Packed): (english: string) => string | undefined {
  const rows = new Map(texts.split(TEXT_END).map((text, i) => [keys.slice(i * KEY_CHARS, (i + 1) * KEY_CHARS), text]));
  return (english) => rows.get(keyOf(english));
}
