/** The marker of a protocol: the same shape and colour wherever it is met. */

import { MARKER_SIZE, markerOf } from "../markers";

export function Marker({ shape, colour }: { shape: string; colour: string }) {
  const { outline, isOpen } = markerOf(shape);
  const box = `0 0 ${MARKER_SIZE} ${MARKER_SIZE}`;
  return (
    <svg class="marker" viewBox={box} width={MARKER_SIZE} height={MARKER_SIZE} aria-hidden="true">
      <path d={outline} fill={isOpen ? "none" : colour} stroke={colour} stroke-width={isOpen ? 2 : 0} />
    </svg>
  );
}
