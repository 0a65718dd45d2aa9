// Fails the build when the page's JavaScript and CSS outgrow their budgets: of what a view loads before its first chart, and of all.
import { readdirSync, readFileSync, rmSync } from "node:fs";
import { fileURLToPath } from "node:url";
import { gzipSync } from "node:zlib";

const WHOLE_BUDGET = 330_000;
// What somebody may open first, and how much of it comes before there is something to see.
const FIRST = 60_000;
const LOG = 65_000; // with its search and its tools
const CURVES = 100_000; // of many jobs: uPlot, expressions, and what stands around them
const VIEWS = [
  { view: "fleet", part: "src/pages/fleet/page.tsx", budget: FIRST },
  { view: "jobs", part: "src/pages/jobs/page.tsx", budget: FIRST },
  { view: "job", part: "job", budget: FIRST }, // to its first chart; the log and the tabs come after it
  { view: "incidents", part: "src/pages/alerts/page.tsx", budget: FIRST },
  { view: "pools", part: "src/pages/pools/page.tsx", budget: FIRST },
  { view: "nodes", part: "src/pages/machines/page.tsx", budget: FIRST },
  { view: "report", part: "src/pages/report/page.tsx", budget: FIRST },
  { view: "settings", part: "src/pages/settings/page.tsx", budget: FIRST },
  { view: "logs", part: "src/pages/job/logspage.tsx", budget: LOG },
  { view: "compare", part: "src/pages/compare/page.tsx", budget: CURVES },
  { view: "workspace", part: "src/pages/workspace/page.tsx", budget: CURVES },
  { view: "wall", part: "src/pages/wall/page.tsx", budget: CURVES },
];

const dist = fileURLToPath(new URL("../dist/", import.meta.url));
const manifest = JSON.parse(readFileSync(`${dist}manifest.json`, "utf8"));
rmSync(`${dist}manifest.json`); // it is the build's, not the page's

const sizes = new Map();
for (const name of readdirSync(`${dist}assets`).filter((one) => /\.(js|css)$/.test(one)).sort()) {
  sizes.set(`assets/${name}`, gzipSync(readFileSync(`${dist}assets/${name}`), { level: 9 }).length);
}

/** A part's files, with those of what it imports. */
function filesOf(part, into = new Set()) {
  // A part that is grouped with what it imports stands under the group's name.
  const chunk = manifest[part] ?? Object.values(manifest).find((one) => one.name === part);
  if (!chunk) throw new Error(`the build has no part ${part}`);
  if (into.has(chunk.file)) return into;
  into.add(chunk.file);
  (chunk.css ?? []).forEach((file) => into.add(file));
  (chunk.imports ?? []).forEach((one) => filesOf(one, into));
  return into;
}

const sum = (files) => [...files].reduce((total, file) => total + sizes.get(file), 0);
const styles = [...sizes.keys()].filter((file) => file.endsWith(".css"));

let isOver = false;
const report = (bytes, budget, what) => {
  isOver ||= bytes > budget;
  console.log(`${String(bytes).padStart(7)} B gzip of ${budget} B allowed for ${what}`);
};

for (const [file, size] of sizes) console.log(`${String(size).padStart(7)} B gzip  ${file}`);
for (const { view, part, budget } of VIEWS) {
  const files = new Set(styles); // the live connection's worker is started when the first view has come to rest
  ["index.html", part].forEach((one) => filesOf(one, files));
  report(sum(files), budget, `the view ${view}`);
}
report(sum(sizes.keys()), WHOLE_BUDGET, "all");
if (isOver) {
  console.error("The page is over its budget (JS and CSS by gzip; what somebody opens first: 60 kB).");
  process.exit(1);
}
