import { useSignal } from "@preact/signals";
import { useEffect, useRef } from "preact/hooks";
import { signIns } from "./api/client";
import { say, t } from "./i18n/i18n";
import { cutMiddle } from "./lib/text/format";
import { followLink, query, route } from "./state/core/router";
import { isSignInOpen } from "./state/core/session";
import { OfflineBanner } from "./ui/banner";
import { hasDrawn, later, lazy } from "./ui/lazy";
import { QueryBar } from "./ui/querybar";
import { Rail } from "./ui/rail";

const FleetPage = lazy(async () => (await import("./pages/fleet/page")).FleetPage, 14);
const JobsPage = lazy(async () => (await import("./pages/jobs/page")).JobsPage, 12);
const JobPage = lazy(async () => (await import("./pages/job/page")).JobPage, 12);
const AlertsPage = lazy(async () => (await import("./pages/alerts/page")).AlertsPage, 8);
const PoolsPage = lazy(async () => (await import("./pages/pools/page")).PoolsPage, 8);
const MachinesPage = lazy(async () => (await import("./pages/machines/page")).MachinesPage, 8);
const ComparePage = lazy(async () => (await import("./pages/compare/page")).ComparePage, 10);
const WorkspacePage = lazy(async () => (await import("./pages/workspace/page")).WorkspacePage, 10);
const WallPage = lazy(async () => (await import("./pages/wall/page")).WallPage, 10);
const EvaluationsPage = lazy(async () => (await import("./pages/evaluations/page")).EvaluationsPage, 8);
const ReportPage = lazy(async () => (await import("./pages/report/page")).ReportPage, 12);
const LogsPage = lazy(async () => (await import("./pages/job/logspage")).LogsPage, 20, "logs");
const EmbedPage = lazy(async () => (await import("./pages/embed")).EmbedPage, 0);
const DefinitionsPage = lazy(async () => (await import("./pages/definitions/page")).DefinitionsPage, 12);
const DefinitionsOf = lazy(async () => (await import("./pages/definitions/choose")).DefinitionsOf, 12);
const SettingsPage = lazy(async () => (await import("./pages/settings/page")).SettingsPage, 12);
const NoPage = lazy(async () => (await import("./pages/nopage")).NoPage, 0);
const Pulse = lazy(async () => (await import("./ui/statusline")).Pulse, 0);
const Shortcuts = lazy(async () => (await import("./ui/shortcuts")).Shortcuts, 0);
const SignIn = lazy(async () => (await import("./ui/signin")).SignIn, 0);

function View() {
  const here = route.value;
  // A new session makes a new view: everything that was refused is asked for again.
  const era = signIns.value;
  switch (here.view) {
    case "fleet":
      return <FleetPage key={era} />;
    case "jobs":
      return <JobsPage key={era} search={query.value["q"] ?? ""} sort={query.value["sort"] ?? ""} />;
    case "job":
      if (here.part === "logs") return <LogsPage key={`${era} ${here.name}`} name={here.name} />;
      if (here.part === "definitions") return <DefinitionsPage key={`${era} ${here.name}`} name={here.name} />;
      return <JobPage key={`${era} ${here.name}`} name={here.name} part={here.part} />;
    case "incidents":
    case "rules":
    case "webhooks":
      return <AlertsPage key={era} search={query.value["q"] ?? ""} state={query.value["state"] ?? ""} id={query.value["id"] ?? ""} />;
    case "pools":
      return <PoolsPage key={era} state={query.value["state"] ?? ""} />;
    case "nodes":
      return <MachinesPage key={era} />;
    case "compare":
      return <ComparePage key={era} jobs={query.value["jobs"] ?? ""} />;
    case "workspace":
      return <WorkspacePage key={`${era} ${query.value["name"] ?? ""}`} />;
    case "wall":
      return <WallPage key={era} />;
    case "evaluations":
      return <EvaluationsPage key={era} />;
    case "report":
      return <ReportPage key={era} />;
    case "definitions":
      return <DefinitionsOf key={era} search={query.value["q"] ?? ""} />;
    case "settings":
      return <SettingsPage key={era} />;
    case "unknown":
      return <NoPage path={here.path} />;
  }
}

const TITLES: Readonly<Record<string, string>> = { fleet: say("Fleet"), incidents: say("Alerts"), rules: say("Rules"), webhooks: say("Webhooks"), compare: say("Compare"), workspace: say("Workspace"), wall: say("All metrics"), evaluations: say("Best checkpoints"), report: say("Report"), pools: say("Warm pools"), nodes: say("Machines"), jobs: say("Jobs"), settings: say("Settings"), definitions: say("Definitions") };

/** A part's tab has the same word, and its translation. */
const capital = (part: string): string => t(`${part.charAt(0).toUpperCase()}${part.slice(1)}`);

function titleOf(): string {
  const here = route.value;
  if (here.view !== "job") return t(TITLES[here.view] ?? "smfleet");
  // Isolated, so that a name that turns the direction of writing ends with itself.
  const name = `\u2068${cutMiddle(here.name, 40)}\u2069`;
  return here.part ? `${capital(here.part)} · ${name}` : name;
}

export function App() {
  const title = `${titleOf()} · smfleet`;
  const hasStarted = useRef(false);
  useEffect(() => {
    document.title = title;
  }, [title]);
  const place = JSON.stringify(route.value);
  useEffect(() => {
    // A new view is where reading goes on, also for those who follow the focus.
    if (hasStarted.current) document.getElementById("main")?.focus({ preventScroll: true });
    hasStarted.current = true;
  }, [place]);
  const here = route.value;
  // What the first view does not need comes after it. Of views other than a job's curves, its log and panels nobody says when they are drawn.
  const hasTime = useSignal(false);
  useEffect(() => {
    const settle = (): void => {
      if (here.view !== "workspace" && (here.view !== "job" || (here.part && here.part !== "logs"))) hasDrawn();
      void later(async () => (hasTime.value = true));
    };
    if (document.readyState === "complete") settle();
    else window.addEventListener("load", settle, { once: true });
  }, []);
  if (here.view === "job" && query.value["embed"] === "1") return <EmbedPage job={here.name} metric={query.value["metric"] ?? "loss"} />;
  return (
    <div class="frame" onClick={followLink}>
      <a class="skip" href="#main">
        {t("Skip to the content")}
      </a>
      <Rail />
      <QueryBar />
      <OfflineBanner />
      <main id="main" tabIndex={-1}>
        <View />
      </main>
      <footer class="statusline">{hasTime.value && <Pulse />}</footer>
      {isSignInOpen.value && <SignIn />}
      {hasTime.value && <Shortcuts />}
    </div>
  );
}
