import { expect, test } from "vitest";

import { moved } from "./gestures";

const view = { scale: 2, x: 10, y: 20 };

test("one finger drags the view", () => {
  expect(moved(view, new Map([[1, { x: 5, y: 5 }]]), 1, { x: 8, y: 1 })).toEqual({ scale: 2, x: 13, y: 16 });
});

test("two fingers zoom about their middle, and drag it along", () => {
  const fingers = new Map([
    [1, { x: 0, y: 0 }],
    [2, { x: 10, y: 0 }],
  ]);
  // From 10 to 20 pixels apart: twice as large. What was at (5, 0) is now at (10, 0).
  const after = moved(view, fingers, 2, { x: 20, y: 0 });
  expect(after.scale).toBe(4);
  const under = { x: (5 - view.x) / view.scale, y: (0 - view.y) / view.scale };
  expect({ x: after.x + under.x * after.scale, y: after.y + under.y * after.scale }).toEqual({ x: 10, y: 0 });
});

test("a pointer that is not down, and a third finger, change nothing", () => {
  expect(moved(view, new Map(), 1, { x: 8, y: 1 })).toBe(view);
  const three = new Map([1, 2, 3].map((finger) => [finger, { x: finger, y: 0 }]));
  expect(moved(view, three, 1, { x: 8, y: 1 })).toBe(view);
});
