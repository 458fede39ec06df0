/** What fingers and the mouse do to a view: one drags it, two zoom it as well. */

import { type Point, type View, zoomed } from "./geometry";

/** Where each finger, or the mouse with its button down, is, by the pointer's number. */
export type Fingers = ReadonlyMap<number, Point>;

/** The view after a finger has moved: what was under it, or between two of them, still is. */
export function moved(view: View, fingers: Fingers, finger: number, to: Point): View {
  const from = fingers.get(finger);
  if (!from || fingers.size > 2) return view;
  const other = [...fingers].find(([number]) => number !== finger)?.[1];
  if (!other) return { ...view, x: view.x + to.x - from.x, y: view.y + to.y - from.y };
  const [before, after] = [middle(from, other), middle(to, other)];
  const factor = apart(to, other) / Math.max(apart(from, other), 1);
  const large = zoomed(view, factor, before);
  return { ...large, x: large.x + after.x - before.x, y: large.y + after.y - before.y };
}

const middle = (a: Point, b: Point): Point => ({ x: (a.x + b.x) / 2, y: (a.y + b.y) / 2 });
const apart = (a: Point, b: Point): number => Math.max(Math.hypot(a.x - b.x, a.y - b.y), 1);
