import type { Plugin } from "vite";

const FILE = "uplot/dist/uPlot.esm.js";
const NOTHING = "";

/**
 * Functions of uPlot that no chart of ours calls, with what stands for their bodies. plot.ts and overlay.ts give each scale its range
 * and each axis its texts, draw lines alone, show no legend, and neither add nor focus a series.
 */
const UNUSED: Readonly<Record<string, string>> = {
  // paths other than lines, and areas between two series
  bars: NOTHING,
  stepped: NOTHING,
  monotoneCubic: NOTHING,
  splineInterp: NOTHING,
  _monotoneCubic: NOTHING,
  clipBandLine: NOTHING,
  bandFillClipDirs: "return [0, 0];",
  // ranges and texts of axes
  rangeLog: "return [min, max];",
  rangeNum: "return [_min, _max];",
  _rangeNum: NOTHING,
  rangeAsinh: NOTHING,
  asinhAxisSplits: NOTHING,
  logAxisSplits: NOTHING,
  log10AxisValsFilt: NOTHING,
  log2AxisValsFilt: NOTHING,
  numAxisVals: NOTHING,
  fmtDate: NOTHING,
  tzDate: NOTHING,
  timeAxisStamps: NOTHING,
  timeAxisVals: NOTHING,
  timeAxisVal: NOTHING,
  // the legend, and series that come and go
  numSeriesVal: NOTHING,
  timeSeriesStamp: NOTHING,
  timeSeriesVal: NOTHING,
  initLegendRow: NOTHING,
  setLegendValues: NOTHING,
  syncLegend: NOTHING,
  setSeries: NOTHING,
  setFocus: NOTHING,
  addSeries: NOTHING,
  delSeries: NOTHING,
  addBand: NOTHING,
  delBand: NOTHING,
  setBand: NOTHING,
  // tables of several x
  join: NOTHING,
  sortCols: NOTHING,
  nullExpand: NOTHING,
};

/** What is so in each chart of ours: what stands behind the other case is left out, too. */
const FACTS: readonly (readonly [text: string, fact: string])[] = [
  ["const mode = self.mode;", "const mode = 1;"],
  ["const mode = u.mode;", "const mode = 1;"],
  ["let mode = self.mode;", "const mode = 1;"],
  ["const showLegend = legend.show;", "const showLegend = false;"],
  ["const cursorFocus = focus.prox >= 0;", "const cursorFocus = false;"],
  ["const showCursor =                cursor.show;", "const showCursor = true;"],
  ["scaleX.ori == 0", "true"],
  ["scaleX.ori == 1", "false"],
];

/** The text without the function's body, which ends with the brace below the function's own beginning. */
function emptied(code: string, name: string, body: string): string {
  const head = new RegExp(`^(\\t*)function ${name}\\(.*\\) \\{\\n`, "m").exec(code);
  const end = head ? code.indexOf(`\n${head[1]}}\n`, head.index) : -1;
  if (!head || end < 0) throw new Error(`uPlot has no function ${name} any more: see web/scripts/leanuplot.ts`);
  return code.slice(0, head.index + head[0].length) + body + code.slice(end);
}

function stated(code: string, text: string, fact: string): string {
  if (!code.includes(text)) throw new Error(`uPlot does not say '${text}' any more: see web/scripts/leanuplot.ts`);
  return code.replaceAll(text, fact);
}

/** What a job's page loads before its first curve is mostly uPlot: this leaves out of it what is never called. */
export function leanUplot(): Plugin {
  return {
    name: "lean-uplot",
    apply: "build",
    transform: (code, id) => {
      if (!id.endsWith(FILE)) return null;
      const lean = Object.entries(UNUSED).reduce((all, [name, body]) => emptied(all, name, body), code);
      return FACTS.reduce((all, [text, fact]) => stated(all, text, fact), lean);
    },
  };
}
