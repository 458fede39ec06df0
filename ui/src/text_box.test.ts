import { expect, test } from "vitest";

import { boxOf, meet } from "./text_box";

test("texts meet where they stand in one place, not beside or below each other", () => {
  const text = boxOf(10, 100, 50);
  expect(meet(text, boxOf(40, 104, 50))).toBe(true);
  expect(meet(text, boxOf(61, 100, 50))).toBe(false);
  expect(meet(text, boxOf(10, 117, 50))).toBe(false);
});
