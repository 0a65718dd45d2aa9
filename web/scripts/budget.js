// Fails the build when the page's JavaScript and CSS outgrow their budgets: of what the first view loads, and of all.
import { readdirSync, readFileSync } from "node:fs";
import { fileURLToPath } from "node:url";
import { gzipSync } from "node:zlib";

const FIRST_BUDGET = 60_000;
const WHOLE_BUDGET = 120_000;
const folder = fileURLToPath(new URL("../dist/assets/", import.meta.url));

const names = readdirSync(folder).filter((name) => /\.(js|css)$/.test(name)).sort();
const texts = new Map(names.map((name) => [name, readFileSync(folder + name)]));

/** Files that a file names in one way of importing them. */
const named = (text, pattern) => Array.from(text.matchAll(pattern), (match) => match[1]).filter((name) => texts.has(name));

// What index.html names, what that imports, and the worker: everything that no import() stands before.
const first = new Set();
const add = (name) => {
  if (first.has(name)) return;
  first.add(name);
  const text = texts.get(name).toString();
  named(text, /(?:\bfrom|\bimport)\s*["'`]\.\/([^"'`]+)["'`]/g).forEach(add);
  named(text, /["'`]\/assets\/([^"'`]+)["'`]/g).forEach(add);
};
named(readFileSync(new URL("../dist/index.html", import.meta.url), "utf8"), /["']\/assets\/([^"']+)["']/g).forEach(add);

let firstBytes = 0;
let wholeBytes = 0;
for (const [name, text] of texts) {
  const size = gzipSync(text, { level: 9 }).length;
  wholeBytes += size;
  if (first.has(name)) firstBytes += size;
  console.log(`${String(size).padStart(7)} B gzip  ${first.has(name) ? "first" : "later"}  assets/${name}`);
}
console.log(`${String(firstBytes).padStart(7)} B gzip of ${FIRST_BUDGET} B allowed for the first view`);
console.log(`${String(wholeBytes).padStart(7)} B gzip of ${WHOLE_BUDGET} B allowed for all`);
if (firstBytes > FIRST_BUDGET || wholeBytes > WHOLE_BUDGET) {
  console.error("The page is over its budget (DESIGN: JS + CSS <= 60 kB gzip for the first view).");
  process.exit(1);
}
