// Fails the build when the page's JavaScript and CSS outgrow their budgets: of what a view loads before its first chart, and of all.
import { readdirSync, readFileSync, rmSync } from "node:fs";
import { fileURLToPath } from "node:url";
import { gzipSync } from "node:zlib";

const VIEW_BUDGET = 60_000;
const WHOLE_BUDGET = 330_000;
// What somebody may open first.
const VIEWS = {
  jobs: ["src/pages/jobs/page.tsx"],
  job: ["job"], // to its first chart; the log and the tabs come after it
};

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
for (const [view, parts] of Object.entries(VIEWS)) {
  const files = new Set(styles); // the live connection's worker is started when the first view has come to rest
  ["index.html", ...parts].forEach((part) => filesOf(part, files));
  report(sum(files), VIEW_BUDGET, `the view ${view}`);
}
report(sum(sizes.keys()), WHOLE_BUDGET, "all");
if (isOver) {
  console.error("The page is over its budget (DESIGN: JS + CSS <= 60 kB gzip for the first view).");
  process.exit(1);
}
