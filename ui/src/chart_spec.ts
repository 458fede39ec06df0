/** What a chart is made of, and how far its axis reaches. */

import type { Inks } from "./colours";
import type { Palette, Run } from "./data";
import type { Drawn, State } from "./selection";
import type { TermName } from "./terms";

export interface Line {
  label: string;
  /** What it is called together with others of the same look. */
  key?: string;
  colour: string;
  values: Float32Array;
  width?: number;
  dashed?: boolean;
  /** A pattern of dashes and gaps that tells it from others of its colour. */
  pattern?: number[];
  /** It stays as it is until the next sample. */
  stepped?: boolean;
  /** The shape at its end. */
  marker?: string;
  /** What stands at its end, where that is not its key or label. */
  name?: string;
}

/** A filled area between two lines, by their numbers. */
export interface Band {
  upper: number;
  lower: number;
  colour: string;
}

export interface ChartSpec {
  /** Charts of the same kind have the same axis in all runs. */
  kind: string;
  title: string;
  /** What is drawn of it, and what dashes mean. */
  note: string;
  /** The word in the title that has a meaning at hand. */
  term?: TermName;
  /** The name of what is drawn, whose ending is its unit. */
  column: string;
  lines: Line[];
  bands?: Band[];
  /** Least and greatest of the axis; of the axis where it leaves nothing out. */
  range: Range;
  whole: Range;
  /** Least and greatest of its own lines. */
  peaks: Range;
  text: (value: number | null | undefined) => string;
  /** Why there is no line, where it is not that nothing was recorded. */
  empty?: string;
  /** What its lines are, if they can be chosen. */
  of?: "connections" | "links";
  /** What else may be drawn in its place. */
  choice?: { of: keyof Drawn; label: string; options: string[]; value: string };
}

export type Range = [number, number];

/** What charts depend on. */
export type Shown = Pick<State, "chosen" | "link" | "filter" | "drawn" | "compared" | "more">;

/** What all charts of a run are made of. */
export interface Making {
  run: Run;
  shown: Shown;
  palette: Palette;
  own: Inks;
}

export const NOTHING = new Float32Array();

/** So large a share of the samples may lie beyond an axis. */
export const PEAKS = 0.005;

const NAMES: Record<string, string> = {
  granted_bps: "granted rate",
  delivered_bps: "delivered rate",
  carried_bps: "load",
  window_bytes: "congestion window",
  rtt_s: "round trip",
  pace_bps: "pace",
  marked_share: "marked share",
  backlog_bytes: "bytes waiting",
  peak_packets: "most packets waiting",
  present: "connections present",
  residual: "residual",
  overload: "overload",
};

/** What says which lines have a look: one for each look, of dashed ones none. */
export interface Key extends Pick<Line, "colour" | "marker" | "width"> {
  label: string;
  lines: Line[];
}

export function keysOf(lines: Line[]): Key[] {
  const keys = new Map<string, Key>();
  for (const line of lines) {
    if (line.dashed) continue;
    const label = line.key ?? line.name ?? line.label;
    const key = keys.get(label) ?? { ...line, label, lines: [] };
    key.lines.push(line);
    keys.set(label, key);
  }
  return [...keys.values()];
}

/** How high the swatch of a key is, in pixels: as the line is wide. */
export const swatchHeight = ({ width }: Pick<Key, "width">): number => Math.max(2, 2 * Math.round(width ?? 1.5) - 1);

/** What a recorded variable is called. */
export const variableName = (variable: string): string => NAMES[variable] ?? variable;

/** So much higher than its lines an axis is. */
export const HIGHER = 1.06;

/** From 0 to what all but the highest peaks keep below, and to the highest. */
export function fromZero(lines: Line[]): Pick<ChartSpec, "range" | "whole" | "peaks"> {
  const high = (share: number) => Math.max(0, ...lines.map((line) => quantile(line.values, share)));
  const [usual, all] = [high(1 - PEAKS), high(1)];
  // A little more than usual is worth no note.
  const near = all <= 1.25 * usual ? all : usual;
  const axis = (top: number): Range => [0, top > 0 ? HIGHER * top : 1];
  return { range: axis(near), whole: axis(all), peaks: [0, all] };
}

/** What is said of peaks that an axis leaves out; null where it has all of the chart's own lines. */
export function cutText({ range, peaks, text }: Pick<ChartSpec, "range" | "peaks" | "text">): string | null {
  const low = peaks[0] < range[0] ? [text(peaks[0])] : [];
  const high = peaks[1] > range[1] ? [text(peaks[1])] : [];
  const cut = [...low, ...high];
  return cut.length ? `peaks to ${cut.join(" and ")} are cut` : null;
}

/** The value that a share of those that are there stay below. */
export function quantile(values: Float32Array, share: number): number {
  const there = values.filter((value) => !Number.isNaN(value)).sort();
  return there[Math.min(Math.floor(share * there.length), there.length - 1)] ?? 0;
}
