import { expect, test } from "vitest";

import { LABEL_HEIGHT, placeLabels } from "./labels";

const end = (y: number, x = 100) => ({ x, y, width: 40 });

test("names that have room stand at the ends of their lines", () => {
  expect(placeLabels([end(20), end(80), end(50)], 100)).toEqual([20, 80, 50]);
});

test("names of ends at one place stand below each other in their order", () => {
  const places = placeLabels([end(50), end(50), end(50)], 100);
  expect(Math.abs((places[1] as number) - 50)).toBeLessThan(5);
  expect((places[1] as number) - (places[0] as number)).toBeGreaterThanOrEqual(LABEL_HEIGHT - 0.5);
  expect((places[2] as number) - (places[1] as number)).toBeGreaterThanOrEqual(LABEL_HEIGHT - 0.5);
});

test("names stay within the chart, and names far from each other do not push", () => {
  const low = placeLabels([end(99), end(99)], 100);
  expect(Math.max(...low)).toBeLessThanOrEqual(100 - LABEL_HEIGHT / 2);
  expect((low[1] as number) - (low[0] as number)).toBeGreaterThanOrEqual(LABEL_HEIGHT - 0.5);
  expect(placeLabels([end(50, 0), end(50, 200)], 100)).toEqual([50, 50]);
});
