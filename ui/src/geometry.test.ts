import { expect, test } from "vitest";

import type { Links, Nodes } from "./data";
import { distance, fitted, half, lanes, linkWidths, placed, queuePlaces, zoomed } from "./geometry";

const nodes: Nodes = { name: ["a", "b"], x: [0, 10], y: [0, 5] };
// Two links from a to b, the first with a way back.
const links = { source: [0, 1, 0], target: [1, 0, 1], twin: [1, 0, null], capacity_bps: [1e6, 1e6, 1e8] } as Links;

test("the whole network lies within the margins, y upwards", () => {
  const view = fitted(nodes, 280, 180);
  // 200 x 100 pixels are left for 10 x 5 units: 20 for each.
  expect(view.scale).toBe(20);
  expect(placed(nodes, 0, view)).toEqual({ x: 40, y: 140 });
  expect(placed(nodes, 1, view)).toEqual({ x: 240, y: 40 });
});

test("a lone node, and none, have a view too", () => {
  expect(placed({ name: ["a"], x: [3], y: [4] }, 0, fitted({ name: ["a"], x: [3], y: [4] }, 200, 100))).toEqual({
    x: 100,
    y: 50,
  });
  expect(Number.isFinite(fitted({ name: [], x: [], y: [] }, 200, 100).scale)).toBe(true);
});

test("zooming keeps the point under the pointer", () => {
  const view = fitted(nodes, 280, 180);
  expect(placed(nodes, 1, zoomed(view, 3, { x: 240, y: 40 }))).toEqual({ x: 240, y: 40 });
});

test("a link and its twin share a lane, and parallel links lie side by side", () => {
  const widths = linkWidths(links, [1e6, 1e8], 2, 8);
  expect(widths).toEqual([2, 2, 8]);
  // Of two decades in the page, the links of another run may have the lower one.
  expect(linkWidths({ ...links, capacity_bps: [1e6, 1e7, null] }, [1e6, 1e8], 2, 8)).toEqual([2, 5, 8]);
  // Two lanes, 8 + 2 apart; seen from b the lane of the twin lies on the other hand.
  expect(lanes(links, widths)).toEqual([-5, 5, 5]);
});

test("queues of parallel links lie apart along them, that of a lone link before the middle", () => {
  // Links 0 and 2 go from a to b: 0.9 / 3 and 2 x 0.9 / 3; link 1 is alone on its way: 0.9 / 2.
  const [first, lone, second] = queuePlaces(links);
  expect(first).toBeCloseTo(0.3);
  expect(second).toBeCloseTo(0.6);
  expect(lone).toBeCloseTo(0.45);
});

test("halves of twins meet in the middle of one line", () => {
  const [a, b] = [
    { x: 0, y: 0 },
    { x: 10, y: 0 },
  ];
  const [[, middle], [, other]] = [half(a, b, -5), half(b, a, 5)];
  expect(middle).toEqual({ x: 5, y: 5 });
  expect(other).toEqual({ x: 5, y: 5 });
});

test("the distance from a piece of line is that from its nearest point", () => {
  const line: [{ x: number; y: number }, { x: number; y: number }] = [
    { x: 0, y: 0 },
    { x: 10, y: 0 },
  ];
  expect(distance({ x: 5, y: 3 }, line)).toBe(3);
  expect(distance({ x: 13, y: 4 }, line)).toBe(5);
});
