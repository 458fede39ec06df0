/** The places of texts in a drawing, so that no text covers another one. */

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

/** Whether two places have a point in common. */
export const meet = (a: Box, b: Box): boolean =>
  a.left < b.right && b.left < a.right && a.top < b.bottom && b.top < a.bottom;
