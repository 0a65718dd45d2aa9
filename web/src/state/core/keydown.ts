// A key that was pressed, and who of those in state/keys may have it.
import { scopes, type Key, type Scope } from "./keys";

export function isTyping(target: EventTarget | null): boolean {
  return target instanceof HTMLElement && (target.isContentEditable || /^(INPUT|TEXTAREA|SELECT)$/.test(target.tagName));
}

/** How long the first of two keys is remembered. */
const PAIR_MS = 1500;

/** The key as `on` writes it. */
export function nameOf(event: Pick<KeyboardEvent, "key" | "ctrlKey" | "metaKey" | "altKey" | "shiftKey">): string {
  const { key } = event;
  const isLetter = key.length === 1;
  return `${event.ctrlKey || event.metaKey ? "Ctrl+" : ""}${event.altKey ? "Alt+" : ""}${event.shiftKey && !isLetter ? "Shift+" : ""}${key}`;
}

/** The keys that were pressed, as names, against what the scopes want: those who may have it in turn, and whether more may follow. */
export function findKeys(pressed: string, all: readonly Scope[], isInField: boolean): { found: Key[]; isBegun: boolean } {
  const found: Key[] = [];
  let isBegun = false;
  for (const { keys } of [...all].reverse()) {
    for (const key of keys) {
      if (isInField && !key.inFields) continue;
      for (const on of [key.on].flat()) {
        if (on === pressed && key.run) found.push(key);
        isBegun ||= on.startsWith(`${pressed} `);
      }
    }
  }
  return { found, isBegun };
}

let first = { name: "", atMs: 0 };

function onKeyDown(event: KeyboardEvent): void {
  if (event.defaultPrevented || event.isComposing || /^(Shift|Control|Alt|Meta)$/.test(event.key)) return;
  // A dialog has the keyboard for itself.
  if (document.querySelector("dialog:modal")) return;
  // Of an open menu Escape is the browser's.
  if (event.key === "Escape" && document.querySelector(":popover-open")) return;
  const all = scopes.value.map((scope) => scope.current);
  const isInField = isTyping(event.target);
  const name = nameOf(event);
  const isPair = first.name !== "" && event.timeStamp - first.atMs < PAIR_MS;
  const pair = isPair ? findKeys(`${first.name} ${name}`, all, isInField).found : [];
  first = { name: "", atMs: 0 };
  const { found, isBegun } = findKeys(name, all, isInField);
  for (const key of [...pair, ...(pair.length > 0 ? [] : found)]) {
    if (key.run?.(event) === false) continue;
    event.preventDefault();
    return;
  }
  if (isBegun) first = { name, atMs: event.timeStamp };
}

document.addEventListener("keydown", onKeyDown);
