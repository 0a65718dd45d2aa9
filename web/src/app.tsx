import { useEffect, useRef } from "preact/hooks";
import { t } from "./i18n/i18n";
import { cutMiddle } from "./lib/format";
import { followLink, query, route } from "./state/router";
import { signIns } from "./state/session";
import { lazy } from "./ui/lazy";
import { QueryBar, ViewsMenu } from "./ui/querybar";
import { Rail } from "./ui/rail";
import { Shortcuts } from "./ui/shortcuts";
import { SignIn } from "./ui/signin";
import { StatusLine } from "./ui/statusline";

const JobsPage = lazy(async () => (await import("./pages/jobs/page")).JobsPage, 12);
const JobPage = lazy(async () => (await import("./pages/job/page")).JobPage, 12);
const IncidentsPage = lazy(async () => (await import("./pages/incidents")).IncidentsPage, 8);
const PoolsPage = lazy(async () => (await import("./pages/pools/page")).PoolsPage, 8);
const ComparePage = lazy(async () => (await import("./pages/compare/page")).ComparePage, 10);
const NodesPage = lazy(async () => (await import("./pages/nodes/page")).NodesPage, 8);
const EmbedPage = lazy(async () => (await import("./pages/embed")).EmbedPage, 0);
const DefinitionsPage = lazy(async () => (await import("./pages/definitions/page")).DefinitionsPage, 12);

function View() {
  const here = route.value;
  // A new session makes a new view: everything that was refused is asked for again.
  const era = signIns.value;
  switch (here.view) {
    case "jobs":
      return <JobsPage key={era} search={query.value["q"] ?? ""} sort={query.value["sort"] ?? ""} />;
    case "job":
      if (here.part === "nodes") return <NodesPage key={`${era} ${here.name}`} name={here.name} />;
      if (here.part) return <DefinitionsPage key={`${era} ${here.name}`} name={here.name} />;
      return <JobPage key={`${era} ${here.name}`} name={here.name} />;
    case "incidents":
      return <IncidentsPage key={era} search={query.value["q"] ?? ""} state={query.value["state"] ?? ""} />;
    case "pools":
      return <PoolsPage key={era} state={query.value["state"] ?? ""} />;
    case "compare":
      return <ComparePage key={era} jobs={query.value["jobs"] ?? ""} />;
    default:
      return (
        <div class="empty">
          <h1>There is no page here</h1>
          <p>
            <code>{here.path}</code> is not one of this server's addresses. <a href="/">All jobs</a>
          </p>
        </div>
      );
  }
}

const PARTS = { definitions: "Definitions of ", nodes: "Nodes of " };

function titleOf(): string {
  const here = route.value;
  if (here.view === "job") return `${here.part ? PARTS[here.part] : ""}${cutMiddle(here.name, 40)} · smfleet`;
  if (here.view === "incidents") return "Alerts · smfleet";
  if (here.view === "compare") return "Compare · smfleet";
  if (here.view === "pools") return "Warm pools · smfleet";
  return "Jobs · smfleet";
}

export function App() {
  const title = titleOf();
  const hasStarted = useRef(false);
  useEffect(() => {
    document.title = title;
    // A new view is where reading goes on, also for those who follow the focus.
    if (hasStarted.current) document.getElementById("main")?.focus({ preventScroll: true });
    hasStarted.current = true;
  }, [title]);
  const here = route.value;
  if (here.view === "job" && query.value["embed"] === "1") return <EmbedPage job={here.name} metric={query.value["metric"] ?? "loss"} />;
  return (
    <div class="frame" onClick={followLink}>
      <a class="skip" href="#main">
        {t("Skip to the content")}
      </a>
      <Rail />
      <QueryBar />
      {route.value.view === "jobs" && <ViewsMenu />}
      <main id="main" tabIndex={-1}>
        <View />
      </main>
      <StatusLine />
      <SignIn />
      <Shortcuts />
    </div>
  );
}
