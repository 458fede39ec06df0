import { expect, test } from "vitest";

import { factsOfRun, hasText, numbersOf, numbersOfSummary, orderNamed, sorted, whenText } from "./glance";
import type { Headline, RunFacts } from "./server";

const run = (own: Partial<RunFacts>): RunFacts => ({
  id: "one",
  kind: "run",
  folder: "one",
  title: "Join and leave",
  protocols: ["d-SLEN"],
  connections: 3,
  seed: 1,
  duration_s: 4,
  reached_s: 4,
  finished: true,
  events: 1000,
  warnings: 0,
  written: 0,
  description: "",
  bytes: 12_300,
  ...own,
});

test("a card has the numbers that are known, four at most", () => {
  const headline = {
    fair_distance: 0.0312,
    jain: 0.98765,
    fair_jain: 0.97,
    joins: { changes: 2, settled: 2, median_s: 0.0213, worst_s: 0.03 },
    queue_packets: 12,
    queue_s: 0.0098,
    queue_link: "a-b",
    lost_share: 0,
  } as unknown as Headline;
  expect(numbersOf(headline).map(({ label, text }) => `${text} ${label}`)).toEqual([
    "3.1 % away from fair",
    "0.988 Jain's index",
    "21 ms settles in",
    "12 packets longest queue",
  ]);
  expect(numbersOf({ lost_share: 0, utilisation: 0.5 } as unknown as Headline).map((own) => own.text)).toEqual([
    "50 %",
    "nothing",
  ]);
  expect(numbersOf({} as Headline)).toEqual([]);
  const summary = {
    saturated_links: 2,
    links: 6,
    connections: 3,
    certified: true,
    total_rate_bps: 2.5e9,
    least_rate_bps: 1e6,
  };
  expect(numbersOfSummary(summary).map((own) => own.text)).toEqual(["2.5 Gbit/s", "1 Mbit/s", "2", "certified"]);
});

test("a time is written alike everywhere", () => {
  expect(whenText(new Date(2026, 10, 4, 6, 3).getTime() / 1000)).toBe("2026-11-04 06:03");
});

test("runs stand in the order that is wanted", () => {
  const runs = [
    run({ id: "a", folder: "run-10", title: "b", written: 2, bytes: 1 }),
    run({ id: "b", folder: "run-9", title: "", written: 3, bytes: 9 }),
    run({ id: "c", folder: "run-1", title: "A", written: 1, bytes: 5 }),
  ];
  const ids = (name: string) => sorted(runs, orderNamed(name)).map((own) => own.id);
  expect(ids("newest")).toEqual(["b", "a", "c"]);
  expect(ids("oldest")).toEqual(["c", "a", "b"]);
  expect(ids("title")).toEqual(["c", "a", "b"]);
  expect(ids("folder")).toEqual(["c", "b", "a"]);
  expect(ids("largest")).toEqual(["b", "c", "a"]);
  expect(ids("nonsense")).toEqual(ids("newest"));
});

test("a filter finds every word anywhere in a card", () => {
  const own = run({ folder: "sweep/seed 1", description: "Who wins?" });
  for (const text of ["", "slen", "JOIN sweep", "wins join"]) expect(hasText(own, text), text).toBe(true);
  for (const text of ["lia", "join nobody"]) expect(hasText(own, text), text).toBe(false);
});

test("an allocation has neither time nor seed", () => {
  expect(factsOfRun(run({}))).toEqual(["3 connections", "4 s", "seed 1", "12.3 kB"]);
  expect(factsOfRun(run({ duration_s: null, seed: null, connections: 1 }))).toEqual(["1 connection", "12.3 kB"]);
});
