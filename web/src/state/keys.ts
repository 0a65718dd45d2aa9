// The keyboard, in one place: what a part of the page listens to while it is shown, and what `?` lists.
//
//   useKeys(say(…), [
//     { on: ["j", "ArrowDown"], does: say(…), run: () => move(1) },
//     { on: "g j", does: say(…), run: () => navigate("/jobs") },
//     { on: "Ctrl+Enter", does: say(…), run: save, inFields: true },
//     { on: "Escape", does: say(…), run: () => marked.value.size > 0 && clear() },
//   ]);
//
// The part that came last is asked first; who returns false leaves the key to the others. A key that only counts on one element
// (arrows in a chart, Enter in a field) stays with that element's onKeyDown and calls preventDefault: then nobody here is asked;
// it is listed all the same when it stands here without `run`.
import { signal } from "@preact/signals";
import { useEffect, useRef } from "preact/hooks";

export interface Key {
  /** KeyboardEvent.key, with Ctrl+ (also ⌘), Alt+ or Shift+ (not for letters: "N") before it; "g j" is one after the other. */
  on: string | readonly string[];
  /** What it does, in English, marked by say(). */
  does: string;
  /** false: not now, somebody else may have it. Absent: an element has it, this line only tells of it. */
  run?: (event: KeyboardEvent) => unknown;
  /** Also while one types in a field. */
  inFields?: boolean;
}

interface Scope {
  title: string;
  keys: readonly Key[];
}

/** In the order in which they came. */
export const scopes = signal<readonly { current: Scope }[]>([]);

/** As long as the calling component is shown. `title` names the part in the help, in English, marked by say(). */
export function useKeys(title: string, keys: readonly Key[]): void {
  const scope = useRef<Scope>({ title, keys });
  scope.current = { title, keys };
  useEffect(() => {
    scopes.value = [...scopes.value, scope];
    return () => {
      scopes.value = scopes.value.filter((one) => one !== scope);
    };
  }, []);
}

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
