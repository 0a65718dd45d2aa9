import { render } from "preact";
import "./i18n/language";
import "./styles/tokens.css";
import "./styles/base.css";
import "./styles/frame.css";
import "./styles/jobs.css";
import "./styles/touch.css";
import { App } from "./app";
import { pollInfo } from "./state/core/info";
import { preload } from "./state/chart/preload";
import { loadSession } from "./state/core/session";
import "./state/core/timemode";
import { later } from "./ui/lazy";

preload();
const root = document.getElementById("app");
// When what this page brings along (vite.config.ts, RUNS_AT_ONCE) has run, too: then the first frame has it.
if (root) queueMicrotask(() => render(<App />, root));
pollInfo();
void later(loadSession);
