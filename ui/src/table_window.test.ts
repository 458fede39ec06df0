import { expect, test } from "vitest";

import { columnsThatFit, HEIGHT, NUMBER, ROW, TEXT, windowOf } from "./table_window";

const seen = Math.ceil(HEIGHT / ROW) + 12;

test("only rows that are seen are there, and the others have their room", () => {
  expect(windowOf(1000, 0, -1, 0)).toEqual({ first: 0, end: seen, above: 0, below: (1000 - seen) * ROW });
  const low = windowOf(1000, 1000 * ROW - HEIGHT, -1, 0);
  expect(low.end).toBe(1000);
  expect(low.above + (low.end - low.first) * ROW + low.below).toBe(1000 * ROW);
  expect(windowOf(3, 0, -1, 0)).toEqual({ first: 0, end: 3, above: 0, below: 0 });
  expect(windowOf(0, 0, -1, 0)).toEqual({ first: 0, end: 0, above: 0, below: 0 });
});

test("a row that is opened keeps its room when it is scrolled away", () => {
  const total = 1000 * ROW + 300;
  for (const top of [0, 2 * ROW, 2 * ROW + 150, 2 * ROW + 300, 500 * ROW, total - HEIGHT]) {
    const { first, end, above, below } = windowOf(1000, top, 1, 300);
    const within = first <= 1 && end > 1 ? 300 : 0;
    expect(above + (end - first) * ROW + within + below).toBe(total);
    // What is seen begins at a row that is there.
    expect(above).toBeLessThanOrEqual(top);
  }
});

test("columns that may be left out go where there is no room, the least needed first", () => {
  const columns = [
    { name: "rate", unit: 1 },
    { name: "demand", unit: 1, minor: 1 },
    { name: "level", unit: 1, minor: 2 },
    { name: "held by", minor: 3 },
  ];
  const names = (width: number) => columnsThatFit(columns, 100, width).map(({ name }) => name);
  expect(names(100 + 3 * NUMBER + TEXT)).toEqual(["rate", "demand", "level", "held by"]);
  expect(names(100 + 3 * NUMBER)).toEqual(["rate", "demand", "level"]);
  expect(names(100 + 2 * NUMBER - 1)).toEqual(["rate"]);
  expect(names(0)).toEqual(["rate"]);
});
