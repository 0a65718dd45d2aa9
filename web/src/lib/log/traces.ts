// What belongs together in a log: lines said again and again, and the frames of a stack.

export type FoldKind = "repeat" | "trace" | "frames" | "setup";

/** A time, a date, a counter of microseconds in front of what a line says. */
const STAMP = /^(?:\[?\d{4}-\d\d-\d\d[T ]\d\d:\d\d:\d\d(?:[.,]\d+)?(?:Z|[+-]\d\d:?\d\d)?\]?[:,]?\s*|\[?\d\d:\d\d:\d\d(?:[.,]\d+)?\]?\s*)+/;

/** Lines with the same key say the same. */
export const repeatKey = (text: string): string => {
  const rest = text.replace(STAMP, "");
  return rest.length > 2000 ? `${rest.length} ${rest.slice(0, 2000)}` : rest;
};

const TRACEBACK = "Traceback (most recent call last):";
const GROUP_TRACEBACK = /^\s*[+|]\s/;

/** The text in front of "Traceback …", of which only the shape counts: a rank and a time may differ from line to line. */
export function tracebackPrefix(text: string): string | null {
  const at = text.indexOf(TRACEBACK);
  return at < 0 || at > 200 ? null : text.slice(0, at);
}

const shape = (text: string): string => text.replace(/\d+/g, "0");

/** Where the line goes on behind a prefix of this shape; -1: it has another one. */
function behindPrefix(text: string, prefix: string): number {
  if (prefix === "") return 0;
  if (text.startsWith(prefix)) return prefix.length;
  // The same with other numbers: as long as a number's digits may make it.
  for (let length = Math.max(0, prefix.length - 3); length <= Math.min(text.length, prefix.length + 3); length++)
    if (shape(text.slice(0, length)) === shape(prefix)) return length;
  return text.trimEnd() === prefix.trimEnd() ? text.length : -1;
}

/** Whether a line is one of the frames below "Traceback …": indented, behind the same prefix or none. */
export function isTraceBody(text: string, prefix: string): boolean {
  // A logger prints its time in front of the first line alone.
  const rest = text.slice(Math.max(0, behindPrefix(text, prefix)));
  return /^(?: {2,}|\t)/.test(rest) || (GROUP_TRACEBACK.test(rest) && /^\s*[+|]\s{2,}/.test(rest));
}

const FRAMES: readonly RegExp[] = [
  /(?:^|\s)frame #\d+: /, // c10::Error
  /^(?:[^#]{0,80}\s)?#\d+ {1,3}(?:0x[0-9a-f]{6,}|\S+ \(|.* in )/, // gdb, sanitizers
  /^\s{2,}@\s+0x[0-9a-f]{6,}\s/, // glog
  /\]\s*\[ ?\d+\]\s.*\[0x[0-9a-f]{6,}\]\s*$/, // Open MPI
  /^\s*\/\S+\.so[.\d]*\(\S*\+0x[0-9a-f]+\)\s?\[0x[0-9a-f]+\]/, // backtrace_symbols
  /^\s+at \S+.*[(:]/, // Java, JavaScript, Rust
  /^\s+\d+: (?:0x[0-9a-f]+ - )?\S+::\S+/, // Rust
];

const SETUP = /\bNCCL INFO (?:Channel |Trees |Ring |Tree |P2P |NET\/|GPU Direct |comm 0x|Connected |threadThresholds |NVLS |Using )/;

export function isFrame(text: string): boolean {
  // Most lines are none, and have nothing of what all forms need.
  if (text.length > 2000 || !/[#@]|0x|\s+at |::/.test(text)) return false;
  return FRAMES.some((form) => form.test(text));
}

export const isSetup = (text: string): boolean => text.length < 2000 && text.includes("NCCL INFO ") && SETUP.test(text);
