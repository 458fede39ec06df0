/** Colours of the page: of protocols and connections by the palette, of paper and ink by light or dark. */

import type { Palette, Run } from "./data";
import { fromOklch, toOklch } from "./oklch";

export interface Inks {
  ink: string;
  soft: string;
  line: string;
  paper: string;
  /** What surrounds the chosen link. */
  halo: string;
  /** The inside of an empty pipe, and its edge. */
  hollow: string;
  edge: string;
  dark: boolean;
}

const LIGHT: Inks = {
  ink: "#1b2430",
  soft: "#4a5563",
  line: "#e4e8ec",
  paper: "#ffffff",
  halo: "#f0c94a",
  hollow: "#eef1f4",
  edge: "#b4bdc7",
  dark: false,
};
const DARK: Inks = {
  ink: "#e8ecf0",
  soft: "#a9b3be",
  line: "#313b47",
  paper: "#151b23",
  halo: "#8a6d12",
  hollow: "#222b36",
  edge: "#566272",
  dark: true,
};

export const inks = (dark: boolean): Inks => (dark ? DARK : LIGHT);

/** How much lighter colours are on dark paper. */
const LIGHTER = 0.2;

/** The colour as it is seen on this paper: on dark paper a little lighter, and what is ink becomes that of dark paper. */
export function seen(colour: string, own: Inks): string {
  if (!own.dark) return colour;
  return colour.toLowerCase() === LIGHT.ink ? DARK.ink : mixed(colour, DARK.ink, LIGHTER);
}

/** Lines differ in lightness from their paper by this much at least. */
const LEAST_CONTRAST = 0.3;

/** A colour as it is seen on this paper, nearer to the ink where it would be lost on the paper. */
export function legible(colour: string, own: Inks): string {
  let found = seen(colour, own);
  while (Math.abs(lightness(found) - lightness(own.paper)) < LEAST_CONTRAST) found = mixed(found, own.ink, LIGHTER);
  return found;
}

/** The colour of a protocol, as it is seen on this paper. */
export const protocolColour = (run: Run, connection: number, own: Inks): string =>
  seen(run.header.protocols[run.header.connections.protocol[connection] ?? ""]?.colour ?? LIGHT.ink, own);

/** So many shades of a protocol's colour its connections have, of as many as are drawn. */
export const SHADES = 8;
/** How far the last shades are from a protocol's own colour: towards ink, and towards paper. */
const TO_INK = 0.8;
const TO_PAPER = 0.6;

/** A shade of a colour, and how wide its lines are in charts: those of shades next to each other differ. */
export interface Shade {
  colour: string;
  width: number;
}

const WIDTHS = [1.4, 2.2];

/** How a connection's lines look: as its protocol, or by its rank among those of the protocol in a shade of that. */
export function lookOf(run: Run, connection: number, own: Inks, rank = connection): Shade {
  return shadesOf(protocolColour(run, connection, own), own)[rank % SHADES] as Shade;
}

/** How far the hues of shades are from a protocol's own, in degrees: those next to each other in rank differ most. */
const HUES = [0, 42, -42, 24, -24, 52, -52, 12];
/** A colour of less chroma is a grey, and has tinted greys of all hues. */
const GREY = 0.04;
const TINT = 0.085;
const TINTS = [0, 45, 255, 150, 320, 90, 200, 20];
const LEAST_CHROMA = 0.1;

/** The shades of a colour: itself first, then those that can best be told from the ones before, also without colours. */
export function shadesOf(colour: string, own: Inks): Shade[] {
  const ends = [mixed(colour, own.ink, TO_INK), mixed(colour, own.paper, TO_PAPER)].map(lightness);
  const [inkEnd, paperEnd] = ends as [number, number];
  // Of a dark colour on light paper there are more shades towards paper.
  const before = Math.round(((SHADES - 1) * (lightness(colour) - inkEnd)) / (paperEnd - inkEnd));
  const after = SHADES - 1 - before;
  const levels = Array.from({ length: SHADES }, (_, level) =>
    level < before
      ? mixed(colour, own.ink, (TO_INK * (before - level)) / before)
      : mixed(colour, own.paper, (TO_PAPER * (level - before)) / Math.max(after, 1)),
  );
  return apart(before).map((level, rank) => ({
    colour: rank === 0 ? colour : turned(colour, levels[level] as string, rank),
    width: WIDTHS[Math.abs(level - before) % 2] as number,
  }));
}

/** A colour of another hue that is as light as a shade. */
function turned(colour: string, shade: string, rank: number): string {
  const { chroma, hue } = toOklch(colour);
  const wanted = lightness(shade);
  const found =
    chroma < GREY
      ? { lightness: wanted, chroma: TINT, hue: TINTS[rank] as number }
      : { lightness: wanted, chroma: Math.max(chroma, LEAST_CHROMA), hue: hue + (HUES[rank] as number) };
  // How light a colour looks here is measured by its luminance; a few steps find it.
  for (let step = 0; step < 4; step++) found.lightness += wanted - lightness(fromOklch(found));
  return fromOklch(found);
}

/** All levels from ink to paper, from one on: each as far as can be from those before it, and from paper. */
function apart(first: number): number[] {
  const order = [first];
  const room = (level: number) => Math.min(SHADES - level, ...order.map((other) => Math.abs(level - other)));
  const levels = Array.from({ length: SHADES }, (_, level) => level);
  while (order.length < SHADES) order.push(levels.reduce((best, level) => (room(level) > room(best) ? level : best)));
  return order;
}

/** How light a colour looks, from 0 to 1: the L of Oklab, as for a grey of the same luminance. */
export function lightness(colour: string): number {
  const [red, green, blue] = [0, 1, 2].map((i) => {
    const value = part(colour, i) / 255;
    return value <= 0.04045 ? value / 12.92 : ((value + 0.055) / 1.055) ** 2.4;
  }) as [number, number, number];
  return Math.cbrt(0.2126 * red + 0.7152 * green + 0.0722 * blue);
}

/** Red, green or blue of `#rrggbb`, up to 255. */
const part = (text: string, i: number): number => Number.parseInt(text.slice(1 + 2 * i, 3 + 2 * i), 16);

/** A colour with a share of another one in it; both as `#rrggbb`. */
export function mixed(colour: string, other: string, share: number): string {
  const parts = [0, 1, 2].map((i) => Math.round((1 - share) * part(colour, i) + share * part(other, i)));
  return `#${parts.map((value) => value.toString(16).padStart(2, "0")).join("")}`;
}

/** The colours of utilisation, from what is hardly seen on this paper to what is seen best. */
export const utilisationRamp = (palette: Palette, own: Inks): string[] =>
  own.dark ? palette.utilisation_dark : palette.utilisation;

export function utilisationColour(share: number, ramp: string[]): string {
  return ramp[Math.round(Math.min(Math.max(share, 0), 1) * (ramp.length - 1))] ?? LIGHT.soft;
}
