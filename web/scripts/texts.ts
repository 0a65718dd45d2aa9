import type { Plugin } from "vite";
import { keyOf, TEXT_END, type Packed } from "../src/i18n/packed.ts";

const NAME = "virtual:zh";
const FOLDER = decodeURIComponent(new URL("../src/i18n/zh/", import.meta.url).pathname);
const ROW = /("(?:[^"\\]|\\.)*"):\s*("(?:[^"\\]|\\.)*")/g;

/** The table of all rows `"English": "other language"` of these files. */
export function packTexts(files: readonly string[]): Packed {
  const rows = new Map<string, string>();
  let texts = "";
  for (const [, english, other] of files.flatMap((file) => [...file.matchAll(ROW)])) {
    const key = keyOf(JSON.parse(english!) as string);
    const text = JSON.parse(other!) as string;
    if (rows.has(key)) throw new Error(`${english} and ${rows.get(key)} are one text in a packed table: word one of them otherwise`);
    if (text.includes(TEXT_END)) throw new Error(`${english}: a translation is one line`);
    rows.set(key, english!);
    texts += (texts || rows.size > 1 ? TEXT_END : "") + text;
  }
  return { keys: [...rows.keys()].join(""), texts };
}

/** `virtual:zh`: the files of src/i18n/zh, one an area of the page, as one packed table. */
export function packedTexts(): Plugin {
  return {
    name: "packed-texts",
    resolveId: (id) => (id === NAME ? `\0${NAME}` : null),
    async load(id) {
      if (id !== `\0${NAME}`) return null;
      const files = (await this.fs.readdir(FOLDER)).sort().map((name) => FOLDER + name);
      files.forEach((file) => this.addWatchFile(file));
      const packed = packTexts(await Promise.all(files.map((file) => this.fs.readFile(file, { encoding: "utf8" }))));
      return `export default ${JSON.stringify(packed)};`;
    },
  };
}
