/** Colours as people see them: lightness, chroma and hue of Oklab, to and from `#rrggbb`. */

export interface Oklch {
  /** From 0, black, to 1, white. */
  lightness: number;
  chroma: number;
  /** In degrees. */
  hue: number;
}

type Triple = [number, number, number];

export function toOklch(colour: string): Oklch {
  const [red, green, blue] = [1, 3, 5].map((i) => linear(Number.parseInt(colour.slice(i, i + 2), 16) / 255)) as Triple;
  const l = Math.cbrt(0.4122214708 * red + 0.5363325363 * green + 0.0514459929 * blue);
  const m = Math.cbrt(0.2119034982 * red + 0.6806995451 * green + 0.1073969566 * blue);
  const s = Math.cbrt(0.0883024619 * red + 0.2817188376 * green + 0.6299787005 * blue);
  const a = 1.9779984951 * l - 2.428592205 * m + 0.4505937099 * s;
  const b = 0.0259040371 * l + 0.7827717662 * m - 0.808675766 * s;
  const lightness = 0.2104542553 * l + 0.793617785 * m - 0.0040720468 * s;
  return { lightness, chroma: Math.hypot(a, b), hue: (Math.atan2(b, a) * 180) / Math.PI };
}

/** The colour, with as much of its chroma as a screen can show. */
export function fromOklch({ lightness, chroma, hue }: Oklch): string {
  let own = chroma;
  let parts = linearParts(lightness, own, hue);
  while (own > 0.001 && parts.some((value) => value < -1e-4 || value > 1.0001)) {
    own *= 0.94;
    parts = linearParts(lightness, own, hue);
  }
  return `#${parts.map((value) => hex(curved(Math.min(Math.max(value, 0), 1)))).join("")}`;
}

function linearParts(lightness: number, chroma: number, hue: number): Triple {
  const [a, b] = [Math.cos((hue * Math.PI) / 180) * chroma, Math.sin((hue * Math.PI) / 180) * chroma];
  const l = (lightness + 0.3963377774 * a + 0.2158037573 * b) ** 3;
  const m = (lightness - 0.1055613458 * a - 0.0638541728 * b) ** 3;
  const s = (lightness - 0.0894841775 * a - 1.291485548 * b) ** 3;
  return [
    4.0767416621 * l - 3.3077115913 * m + 0.2309699292 * s,
    -1.2684380046 * l + 2.6097574011 * m - 0.3413193965 * s,
    -0.0041960863 * l - 0.7034186147 * m + 1.707614701 * s,
  ];
}

const linear = (value: number): number => (value <= 0.04045 ? value / 12.92 : ((value + 0.055) / 1.055) ** 2.4);
const curved = (value: number): number => (value <= 0.0031308 ? 12.92 * value : 1.055 * value ** (1 / 2.4) - 0.055);
const hex = (value: number): string =>
  Math.round(255 * value)
    .toString(16)
    .padStart(2, "0");
