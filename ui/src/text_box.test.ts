import { expect, test } from "vitest";

import { type Box, baseOf, boxOf, covers, freeOf, meet, placesAbout } from "./text_box";

test("texts meet where they stand in one place, not beside or below each other", () => {
  const text = boxOf(10, 100, 50);
  expect(meet(text, boxOf(40, 104, 50))).toBe(true);
  expect(meet(text, boxOf(61, 100, 50))).toBe(false);
  expect(meet(text, boxOf(10, 117, 50))).toBe(false);
});

test("a text stands where neither a line nor a text is", () => {
  const places = placesAbout({ x: 100, y: 100 }, 40, 9);
  const [right, left, above, below] = places as [Box, Box, Box, Box];
  expect(right).toEqual({ left: 109, top: 92, right: 149, bottom: 108 });
  expect([left.right, above.bottom, below.top]).toEqual([91, 91, 109]);
  expect(baseOf(boxOf(3, 4, 5))).toEqual({ x: 3, y: 4 });
  // A steep line of width 30 at the right, and a text at the left.
  const pipe = {
    line: [
      { x: 125, y: 0 },
      { x: 125, y: 300 },
    ],
    reach: 15,
  };
  expect(places.map((box) => covers(box, pipe))).toEqual([true, false, true, true]);
  expect(freeOf(places, [], [pipe])).toEqual(left);
  expect(freeOf(places, [left], [pipe])).toBeNull();
  expect(freeOf(places, [left], [{ ...pipe, reach: 4 }])).toEqual(above);
});
