import { expect, test } from "vitest";

import { type Header, Run } from "./data";
import {
  bottlenecksOf,
  costText,
  groupsOf,
  levelText,
  othersText,
  proofOf,
  type Reason,
  verdictText,
  type Why,
  whyOf,
  worthText,
} from "./why";

/** Two links in a row, of 10 and 4: a long connection with 2, a wide one with 7, a narrow one with 2, a modest one with 1. */
const header = {
  kind: "allocation",
  times_s: [0],
  summary: { tolerance: 0.01 },
  links: { name: ["x", "y"], capacity_bps: [10, 4] },
  connections: {
    name: ["long", "wide", "narrow", "modest"],
    granted_bps: [2, 7, 2, 1],
    demand_bps: [null, null, null, 1],
    level_bps: [2, 7, 2, 1],
    held_by: ["link", "link", "link", "demand"],
  },
  subflows: {
    connection: [0, 1, 2, 3],
    path: [[0, 1], [0], [1], [0]],
    granted_bps: [2, 7, 2, 1],
    bottleneck: [1, 0, 1, null],
  },
  series: [],
} as unknown as Header;

const solved = new Run(header, new Uint8Array());

test("a connection is told who else is at its bottleneck, and at what level", () => {
  const why = whyOf(solved, 0);
  expect([why.rate, why.demand, why.level, why.isMet, why.isPriced]).toEqual([2, null, 2, false, false]);
  expect(why.reasons[0]).toMatchObject({ bottleneck: 1, others: [{ connection: 2, rate: 2, level: 2 }], level: 1 });
  const wide = whyOf(solved, 1).reasons[0];
  // Both others are lower: nobody has more to give.
  expect(wide?.others.map(({ connection }) => connection)).toEqual([0, 3]);
  expect(wide?.level).toBe(0);
  expect(whyOf(solved, 3).isMet).toBe(true);
});

test("who sends next to nothing over a link is not counted, as in the certificate", () => {
  const subflows = { ...header.subflows, connection: [0, 1, 2, 3, 1], path: [[0, 1], [0], [1], [0], [1]] };
  const granted = { ...subflows, granted_bps: [2, 6.99, 2, 1, 0.01], bottleneck: [1, 0, 1, null, 1] };
  const trickle = new Run({ ...header, subflows: granted } as Header, new Uint8Array());
  expect(whyOf(trickle, 2).reasons[0]?.others.map(({ connection }) => connection)).toEqual([0]);
});

test("bottlenecks come by level, with how many they hold", () => {
  expect(bottlenecksOf(solved).map(({ link, held, level }) => [link, held, level])).toEqual([
    [1, 2, 2],
    [0, 1, 7],
  ]);
});

test("a path that carries next to nothing counts at no bottleneck", () => {
  // "wide" has a detour over the second link, which holds it back there at 0.01 of its 7: within the tolerance of 0.01.
  const subflows = { ...header.subflows, connection: [0, 1, 2, 3, 1], path: [[0, 1], [0], [1], [0], [1]] };
  const granted = { ...subflows, granted_bps: [2, 6.99, 2, 1, 0.01], bottleneck: [1, 0, 1, null, 1] };
  const trickle = new Run({ ...header, subflows: granted } as Header, new Uint8Array());
  expect(bottlenecksOf(trickle).map(({ link, held, level }) => [link, held, level])).toEqual([
    [1, 2, 2],
    [0, 1, 7],
  ]);
});

test("with prices a path costs what its links charge, by what more is worth", () => {
  const priced = new Run(
    {
      ...header,
      links: { ...header.links, price: [0.1, 0.4] },
      connections: { ...header.connections, marginal_utility: [0.5, 0.1, 0.4, 1] },
      subflows: { ...header.subflows, price: [0.5, 0.1, 0.4, 0.1] },
    } as unknown as Header,
    new Uint8Array(),
  );
  const why = whyOf(priced, 0);
  expect(why.isPriced).toBe(true);
  expect(why.reasons[0]?.cost).toBe(1);
  expect(why.reasons[0]?.charges.map(({ link, share }) => [link, share])).toEqual([
    [1, 0.8],
    [0, 0.2],
  ]);
  // The dearest first.
  expect(bottlenecksOf(priced).map(({ link, price }) => [link, price])).toEqual([
    [1, 0.4],
    [0, 0.1],
  ]);
});

