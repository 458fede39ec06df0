import { expect, test } from "vitest";

import { faultOfList, faultOfSeed, inexactKey, NO_LIST, TOO_LARGE, withFault } from "./faults";

test("a list half written is a fault, one left empty is none", () => {
  expect(faultOfList('[["west", "east"]')).toBe(NO_LIST);
  expect(faultOfList('"west"')).toBe(NO_LIST);
  expect(faultOfList('[["west", "east"]]')).toBeNull();
  expect(faultOfList(" ")).toBeNull();
  expect(faultOfList("[1, 9007199254740993]")).toBe(TOO_LARGE);
});

test("a seed is a whole number below 2^63, in digits", () => {
  for (const seed of ["", "0", "9007199254740993", "9223372036854775807"]) expect(faultOfSeed(seed)).toBeNull();
  for (const seed of ["-1", "1.5", "1e3", "x", "9223372036854775808"]) expect(faultOfSeed(seed)).not.toBeNull();
});

test("a whole number beyond 2^53 is found wherever it is", () => {
  // 2^53 - 1 is the last whole number of which the neighbours are whole numbers too.
  expect(inexactKey({ run: { seed: 9007199254740991, share: 0.5 }, link: [{ capacity: 1e6 }] })).toBeNull();
  expect(inexactKey({ run: {}, link: [{}, { cost: 9007199254740992 }] })).toBe("link.1.cost");
});

test("a fault goes with its mending, and others stay", () => {
  const two = withFault(withFault({}, "a", "wrong"), "b", "wrong too");
  expect(withFault(two, "a", null)).toEqual({ b: "wrong too" });
  expect(withFault(two, "c", null)).toBe(two);
});
