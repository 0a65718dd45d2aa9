// Colours that a program chose, so that they can be read on the grounds of both themes.

export type Rgb = readonly [number, number, number];

const LIGHT_GROUND = 1;
const DARK_GROUND = 0.006;
const LEAST_CONTRAST = 4.5;
const STEPS = 20;

/** xterm's colours from 16 on: a cube of six steps, then greys. */
export function cubeColor(index: number): Rgb | null {
  if (!Number.isInteger(index) || index < 16 || index > 255) return null;
  if (index >= 232) {
    const grey = 8 + (index - 232) * 10;
    return [grey, grey, grey];
  }
  const at = index - 16;
  const step = (n: number): number => (n === 0 ? 0 : 55 + 40 * n);
  return [step(Math.floor(at / 36)), step(Math.floor(at / 6) % 6), step(at % 6)];
}

const linear = (part: number): number => (part <= 10 ? part / 255 / 12.92 : ((part / 255 + 0.055) / 1.055) ** 2.4);

const luminance = ([r, g, b]: Rgb): number => 0.2126 * linear(r) + 0.7152 * linear(g) + 0.0722 * linear(b);

export function contrast(a: number, b: number): number {
  return (Math.max(a, b) + 0.05) / (Math.min(a, b) + 0.05);
}

/** The colour, moved towards black or white until it stands out from the ground. */
export function standOut(color: Rgb, ground: number): Rgb {
  const end = ground > 0.5 ? 0 : 255;
  let now = color;
  for (let i = 1; i <= STEPS && contrast(luminance(now), ground) < LEAST_CONTRAST; i++) {
    const mix = (part: number): number => Math.round(part + ((end - part) * i) / STEPS);
    now = [mix(color[0]), mix(color[1]), mix(color[2])];
  }
  return now;
}

const known = new Map<number, string>();

export function readable(color: Rgb): string {
  const key = (color[0] << 16) | (color[1] << 8) | color[2];
  let text = known.get(key);
  if (text === undefined) {
    text = `light-dark(rgb(${standOut(color, LIGHT_GROUND).join(" ")}), rgb(${standOut(color, DARK_GROUND).join(" ")}))`;
    if (known.size < 4096) known.set(key, text);
  }
  return text;
}
