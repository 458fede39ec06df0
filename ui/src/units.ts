/** Numbers with their units, for people. */

const PREFIXES: [number, string][] = [
  [1e12, "T"],
  [1e9, "G"],
  [1e6, "M"],
  [1e3, "k"],
];
const SPANS: [number, string][] = [
  [1, "s"],
  [1e-3, "ms"],
  [1e-6, "µs"],
  [1e-9, "ns"],
];

/** What stands where there is no number. */
export const NONE = "–";

/** Of the bits of a sampled value the page has this many behind the first one. */
const BITS = 12;

/** A sampled value with the digits that it has: the shortest number that the page would hold as the same. */
export function sampled(value: number | undefined): number | undefined {
  if (value === undefined || !Number.isFinite(value)) return value;
  const half = 2 ** (Math.floor(Math.log2(Math.abs(value))) - BITS - 1);
  for (let count = 1; count < 5; count++) {
    const short = Number(value.toPrecision(count));
    if (Math.abs(short - value) <= half) return short;
  }
  return Number(value.toPrecision(5));
}

/** A number to some digits, without zeros at its end. */
export function digits(value: number, count = 3): string {
  const rounded = Number(value.toPrecision(count));
  return Object.is(rounded, -0) ? "0" : String(rounded);
}

function withPrefix(value: number | null | undefined, unit: string): string {
  if (value == null || Number.isNaN(value)) return NONE;
  if (!Number.isFinite(value)) return "unlimited";
  const [scale, prefix] = PREFIXES.find(([least]) => Math.abs(value) >= least * 0.9995) ?? [1, ""];
  return `${digits(value / scale)} ${prefix}${unit}`;
}

export const rateText = (value: number | null | undefined): string => withPrefix(value, "bit/s");
export const sizeText = (value: number | null | undefined): string => withPrefix(value, "B");

export function spanText(value: number | null | undefined): string {
  if (value == null || !Number.isFinite(value)) return NONE;
  const [scale, unit] = SPANS.find(([least]) => Math.abs(value) >= least) ?? SPANS[value === 0 ? 0 : 3] ?? [1, "s"];
  return `${digits(value / scale, 4)} ${unit}`;
}

/** An error, relative to the fair rate, with its sign. */
export function errorText(value: number | null | undefined): string {
  if (value == null || !Number.isFinite(value)) return NONE;
  const percent = Number((value * 100).toPrecision(3));
  if (Math.abs(percent) < 0.01) return "0 %";
  return `${percent > 0 ? "+" : "−"}${Math.abs(percent)} %`;
}

export function shareText(value: number | null | undefined): string {
  return value == null || !Number.isFinite(value) ? NONE : `${digits(value * 100)} %`;
}

/** A count of things, which has no unit; between whole numbers there is nothing. */
export function countText(value: number | null | undefined): string {
  if (value == null || !Number.isFinite(value)) return NONE;
  return Number.isInteger(value) ? String(value) : "";
}

const packetText = (value: number | null | undefined): string =>
  withPrefix(value, "packets").replace(/ ([kMGT])/, "$1 ");

/** A price of an allocation: a utility for so much rate, to the power that the utility has. */
export function priceText(value: number | null | undefined, alpha: number): string {
  if (value == null || !Number.isFinite(value)) return "unlimited";
  return alpha === 1 ? `${digits(value * 1e9)} per Gbit/s` : `${digits(value * 1e9 ** alpha)} per (Gbit/s)^${alpha}`;
}

/** How the values of a column are written, by the unit in its name. */
export function textOf(column: string): (value: number | null | undefined) => string {
  if (column === "present") return countText;
  if (column.endsWith("_packets")) return packetText;
  if (column.endsWith("_bps")) return rateText;
  if (column.endsWith("_bytes")) return sizeText;
  return column.endsWith("_s") ? spanText : shareText;
}
