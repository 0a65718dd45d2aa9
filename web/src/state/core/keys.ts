// The keyboard, in one place: what a part of the page listens to while it is shown, and what `?` lists.
//
//   useKeys(say(…), [
//     { on: ["j", "ArrowDown"], does: say(…), run: () => move(1) },
//     { on: "g j", does: say(…), run: () => navigate("/jobs") },
//     { on: "Ctrl+Enter", does: say(…), run: save, inFields: true },
//     { on: "Escape", does: say(…), run: () => marked.value.size > 0 && clear() },
//   ]);
//
// The part that came last is asked first, what works everywhere last of all, though its code may come after a view's. Who returns
// false leaves the key to the others. A key that only counts on one element (arrows in a chart, Enter in a field) stays with that
// element's onKeyDown and calls preventDefault: then nobody here is asked; it is listed all the same when it stands here without `run`.
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

export interface Scope {
  title: string;
  keys: readonly Key[];
}

/** What works everywhere, then the others in the order in which they came. */
export const scopes = signal<readonly { current: Scope }[]>([]);

/** As long as the calling component is shown. `title` names the part in the help, in English, marked by say(). */
export function useKeys(title: string, keys: readonly Key[], isEverywhere = false): void {
  const scope = useRef<Scope>({ title, keys });
  scope.current = { title, keys };
  useEffect(() => {
    scopes.value = isEverywhere ? [scope, ...scopes.value] : [...scopes.value, scope];
    return () => {
      scopes.value = scopes.value.filter((one) => one !== scope);
    };
  }, []);
}
