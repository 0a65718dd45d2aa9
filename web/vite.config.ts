import type { Plugin } from "vite";
import { defineConfig } from "vitest/config";
import { leanUplot } from "./scripts/leanuplot.ts";
import { packedTexts } from "./scripts/texts.ts";

/** Vite's helper that preloads what a lazy part imports is 1.5 kB of the first view, and with modulePreload off has nothing to do. */
function plainImports(): Plugin {
  return {
    name: "plain-imports",
    enforce: "post",
    transform: (_, id) => (id.endsWith("vite/preload-helper.js") ? "export const __vitePreload = (load) => load();" : null),
  };
}

const RUNTIME = /import\{(\w+) as (\w+)\}from"\.\/rolldown-runtime-[\w-]+\.js";/;

/** The bundler's helper is 150 bytes, and as a file of its own one request more before the first curve: whoever needs it has it. */
function inlineRuntime(): Plugin {
  return {
    name: "inline-runtime",
    enforce: "post",
    generateBundle(_, bundle) {
      const chunks = Object.values(bundle).filter((one) => one.type === "chunk");
      const runtime = chunks.find((one) => one.name === "rolldown-runtime");
      if (!runtime) return;
      const [helper, ...more] = runtime.exports;
      const code = /^(.*)export\{(\w+)\};\n?$/s.exec(runtime.code);
      if (!code || helper !== code[2] || more.length > 0) this.error(`the bundler's helper has another form: ${runtime.code}`);
      for (const chunk of chunks.filter((one) => one.imports.includes(runtime.fileName))) {
        const asked = RUNTIME.exec(chunk.code);
        if (asked?.[1] !== helper) this.error(`${chunk.fileName} asks for the bundler's helper in another form`);
        chunk.code = chunk.code.replace(asked![0], () => `let ${asked![2]}=(()=>{${code![1]}return ${helper}})();`);
        chunk.imports = chunk.imports.filter((one) => one !== runtime.fileName);
      }
      delete bundle[runtime.fileName];
    },
  };
}

/** What a view's own page is for: its first part, with all that this needs, is on the way at once, and not found file by file. */
const PAGES = {
  "job.html": "src/pages/job/page.tsx",
  "logs.html": "src/pages/job/logspage.tsx",
  "fleet.html": "src/pages/fleet/page.tsx",
  "jobs.html": "src/pages/jobs/page.tsx",
  "compare.html": "src/pages/compare/page.tsx",
  "workspace.html": "src/pages/workspace/page.tsx",
  "wall.html": "src/pages/wall/page.tsx",
  "evaluations.html": "src/pages/evaluations/page.tsx",
  "pools.html": "src/pages/pools/page.tsx",
  "nodes.html": "src/pages/machines/page.tsx",
  "incidents.html": "src/pages/alerts/page.tsx",
  "report.html": "src/pages/report/page.tsx",
};

/**
 * Their part runs in one go with the page's first script, and says that it `isHere`: the first frame has the view. Not so a job's page: its first
 * script asks for the curve, and waits for nothing.
 */
const RUNS_AT_ONCE = new Set(["logs.html"]);

/** These are index.html and say so; the server gives them out for the addresses of their views. */
function ownPages(): Plugin {
  return {
    name: "own-pages",
    enforce: "post",
    generateBundle(_, bundle) {
      const page = bundle["index.html"];
      if (page?.type !== "asset") return this.error("there is no index.html");
      const chunks = Object.values(bundle).filter((one) => one.type === "chunk");
      for (const [name, source] of Object.entries(PAGES)) {
        const files = new Set(chunks.filter((one) => one.moduleIds.some((id) => id.endsWith(source))).map((one) => one.fileName));
        if (files.size === 0) this.error(`${source} is in no part`);
        for (const file of files) chunks.find((one) => one.fileName === file)?.imports.forEach((other) => files.add(other));
        const others = [...files].filter((file) => !String(page.source).includes(file));
        const first = RUNS_AT_ONCE.has(name) ? `    <script type="module" crossorigin src="/${others.shift()}"></script>\n` : "";
        const links = others.map((file) => `    <link rel="modulepreload" crossorigin href="/${file}">\n`).join("");
        const html = String(page.source).replace("    <script", `${first}    <script`);
        this.emitFile({ type: "asset", fileName: name, source: html.replace("  </head>", `${links}  </head>`) });
      }
    },
  };
}