test("the certificate is told as what it is", () => {
  const found = { fairness: "max-min", method: "lp", tolerance: 0.01, residual: 0.004, overload: 0 };
  expect(proofOf({ ...found, certified: true })).toBe(
    "The rates are max\u2011min fair, found by lp. Certified: every subflow has a bottleneck, to a tolerance of 0.01 (the worst to 0.004). No link is overloaded.",
  );
  expect(proofOf({ ...found, certified: false })).toContain("Not certified: the residual is 0.004");
  const swan = { ...found, method: "swan", approximation: true, certified: false };
  expect(proofOf(swan)).toContain("max\u2011min fair, approximated by swan. Not certified: the residual is 0.004");
  const priced = { ...found, fairness: "alpha", alpha: 2, gap: 1e-12, certified: true };
  expect(proofOf(priced)).toContain("alpha fair with alpha 2, found by lp. Certified: the duality gap is 1e-12");
  expect(proofOf({ ...found, overload: 0.02 })).toContain("Some link is overloaded by 2 %.");
});

test("prices are told as they are, also where they are not those of the optimum", () => {
  const path = (cost: number | null, rate: number) => ({ cost, rate }) as Reason;
  const why = (isMet: boolean, ...reasons: Reason[]) => ({ isMet, rate: 4, reasons }) as Why;
  expect(worthText(why(false, path(1, 4), path(2, 0)), 1e-6)).toContain("That is what its cheapest paths cost:");
  expect(worthText(why(true, path(0.3, 4)), 1e-6)).toContain("only its demand holds it back");
  expect(worthText(why(false, path(0.3, 4)), 1e-6)).toContain("costs 30 % of that: prices and rates are not those");
  expect(worthText(why(true, path(1.5, 4)), 1e-6)).toContain("are not those of the optimum");
  expect(worthText(why(false, path(null, 0)), 1e-6)).toBe("No path of it has capacity.");
  const two = why(false, path(1, 3), path(2, 0), path(2, 1), path(null, 0));
  expect(two.reasons.map((reason) => costText(two, reason, 1e-6))).toEqual([
    "It costs 100 % of what more is worth, the least of its paths.",
    "It costs 200 % of what more is worth, more than its cheapest path: it stays unused.",
    "It costs 200 % of what more is worth, more than its cheapest path, and is in use all the same: that is not the optimum.",
    "It leads over a link without capacity.",
  ]);
});

test("subflows of one bottleneck stand together, and are counted on through all", () => {
  const at = (bottleneck: number | null) => ({ bottleneck, others: [] as unknown[] }) as Reason;
  const why = { isMet: false, isPriced: false, reasons: [at(7), at(5), at(7), at(9)] } as unknown as Why;
  const told = groupsOf(why).map(({ reasons, before }) => [reasons[0]?.bottleneck, reasons.length, before]);
  expect(told).toEqual([
    [7, 2, 0],
    [5, 1, 2],
    [9, 1, 3],
  ]);
  expect(groupsOf({ ...why, isMet: true }).map(({ reasons }) => reasons.length)).toEqual([4]);
});

test("what goes for all bottlenecks is said once, and of each who is there", () => {
  const full = (count: number, level: number) => ({ bottleneck: 1, others: Array(count), level }) as unknown as Reason;
  const why = (...reasons: Reason[]) => ({ level: 2e6, reasons }) as Why;
  expect(verdictText(why(full(1, 1)))).toBe(
    "Its path leads over a full link on which nobody has a greater level than 2 Mbit/s. To give this connection more, such a link would have to take from another one that has no more.",
  );
  const two = verdictText(why(full(3, 1), full(0, 0)));
  expect(two).toContain("Each of its paths leads over a full link");
  expect(two).toContain("Those who have a lower one are held back elsewhere, or by their demands.");
  expect(verdictText(why(full(0, 0)))).toBe("");
  const part = verdictText(why(full(1, 1), { bottleneck: null, others: [] as unknown[] } as Reason));
  expect(part).toBe("Some of its paths lead over a full link on which nobody has a greater level than 2 Mbit/s.");
  expect([othersText(1, 1), othersText(1, 0), othersText(2, 0), othersText(2, 2), othersText(37, 2)]).toEqual([
    "The only other one there is at the same level.",
    "The only other one there is at a lower level.",
    "All 2 others there are at lower levels.",
    "All 2 others there are at the same level.",
    "Of 37 others there, 2 are at the same level and 35 lower.",
  ]);
});

test("a level below zero is the missing share of what is reserved", () => {
  expect(levelText(2e6)).toBe("2 Mbit/s");
  expect(levelText(-0.25)).toBe("-25 % of what is reserved");
});
