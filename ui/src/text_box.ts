/** The places of texts in a drawing, so that no text covers another one. */

import type { Point } from "./geometry";

/** A place in pixels. */
export interface Box {
  left: number;
  top: number;
  right: number;
  bottom: number;
}

/** How far letters reach above and below their base line, with the rim around them. */
const ABOVE = 11;
const BELOW = 5;

/** The place of a text of one line that begins at a point of its base line. */
export const boxOf = (x: number, y: number, width: number): Box => ({
  left: x,
  top: y - ABOVE,
  right: x + width,
  bottom: y + BELOW,
});

/** A line with some width, which a text does not cover. */
export interface Stroke {
  line: Point[];
  /** How far it reaches to either side. */
  reach: number;
}

/** Steps along a line at which its distance from a place is taken, in pixels. */
const STEP = 4;

/** Whether a place lies on a line, or as near to it as that reaches. */
export function covers(box: Box, { line, reach }: Stroke): boolean {
  return line.some((b, i) => {
    const a = line[Math.max(i - 1, 0)] as Point;
    const steps = Math.max(1, Math.ceil(Math.hypot(b.x - a.x, b.y - a.y) / STEP));
    return Array.from({ length: steps + 1 }, (_, step) => step / steps).some((t) => {
      const [x, y] = [a.x + t * (b.x - a.x), a.y + t * (b.y - a.y)];
      return Math.hypot(Math.max(box.left - x, 0, x - box.right), Math.max(box.top - y, 0, y - box.bottom)) < reach;
    });
  });
}

/** The four places of a text about a point, at a distance: right, left, above, below. */
export function placesAbout({ x, y }: Point, width: number, far: number): Box[] {
  const middle = y + (ABOVE - BELOW) / 2;
  return [
    boxOf(x + far, middle, width),
    boxOf(x - far - width, middle, width),
    boxOf(x - width / 2, y - far - BELOW, width),
    boxOf(x - width / 2, y + far + ABOVE, width),
  ];
}

/** The first of some places that covers neither a text nor a line; nothing if each does. */
export const freeOf = (places: Box[], texts: Box[], strokes: Stroke[]): Box | null =>
  places.find((box) => !texts.some((other) => meet(box, other)) && !strokes.some((own) => covers(box, own))) ?? null;

/** Where the base line of the text of a place begins. */
export const baseOf = ({ left, bottom }: Box): Point => ({ x: left, y: bottom - BELOW });

/** Whether two places have a point in common. */
export const meet = (a: Box, b: Box): boolean =>
  a.left < b.right && b.left < a.right && a.top < b.bottom && b.top < a.bottom;
