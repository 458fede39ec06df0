import { expect, test } from "vitest";

import { axisRoom } from "./plot";

test("the ruler of values is as wide as the longest of its numbers", () => {
  const width = (text: string) => 7.4 * text.length;
  // Five pixels to the plot, and two to the edge.
  expect(axisRoom(["0", "500", "1000"], width)).toBe(7 + 30);
  expect(axisRoom(["−100", "0", "+100"], width)).toBe(7 + 30);
  expect(axisRoom(["−0.00025"], width)).toBe(7 + 60);
  expect(axisRoom(["0"], width)).toBe(21);
  expect(axisRoom([], width)).toBe(21);
});
