/** The marker of a protocol: the same shape and colour wherever it is met. */

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

export function Marker({ shape, colour }: { shape: string; colour: string }) {
  const open = OPEN.has(shape);
  return (
    <svg class="marker" viewBox="0 0 12 12" width="12" height="12" aria-hidden="true">
      <path
        d={SHAPES[shape] ?? SHAPES.circle}
        fill={open ? "none" : colour}
        stroke={colour}
        stroke-width={open ? 2 : 0}
      />
    </svg>
  );
}
