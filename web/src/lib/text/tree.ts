// A JSON document as lines that fold: only what is open is listed.

export interface TreeLine {
  /** Unique: keys and indexes from the root on. */
  path: string;
  depth: number;
  key: string;
  /** Of a value that is no object and no list. */
  text: string | null;
  /** Of an object or a list: how many it holds; it can be opened. */
  count: number | null;
  isList: boolean;
}

export const childPath = (path: string, key: string | number): string => `${path}/${String(key).replaceAll("~", "~0").replaceAll("/", "~1")}`;

const isBranch = (value: unknown): value is object => typeof value === "object" && value !== null;

/** `isOpen` is asked of each object and list; what is closed is one line. */
export function treeLines(value: unknown, isOpen: (path: string, depth: number) => boolean, most = 5000): TreeLine[] {
  const lines: TreeLine[] = [];
  const add = (key: string, one: unknown, path: string, depth: number): void => {
    if (lines.length >= most) return;
    if (!isBranch(one)) {
      lines.push({ path, depth, key, text: JSON.stringify(one) ?? "null", count: null, isList: false });
      return;
    }
    const entries = Object.entries(one);
    lines.push({ path, depth, key, text: null, count: entries.length, isList: Array.isArray(one) });
    if (isOpen(path, depth)) for (const [name, child] of entries) add(name, child, childPath(path, name), depth + 1);
  };
  add("", value, "", 0);
  return lines;
}

/** Paths of all that must be open for what holds the text to be seen, and how often it is there. */
export function findInTree(value: unknown, text: string): { open: Set<string>; hits: Set<string> } {
  const open = new Set<string>();
  const hits = new Set<string>();
  const wanted = text.toLowerCase();
  const look = (key: string, one: unknown, path: string, above: string[]): void => {
    const isHit = key.toLowerCase().includes(wanted) || (!isBranch(one) && String(one).toLowerCase().includes(wanted));
    if (isHit) {
      hits.add(path);
      above.forEach((each) => open.add(each));
    }
    if (isBranch(one)) for (const [name, child] of Object.entries(one)) look(name, child, childPath(path, name), [...above, path]);
  };
  if (wanted !== "") look("", value, "", []);
  return { open, hits };
}
