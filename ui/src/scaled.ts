/** One unit for all numbers of a column or an axis, so that only the numbers differ. */

import { NONE } from "./units";

export interface Unit {
  /** What stands in the head of the column; empty where numbers have no unit. */
  name: string;
  /** A value as a number of these units. */
  text: (value: number | null | undefined) => string;
  /** A number of an axis, with no more digits than it needs. */
  tick: (value: number) => string;
}

type Prefix = [least: number, divisor: number, name: string];

const decimal = (unit: string): Prefix[] => [
  [1e12, 1e12, `T${unit}`],
  [1e9, 1e9, `G${unit}`],
  [1e6, 1e6, `M${unit}`],
  [1e3, 1e3, `k${unit}`],
  [0, 1, unit],
];

const RATES = decimal("bit/s");
const SIZES = decimal("B");
const SPANS: Prefix[] = [
  [1, 1, "s"],
  [1e-3, 1e-3, "ms"],
  [1e-6, 1e-6, "µs"],
  [0, 1e-9, "ns"],
];
const SHARES: Prefix[] = [[0, 0.01, "%"]];
const PACKETS: Prefix[] = [[0, 1, "packets"]];
const COUNTS: Prefix[] = [[0, 1, ""]];

function prefixes(column: string): Prefix[] {
  if (column === "present") return COUNTS;
  if (column.endsWith("_packets")) return PACKETS;
  if (column.endsWith("_bps")) return RATES;
  if (column.endsWith("_bytes")) return SIZES;
  return column.endsWith("_s") ? SPANS : SHARES;
}

/** Whether the sign of a column's values says something, as with errors. */
const isSigned = (column: string): boolean => column === "error";

/** The unit for a column of values, by the unit in its name and its greatest value. */
export function unitOf(column: string, most: number): Unit {
  const own = prefixes(column);
  const size = Number.isFinite(most) ? Math.abs(most) : 0;
  const unit = size === 0 ? own.find(([, divisor]) => divisor === 1) : own.find(([least]) => size >= 0.9995 * least);
  const [, divisor, name] = unit ?? (own[own.length - 1] as Prefix);
  const isWhole = own === COUNTS || own === PACKETS;
  const decimals = isWhole ? 0 : own === SHARES ? 1 : decimalsFor(size / divisor);
  const sign = isSigned(column);
  return {
    name,
    text: (value) => numberText(value, divisor, size / divisor, decimals, sign),
    tick: (value) => signed(String(Number((value / divisor).toPrecision(6))), sign && value > 0),
  };
}

/** With this many decimals the greatest values have three digits or four. */
const decimalsFor = (most: number): number => (most >= 999.5 ? 0 : most >= 99.95 ? 1 : 2);

function numberText(
  value: number | null | undefined,
  divisor: number,
  most: number,
  decimals: number,
  sign: boolean,
): string {
  if (value == null || Number.isNaN(value)) return NONE;
  if (!Number.isFinite(value)) return "unlimited";
  const own = value / divisor;
  // A value beyond its axis has no more digits than others.
  const text = own.toFixed(Math.abs(own) > 1.001 * most ? Math.min(decimals, decimalsFor(Math.abs(own))) : decimals);
  if (Number(text) === 0) {
    // What is too small for the decimals of the column keeps a digit, but for rounding errors.
    if (Math.abs(own) < 1e-4 || sign || decimals === 0) return (0).toFixed(decimals);
    return signed(String(Number(own.toPrecision(1))), false);
  }
  return signed(text, sign && own > 0);
}

/** The least and the greatest of values and 0, which are written the longest. */
export function extremesOf(values: Float32Array): [number, number] {
  let [least, most] = [0, 0];
  for (const value of values) {
    if (value < least) least = value;
    if (value > most) most = value;
  }
  return [least, most];
}

const signed = (text: string, plus: boolean): string => (plus ? `+${text}` : text.replace("-", "−"));
