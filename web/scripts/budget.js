// Fails the build when the page's JavaScript and CSS outgrow their budget.
import { readdirSync, readFileSync } from "node:fs";
import { fileURLToPath } from "node:url";
import { gzipSync } from "node:zlib";

const BUDGET = 60_000;
const folder = fileURLToPath(new URL("../dist/assets/", import.meta.url));

let total = 0;
for (const name of readdirSync(folder).filter((name) => /\.(js|css)$/.test(name)).sort()) {
  const size = gzipSync(readFileSync(folder + name), { level: 9 }).length;
  total += size;
  console.log(`${String(size).padStart(7)} B gzip  assets/${name}`);
}
console.log(`${String(total).padStart(7)} B gzip of ${BUDGET} B allowed`);
if (total > BUDGET) {
  console.error("The page is over its budget (DESIGN: JS + CSS <= 60 kB gzip).");
  process.exit(1);
}
