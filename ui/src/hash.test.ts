import { expect, test } from "vitest";

import { changedHash, readHash } from "./hash";
import { hashOf, keptState } from "./kept";
import type { State } from "./selection";

test("values are put in and taken out, and those of others stay", () => {
  expect(changedHash("#runs=a,b&time=2", { time: null, connection: "x > y&z" })).toBe(
    "#runs=a%2Cb&connection=x+%3E+y%26z",
  );
  expect(changedHash("#time=2", { time: null })).toBe("");
  expect(readHash("#connection=x+%3E+y%26z").get("connection")).toBe("x > y&z");
});

test("an address with a place keeps it", () => {
  expect(changedHash("#/runs/a,b", { connection: "x?y" })).toBe("#/runs/a,b?connection=x%3Fy");
  expect(changedHash("#/runs/a,b?connection=x%3Fy", { connection: null })).toBe("#/runs/a,b");
  expect(readHash("#/runs/a,b?connection=x%3Fy&time=1")).toEqual(
    new Map([
      ["connection", "x?y"],
      ["time", "1"],
    ]),
  );
  expect(readHash("#/runs/a,b")).toEqual(new Map());
});

test("what is kept comes back", () => {
  const state = { time_s: 1.5, chosen: null, link: "a-b", filter: "x", span: [1, 2.25] } as State;
  const values = new URLSearchParams(
    Object.entries(hashOf(state, 4)).filter((pair): pair is [string, string] => !!pair[1]),
  );
  expect(keptState(new Map(values))).toEqual({ time_s: 1.5, link: "a-b", filter: "x", span: [1, 2.25] });
});

test("what is wrong is left out", () => {
  const values = new Map([
    ["link", "a-b"],
    ["connection", "c"],
    ["time", "soon"],
    ["span", "9-3"],
  ]);
  expect(keptState(values)).toEqual({ link: "a-b", chosen: "c" });
});

test("compared connections are kept, also with commas in their names", () => {
  const state = { time_s: 4, filter: "", span: null, compared: ["a,b", "c"] } as unknown as State;
  expect(keptState(new Map([["compare", hashOf(state, 4).compare as string]]))).toEqual({ compared: ["a,b", "c"] });
  expect(keptState(new Map([["compare", ""]]))).toEqual({ compared: [] });
});

test("the time at which the page opens needs no value", () => {
  const state = { time_s: 4, chosen: null, link: null, filter: "", span: null, compared: null } as unknown as State;
  expect(Object.values(hashOf(state, 4))).toEqual([null, null, null, null, null, null]);
});
