import { render } from "preact";
import "./i18n/language";
import "./styles/tokens.css";
import "./styles/base.css";
import "./styles/frame.css";
import "./styles/jobs.css";
import { App } from "./app";
import { pollInfo } from "./state/info";
import { preload } from "./state/preload";
import { loadSession } from "./state/session";
import "./state/timemode";

preload();
const root = document.getElementById("app");
if (root) render(<App />, root);
pollInfo();
void loadSession();
