import { SERIES_COLORS } from "../lib/color";

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

const known = new Map<string, PlotColors>();

/** Asking for a colour makes the browser work out all styles first: once a theme and hue. */
export function readColors(host: HTMLElement, series: number, isDark: boolean): PlotColors {
  const key = `${isDark} ${series}`;
  const colors = known.get(key) ?? probeColors(host, series);
  known.set(key, colors);
  return colors;
}

function probeColors(host: HTMLElement, series: number): PlotColors {
  const probe = document.createElement("span");
  host.append(probe);
  const read = (value: string): string => {
    probe.style.color = value;
    return getComputedStyle(probe).color;
  };
  const line = `var(--series-${series})`;
  const colors = {
    line: read(line),
    band: read(`color-mix(in srgb, ${line} 22%, transparent)`),
    // Strong enough that a spike one pixel wide, whose band has no area, is seen.
    edge: read(`color-mix(in srgb, ${line} 60%, transparent)`),
    faint: read(`color-mix(in srgb, ${line} 38%, transparent)`),
    ghost: read("color-mix(in srgb, var(--text-2) 55%, transparent)"),
    text: read("var(--text-2)"),
    grid: read("var(--grid)"),
    cursor: read("var(--text-2)"),
    info: read("var(--info)"),
    warning: read("var(--warning)"),
    critical: read("var(--critical)"),
    series: Array.from({ length: SERIES_COLORS }, (_, i) => read(`var(--series-${i})`)),
  };
  probe.remove();
  return colors;
}
