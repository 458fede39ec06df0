import { expect, test } from "vitest";

import { fromOklch, toOklch } from "./oklch";

test("colours come back, and black and white have no hue", () => {
  for (const colour of ["#0072b2", "#d55e00", "#009e73", "#1b2430", "#ffffff"]) {
    expect(fromOklch(toOklch(colour))).toBe(colour);
  }
  expect(toOklch("#ffffff")).toMatchObject({ lightness: expect.closeTo(1, 3), chroma: expect.closeTo(0, 3) });
  // Red, as its inventor has it.
  expect(toOklch("#ff0000")).toEqual({
    lightness: expect.closeTo(0.628, 3),
    chroma: expect.closeTo(0.2577, 3),
    hue: expect.closeTo(29.23, 1),
  });
});

test("a colour that no screen can show loses chroma and keeps its lightness", () => {
  const shown = toOklch(fromOklch({ lightness: 0.6, chroma: 0.4, hue: 150 }));
  expect(shown.lightness).toBeCloseTo(0.6, 2);
  expect(shown.chroma).toBeLessThan(0.3);
});
