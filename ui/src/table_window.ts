/** Which rows of a long table are there: those that are seen, and some beyond; one row may be opened below itself. */

/** The height of a row, and of the part of the table that is seen, in pixels; the style has the same. */
export const ROW = 32;
export const HEIGHT = 460;
/** Rows that are there beyond those that are seen. */
const MARGIN = 6;

export interface Window {
  /** The first row that is there, and the one behind the last. */
  first: number;
  end: number;
  /** The room of the rows above and below, in pixels. */
  above: number;
  below: number;
}

/** The rows to be there, of `count`, when the table is scrolled by `top`; `opened` takes `extra` pixels more. */
export function windowOf(count: number, top: number, opened: number, extra: number): Window {
  const isOpen = opened >= 0 && opened < count;
  const opens = (opened + 1) * ROW;
  const past = isOpen && top > opens ? Math.max(opens, top - extra) : top;
  const first = Math.min(Math.max(Math.floor(past / ROW) - MARGIN, 0), Math.max(count - 1, 0));
  const end = Math.min(first + Math.ceil(HEIGHT / ROW) + 2 * MARGIN, count);
  return {
    first,
    end,
    above: first * ROW + (isOpen && opened < first ? extra : 0),
    below: (count - end) * ROW + (isOpen && opened >= end ? extra : 0),
  };
}

/** The least room of a column of numbers, and of one of text, in pixels. */
export const NUMBER = 76;
export const TEXT = 120;

/** Which columns have room beside names of a width: those that may be left out go, the greatest rank first. */
export function columnsThatFit<C extends { minor?: number; unit?: unknown }>(
  columns: C[],
  names: number,
  width: number,
): C[] {
  let kept = columns;
  while (names + roomOf(kept) > width) {
    const rank = Math.max(0, ...kept.map(({ minor }) => minor ?? 0));
    if (rank === 0) break;
    kept = kept.filter(({ minor }) => (minor ?? 0) < rank);
  }
  return kept;
}

export const roomOf = (columns: { unit?: unknown }[]): number =>
  columns.reduce((sum, { unit }) => sum + (unit ? NUMBER : TEXT), 0);
