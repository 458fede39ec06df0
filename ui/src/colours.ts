/** Colours of the page: of protocols and connections by the palette, of paper and ink by light or dark. */

import type { Palette, Run } from "./data";

export interface Inks {
  ink: string;
  soft: string;
  line: string;
  paper: string;
  dark: boolean;
}

const LIGHT: Inks = { ink: "#1b2430", soft: "#4a5563", line: "#e4e8ec", paper: "#ffffff", dark: false };
const DARK: Inks = { ink: "#e8ecf0", soft: "#a9b3be", line: "#313b47", paper: "#151b23", dark: true };

export const inks = (dark: boolean): Inks => (dark ? DARK : LIGHT);

/** The same colour, but for ink, which would not be seen on dark paper. */
export const seen = (colour: string, own: Inks): string =>
  own.dark && colour.toLowerCase() === LIGHT.ink ? DARK.ink : colour;

/**
 * The colour of a connection's lines: that of its protocol where the page has several,
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
  const look = run.header.protocols[run.header.connections.protocol[connection] ?? ""];
  const colour = several ? look?.colour : palette.lines[rank % palette.lines.length];
  return seen(colour ?? LIGHT.ink, own);
}

export function utilisationColour(share: number, palette: Palette): string {
  const last = palette.utilisation.length - 1;
  return palette.utilisation[Math.round(Math.min(Math.max(share, 0), 1) * last)] ?? LIGHT.soft;
}
