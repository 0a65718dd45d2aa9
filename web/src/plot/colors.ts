import { SERIES_COLORS } from "../lib/chart/color";

/** Resolves the page's colour tokens for the canvas, which knows no custom properties. */
export interface PlotColors {
  line: string;
  band: string;
  edge: string;
  faint: string;
  ghost: string;
  text: string;
  grid: string;
  cursor: string;
  info: string;
  warning: string;
  critical: string;
  series: string[];
}

const known = new Map<string, string[]>();

/** Asking for a colour makes the browser work out all styles first: all are asked for at once, and once a theme. */
function read(host: HTMLElement, isDark: boolean, texts: readonly string[]): string[] {
  const key = `${isDark} ${texts[0]}`;
  const before = known.get(key);
  if (before) return before;
  const probe = document.createElement("span");
  probe.append(
    ...texts.map((text) => {
      const one = document.createElement("span");
      one.style.color = text;
      return one;
    }),
  );
  host.append(probe);
  const colors = Array.from(probe.children, (one) => getComputedStyle(one).color);
  probe.remove();
  known.set(key, colors);
  return colors;
}

const SHARED = ["--text-2", "--grid", "--info", "--warning", "--critical", ...Array.from({ length: SERIES_COLORS }, (_, i) => `--series-${i}`)];

export function readColors(host: HTMLElement, hue: number, isDark: boolean): PlotColors {
  const own = `var(--series-${hue})`;
  const mix = (color: string, percent: number): string => `color-mix(in srgb, ${color} ${percent}%, transparent)`;
  // The edge is strong enough that a spike one pixel wide, whose band has no area, is seen.
  const [line = "", band = "", edge = "", faint = ""] = read(host, isDark, [own, mix(own, 22), mix(own, 60), mix(own, 38)]);
  const [ghost = "", text = "", grid = "", info = "", warning = "", critical = "", ...series] = read(host, isDark, [mix("var(--text-2)", 55), ...SHARED.map((name) => `var(${name})`)]);
  return { line, band, edge, faint, ghost, text, grid, cursor: text, info, warning, critical, series };
}
