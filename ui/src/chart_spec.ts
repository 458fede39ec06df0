/** What a chart is made of, and how far its axis reaches. */

import type { Inks } from "./colours";
import type { Palette, Run } from "./data";
import type { Drawn, State } from "./selection";

export interface Line {
  label: string;
  colour: string;
  values: Float32Array;
  width?: number;
  dashed?: boolean;
  /** It stays as it is until the next sample. */
  stepped?: boolean;
  /** The shape at its end. */
  marker?: string;
}

export interface ChartSpec {
  /** Charts of the same kind have the same axis in all runs. */
  kind: string;
  title: string;
  /** What the axis has. */
  axis: string;
  lines: Line[];
  /** Least and greatest of the axis; of all that there is. */
  range: Range;
  whole: Range;
  text: (value: number | null | undefined) => string;
  /** What its lines are, if they can be chosen. */
  of?: "connections" | "links";
  /** What else may be drawn in its place. */
  choice?: { of: keyof Drawn; label: string; options: string[]; value: string };
}

export type Range = [number, number];

/** What charts depend on. */
export type Shown = Pick<State, "chosen" | "link" | "filter" | "drawn">;

/** What all charts of a run are made of. */
export interface Making {
  run: Run;
  shown: Shown;
  palette: Palette;
  several: boolean;
  own: Inks;
}

export const NOTHING = new Float32Array();

/** So large a share of the samples may lie beyond an axis. */
export const PEAKS = 0.005;

const NAMES: Record<string, string> = {
  granted_bps: "granted rate",
  delivered_bps: "delivered rate",
  carried_bps: "load",
  window_bytes: "window",
  rtt_s: "round trip",
  pace_bps: "pace",
  marked_share: "marked share",
  backlog_bytes: "queue",
  peak_packets: "longest queue",
  present: "connections there",
  residual: "residual",
  overload: "overload",
};

/** What a recorded variable is called. */
export const variableName = (variable: string): string => NAMES[variable] ?? variable;

/** From 0 to what all but the highest peaks keep below, and to the highest. */
export function fromZero(lines: Line[]): { range: Range; whole: Range } {
  const high = (share: number) => Math.max(0, ...lines.map((line) => quantile(line.values, share)));
  const [usual, all] = [high(1 - PEAKS), high(1)];
  // A little more than usual is worth no note.
  const near = all <= 1.25 * usual ? all : usual;
  return { range: [0, near > 0 ? 1.06 * near : 1], whole: [0, all > 0 ? 1.06 * all : 1] };
}

/** The value that a share of those that are there stay below. */
export function quantile(values: Float32Array, share: number): number {
  const there = values.filter((value) => !Number.isNaN(value)).sort();
  return there[Math.min(Math.floor(share * there.length), there.length - 1)] ?? 0;
}
