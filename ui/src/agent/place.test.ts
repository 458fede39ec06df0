import { expect, test } from "vitest";
import { byLinks, onEarth } from "./place";

test("a chain is laid out as one, the same each time", () => {
  const chain = { count: 4, source: [0, 1, 2], target: [1, 2, 3] };
  const { x, y } = byLinks(chain);
  expect(byLinks(chain)).toEqual({ x, y });
  const far = (a: number, b: number) =>
    Math.hypot((x[a] as number) - (x[b] as number), (y[a] as number) - (y[b] as number));
  expect(far(0, 3)).toBeGreaterThan(far(0, 2));
  expect(far(0, 2)).toBeGreaterThan(far(0, 1));
});

test("nodes at one place, alone or by the thousand have places too", () => {
  for (const count of [0, 1, 2, 3, 1000]) {
    const { x, y } = byLinks({ count, source: [], target: [] });
    expect([x.length, y.length]).toEqual([count, count]);
    expect([...x, ...y].every(Number.isFinite)).toBe(true);
  }
});

test("north is up, and degrees of longitude are narrower there", () => {
  const { x, y } = onEarth([0, 10], [60, 60]);
  expect(x[1]).toBeCloseTo(5);
  expect(y).toEqual([60, 60]);
});