type Modules = { getModuleInfo(id: string): { isEntry: boolean; importers: string[] } | null };

// The log alone asks for the same as a job's page and draws no curve.
const LOGS_PAGE = /\/src\/pages\/job\/logspage\.tsx$/;
const JOB_PAGE = /\/src\/pages\/job\/page\.tsx$/;
// Whoever draws curves may as well have what stands around them; of the other pages no one loads that.
const OTHER_PAGES = /\/src\/pages\/(?!job\/|compare\/|workspace\/|wall\/|embed)(.+\/page|[a-z]+)\.tsx$/;

// What several later parts use: as files of their own they would be fifty, each with the names of the others in it.
const SMALL = /\/src\/(lib\/(text|flow|url)|ui|state\/core)\//;

// What comes around each curve once it is drawn, and the tabs of a job that are hardly more than a table: one file each.
const AROUND = /\/src\/pages\/job\/chart\/(chosenmark|kept|plotkeys|summary|readout|eventmarks|marks|charttable)\.tsx?$/;
const TABS = /\/src\/pages\/job\/tabs\/(advice|deliveries|document|incidentlist|parts)\.tsx$/;

/**
 * What the page imports before it starts is one file, with what several pages share; what a job's page imports beyond that before its
 * first curve is one more, and what its log alone needs of that another. They compress better than pieces would, and no piece is found only when another has come.
 */
function firstView(id: string, modules: Modules): string | null {
  if (id.includes("rolldown/runtime")) return "first";
  const above = new Set([id]);
  let isOfJob = false;
  let isOfLogs = false;
  let isOfOthers = false;
  for (const one of above) {
    const info = modules.getModuleInfo(one);
    if (info?.isEntry) return "first";
    isOfJob ||= JOB_PAGE.test(one);
    isOfLogs ||= LOGS_PAGE.test(one);
    isOfOthers ||= OTHER_PAGES.test(one);
    info?.importers.forEach((importer) => above.add(importer));
  }
  if (isOfJob) return isOfOthers ? "first" : isOfLogs ? "stores" : "job";
  if (AROUND.test(id)) return "around";
  if (TABS.test(id)) return "tables";
  return isShared(id, modules) ? "shared" : null;
}

/** Also what none but one of these needs: as a file of its own it would be one request more for each who asks for them. */
function isShared(id: string, modules: Modules): boolean {
  const [only, ...more] = modules.getModuleInfo(id)?.importers ?? [];
  return more.length > 0 ? SMALL.test(id) : only !== undefined && isShared(only, modules);
}

const SERVER = "http://127.0.0.1:8080";

export default defineConfig({
  plugins: [plainImports(), leanUplot(), packedTexts(), inlineRuntime(), ownPages()],
  build: {
    // light-dark() and the other CSS used here exist natively from these on; nothing is lowered.
    target: ["chrome123", "firefox125", "safari17.5"],
    // A data: URL would break the page's Content-Security-Policy for anything but images.
    assetsInlineLimit: 0,
    // A lazy part is one file and needs nothing that is not here already: no helper that preloads.
    modulePreload: false,
    manifest: "manifest.json",
    rolldownOptions: { output: { codeSplitting: { includeDependenciesRecursively: false, groups: [{ name: firstView, debugName: "first" }] } } },
    cssCodeSplit: false,
    reportCompressedSize: false,
  },
  worker: { format: "es" },
  server: {
    // `make dev`: the page with hot reload, over a server on its usual port, which lets nobody write who comes from another origin.
    proxy: { "^/(api|dl)/": { target: SERVER, changeOrigin: true, headers: { origin: SERVER } } },
  },
  test: { include: ["test/**/*.test.ts"] },
});
