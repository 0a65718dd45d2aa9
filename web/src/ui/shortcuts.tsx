import { useSignal } from "@preact/signals";
import { say } from "../i18n/i18n";
import "../state/core/keydown";
import { useKeys } from "../state/core/keys";
import { navigate, route } from "../state/core/router";
import { isDark, setTheme } from "../state/core/theme";
import { jobHref, type Route } from "../lib/url/url";
import { lazy } from "./lazy";
import { ContextMenu } from "./menu";

const Help = lazy(async () => (await import("./help")).Help, 0);

/** What works in every view: keys, and the menu of a right click. */
export function Shortcuts() {
  const isHelpOpen = useSignal(false);
  useKeys(say("Everywhere"), [
    { on: "?", does: say("these keys"), run: () => (isHelpOpen.value = true) },
    { on: "g f", does: say("go to the fleet"), run: () => navigate("/") },
    { on: "g j", does: say("go to the jobs"), run: () => navigate("/jobs") },
    { on: "g c", does: say("go to the comparison"), run: () => navigate("/compare") },
    { on: "g w", does: say("go to the workspaces"), run: () => navigate("/workspace") },
    { on: "g p", does: say("go to the warm pools"), run: () => navigate("/pools") },
    { on: "g r", does: say("go to the report: what happened since you last looked"), run: () => navigate("/report") },
    { on: "g e", does: say("go to the best checkpoints"), run: () => navigate("/evaluations") },
    { on: "g m", does: say("go to the machines"), run: () => navigate("/nodes") },
    { on: "g a", does: say("go to the alerts"), run: () => navigate("/incidents") },
    { on: "g d", does: say("go to the definitions"), run: () => navigate("/definitions") },
    { on: "g s", does: say("go to the settings"), run: () => navigate("/settings") },
    { on: "t", does: say("light or dark"), run: () => setTheme(isDark() ? "light" : "dark") },
    { on: "Escape", does: say("back out"), run: backOut },
  ], true);
  return (
    <>
      <ContextMenu />
      {isHelpOpen.value && <Help onClose={() => (isHelpOpen.value = false)} />}
    </>
  );
}

/** From what has the focus to the view, from a view to the one above it. */
function backOut(): boolean {
  const main = document.getElementById("main");
  const focused = document.activeElement;
  if (main && focused !== main && focused !== document.body) {
    main.focus({ preventScroll: true });
    return true;
  }
  const above = parentOf(route.value);
  if (above === null) return false;
  navigate(above);
  return true;
}

/** Where Escape leads at last; null: nowhere. */
function parentOf(route: Route): string | null {
  if (route.view === "job") return route.part ? jobHref(route.name) : "/jobs";
  return route.view === "fleet" ? null : "/";
}
