/** Colours of the page: of protocols and connections by the palette, of paper and ink by light or dark. */

import type { Palette, Run } from "./data";

export interface Inks {
  ink: string;
  soft: string;
  line: string;
  paper: string;
  /** What surrounds the chosen link. */
  halo: string;
  dark: boolean;
}

const LIGHT: Inks = {
  ink: "#1b2430",
  soft: "#4a5563",
  line: "#e4e8ec",
  paper: "#ffffff",
  halo: "#f0c94a",
  dark: false,
};
const DARK: Inks = { ink: "#e8ecf0", soft: "#a9b3be", line: "#313b47", paper: "#151b23", halo: "#8a6d12", dark: true };

export const inks = (dark: boolean): Inks => (dark ? DARK : LIGHT);

/** How much lighter colours are on dark paper. */
const LIGHTER = 0.2;

/** The colour as it is seen on this paper: on dark paper a little lighter, and what is ink becomes that of dark paper. */
export function seen(colour: string, own: Inks): string {
  if (!own.dark) return colour;
  return colour.toLowerCase() === LIGHT.ink ? DARK.ink : mixed(colour, DARK.ink, LIGHTER);
}

/** The colour of a protocol, as it is seen on this paper. */
export const protocolColour = (run: Run, connection: number, own: Inks): string =>
  seen(run.header.protocols[run.header.connections.protocol[connection] ?? ""]?.colour ?? LIGHT.ink, own);

/** How far from a protocol's own colour those of its further connections are: towards ink, or towards paper. */
const SHADES = [0, 0.45, -0.45, 0.7, -0.65, 0.22, -0.22];

/**
 * The colour of a connection's lines: a shade of that of its protocol where the page has several,
 * else that of its rank among the connections drawn.
 */
export function lineColour(
  run: Run,
  connection: number,
  palette: Palette,
  several: boolean,
  own: Inks,
  rank = connection,
): string {
  if (!several) return seen(palette.lines[rank % palette.lines.length] ?? LIGHT.ink, own);
  const shade = SHADES[rank % SHADES.length] as number;
  return mixed(protocolColour(run, connection, own), shade < 0 ? own.paper : own.ink, Math.abs(shade));
}

/** A colour with a share of another one in it; both as `#rrggbb`. */
export function mixed(colour: string, other: string, share: number): string {
  const part = (text: string, i: number) => Number.parseInt(text.slice(1 + 2 * i, 3 + 2 * i), 16);
  const parts = [0, 1, 2].map((i) => Math.round((1 - share) * part(colour, i) + share * part(other, i)));
  return `#${parts.map((value) => value.toString(16).padStart(2, "0")).join("")}`;
}

/** The colours of utilisation, from what is hardly seen on this paper to what is seen best. */
export const utilisationRamp = (palette: Palette, own: Inks): string[] =>
  own.dark ? palette.utilisation_dark : palette.utilisation;

export function utilisationColour(share: number, ramp: string[]): string {
  return ramp[Math.round(Math.min(Math.max(share, 0), 1) * (ramp.length - 1))] ?? LIGHT.soft;
}
