import { expect, test } from "vitest";

import type { Header, Run, Table } from "./data";
import { distanceAt } from "./distance";
import { bottlenecks, byDistance, greatest, linksOf, loadsOf, matching, sharesOn, utilisation } from "./selection";

/** A run of two samples with tables as plain rows. */
function run(tables: Record<string, number[][]>, more: Partial<Header> = {}): Run {
  const header = {
    kind: "run",
    connections: { name: ["long", "short", "late"], protocol: ["d-SLEN", "Reno", "Reno"] },
    subflows: { connection: [0, 0, 1], path: [[0, 1], [2], [0]] },
    links: { capacity_bps: [10, null, 4] },
    ...more,
  } as unknown as Header;
  const table = (of: string, name: string) => {
    const rows = tables[`${of} ${name}`];
    if (!rows) return undefined;
    const at = (row: number, column: number) => rows[row]?.[column] ?? Number.NaN;
    return { at, row: (row: number) => new Float32Array(rows[row] ?? []) } as Table;
  };
  const variables = (of: string) => Object.keys(tables).flatMap((key) => key.split(`${of} `)[1] ?? []);
  return { header, table, variables, times: [0, 1], subflowsOf: [[0, 1], [2], []] } as unknown as Run;
}

const NO = Number.NaN;

test("the filter takes names and protocols", () => {
  expect(matching(run({}), " RENO ")).toEqual([1, 2]);
  expect(matching(run({}), "long")).toEqual([0]);
  expect(matching(run({}), "")).toEqual([0, 1, 2]);
});

test("the farthest from fair is first, on either side, and what is not there last", () => {
  const errors = run({ "connection error": [[0.1], [-0.5], [NO]] });
  expect(byDistance(errors, [0, 1, 2], 0)).toEqual([1, 0, 2]);
});

test("in an allocation those come first that are farthest from their demand", () => {
  const connections = { demand_bps: [10, 4, null] };
  const solved = { "connection granted_bps": [[9], [2], [7]] };
  // 0.1 and 0.5 are lacking; who has no demand lacks nothing.
  expect(
    byDistance(run(solved, { kind: "allocation", connections } as unknown as Partial<Header>), [0, 1, 2], 0),
  ).toEqual([1, 0, 2]);
});

test("in an allocation without demands those of the lowest level come first", () => {
  const connections = { demand_bps: [null, null, null], level_bps: [9, 2, 7] };
  expect(byDistance(run({}, { kind: "allocation", connections } as unknown as Partial<Header>), [0, 1, 2], 0)).toEqual([
    1, 2, 0,
  ]);
});

test("a connection's shares on links are those of its subflows there", () => {
  const granted = { "subflow granted_bps": [[3], [1], [8]] };
  // Of 4 in all, 3 go over the links 0 and 1, and 1 over 2.
  expect([...sharesOn(run(granted), 0, 0)]).toEqual([
    [0, 0.75],
    [1, 0.75],
    [2, 0.25],
  ]);
  expect([...sharesOn(run({}), 1, 0)]).toEqual([[0, 0]]);
});

test("a connection with little to send is fair with what it delivers, whatever its window would allow", () => {
  const rates = {
    "connection granted_bps": [[12], [8], [0]],
    "connection delivered_bps": [[1], [6], [0]],
    "connection fair_bps": [[1], [8], [NO]],
    "connection error": [[11], [0], [NO]],
  };
  const windows = run({ ...rates, "subflow window_bytes": [[9], [9], [9]] });
  expect([0, 1, 2].map((c) => distanceAt(windows, c, 0))).toEqual([0, -0.25, NO]);
  expect(byDistance(windows, [0, 1, 2], 0)).toEqual([1, 0, 2]);
  // Granted rates are what connections get where no protocol keeps a window.
  expect(distanceAt(run(rates), 0, 0)).toBe(11);
});

test("of many rows those of the greatest mean size are shown, in their own order", () => {
  const errors = run({
    "connection error": [
      [0.1, NO],
      [-0.5, 0.1],
      [0, 0.2],
    ],
  });
  // Means 0.1 (of one value), 0.3 and 0.1: of the two equal ones the first.
  expect(greatest(errors, "connection", "error", [0, 1, 2], 2)).toEqual([0, 1]);
});

test("a connection is held back by the bottlenecks on its paths", () => {
  const errors = run({ "link error": [[0], [NO], [0.2]] });
  expect([...linksOf(errors, 0)]).toEqual([0, 1, 2]);
  expect([...bottlenecks(errors, 0, 0)]).toEqual([0, 2]);
  expect([...bottlenecks(errors, 1, 0)]).toEqual([0]);
});

test("an allocation says itself what holds its subflows back", () => {
  const subflows = { connection: [0, 0, 1], path: [[0, 1], [2], [0]], bottleneck: [1, null, 0] };
  const solved = run({}, { subflows } as unknown as Partial<Header>);
  expect([...bottlenecks(solved, 0, 0)]).toEqual([1]);
});

test("utilisation goes by the capacity of the instant where that changes", () => {
  const loads = {
    "link carried_bps": [
      [5, 5],
      [7, 7],
      [1, 1],
    ],
  };
  expect([0, 1, 2].map((link) => utilisation(run(loads), link, 0))).toEqual([0.5, 0, 0.25]);
  const changing = run({
    ...loads,
    "link capacity_bps": [
      [10, 5],
      [NO, NO],
      [4, 0],
    ],
  });
  expect([0, 1, 2].map((link) => utilisation(changing, link, 1))).toEqual([1, 0, 0]);
});

test("a load that was not recorded is the mean after the warm-up, or not known", () => {
  const of = (one: Run) => [loadsOf(one), ...[0, 1, 2].map((link) => utilisation(one, link, 0))];
  expect(of(run({}))).toEqual(["none", NO, NO, NO]);
  const links = { capacity_bps: [10, null, 4], utilisation: [0.5, null, 0.25] };
  expect(of(run({}, { links } as unknown as Partial<Header>))).toEqual(["mean", 0.5, NO, 0.25]);
  // There are samples, but none of that instant.
  expect(of(run({ "link carried_bps": [[NO], [3], [1]] }))).toEqual(["sampled", NO, 0, 0.25]);
});
