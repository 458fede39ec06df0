/** The shapes of the markers of protocols, in a square of 12 units. */

const SHAPES: Record<string, string> = {
  circle: "M6 2a4 4 0 1 0 .01 0Z",
  square: "M2.5 2.5h7v7h-7Z",
  triangle: "M6 1.8 10.4 9.8H1.6Z",
  diamond: "M6 1 11 6 6 11 1 6Z",
  cross: "M2 2 10 10M10 2 2 10",
  star: "M6 1V11M1.7 3.5 10.3 8.5M10.3 3.5 1.7 8.5",
  ring: "M6 2.5a3.5 3.5 0 1 0 .01 0Z",
};
const OPEN = new Set(["cross", "star", "ring"]);

/** The width of the square that the shapes lie in. */
export const MARKER_SIZE = 12;

/** A shape as the outline of an SVG path, and whether it is drawn with a line alone. */
export function markerOf(shape: string): { outline: string; isOpen: boolean } {
  return { outline: SHAPES[shape] ?? (SHAPES.circle as string), isOpen: OPEN.has(shape) };
}

/** Draws a marker on a canvas about a point, `size` pixels wide. */
export function drawMarker(
  context: CanvasRenderingContext2D,
  { shape, colour, x, y, size }: { shape: string; colour: string; x: number; y: number; size: number },
): void {
  const { outline, isOpen } = markerOf(shape);
  const scale = size / MARKER_SIZE;
  context.save();
  context.translate(x - size / 2, y - size / 2);
  context.scale(scale, scale);
  const path = new Path2D(outline);
  context.lineWidth = 2;
  context.strokeStyle = colour;
  context.fillStyle = colour;
  if (isOpen) context.stroke(path);
  else context.fill(path);
  context.restore();
}
