import { expect, test } from "vitest";

import type { Header, Headline } from "./data";
import { balanced, differences, figuresOf, figuresOfAllocation } from "./story";
import { labelsOf } from "./titles";

const NONE: Headline = {
  jain: null,
  fair_jain: null,
  fair_distance: null,
  worst_share: null,
  worst_off: null,
  joins: null,
  leaves: null,
  queue_packets: null,
  queue_s: null,
  queue_link: null,
  utilisation: null,
  busiest_link: null,
  bottleneck_utilisation: null,
  dropped_packets: null,
  lost_share: null,
};

const run = (protocol: string, headline: Partial<Headline>): Header =>
  ({
    kind: "run",
    name: protocol,
    title: "One",
    protocols: { [protocol]: {} },
    connections: { name: [] },
    headline: { ...NONE, ...headline },
  }) as unknown as Header;

const told = (...headers: Header[]) => differences(headers, labelsOf(headers));

test("runs that differ are compared in words, the least first", () => {
  const slow = run("Vo-Le-Tran", {
    fair_distance: 0.0246,
    queue_packets: 589,
    leaves: { changes: 34, settled: 10, median_s: 0.8872, worst_s: 1.47 },
  });
  const quick = run("d-SLEN", {
    fair_distance: 0.0039,
    queue_packets: 12,
    leaves: { changes: 33, settled: 33, median_s: 0.0308, worst_s: 0.1 },
  });
  expect(told(slow, quick)).toEqual([
    "Connections are on average 0.39 % away from their fair rates under d-SLEN and 2.46 % under Vo-Le-Tran.",
    "After a leave, rates settle in 30.8 ms under d-SLEN and in 887 ms under Vo-Le-Tran (after 10 of 34 leaves; else not before the next).",
    "The longest queue has 12 packets under d-SLEN and 589 packets under Vo-Le-Tran.",
  ]);
});

test("nothing is said of what is alike, unknown, or of another scenario", () => {
  expect(
    told(run("LIA", { queue_packets: 100, lost_share: 0 }), run("OLIA", { queue_packets: 110, lost_share: 0 })),
  ).toEqual([]);
  expect(told(run("LIA", { queue_packets: 100 }), run("OLIA", {}))).toEqual([]);
  expect(told(run("LIA", { queue_packets: 1 }), { ...run("OLIA", { queue_packets: 100 }), title: "Other" })).toEqual(
    [],
  );
});

test("losses and queues of many runs stand in one sentence", () => {
  const queues = [
    run("LIA", { queue_packets: 120 }),
    run("wVegas", { queue_packets: 24 }),
    run("OLIA", { queue_packets: 120 }),
  ];
  expect(told(...queues)).toEqual([
    "The longest queue has 24 packets under wVegas and 120 packets under LIA and OLIA.",
  ]);
  const all = [
    run("LIA", { lost_share: 0.0017 }),
    run("wVegas", { lost_share: 0 }),
    run("Uncoupled", { lost_share: 0.002 }),
  ];
  expect(told(...all)).toEqual([
    "Of all data, nothing is lost under wVegas, 0.17 % under LIA and 0.2 % under Uncoupled.",
  ]);
});

test("a number without a meaning is a dash", () => {
  expect(figuresOf(run("a", {})).map((figure) => figure.text)).toEqual(Array(8).fill("–"));
  const never = run("a", { joins: { changes: 2, settled: 0, median_s: null, worst_s: null } });
  expect(figuresOf(never)[2]).toMatchObject({ text: "never", note: "after none of 2" });
});

test("the last one to send its amount stands beside the median", () => {
  const own = run("a", {});
  const connections = { ...own.connections, name: ["a", "b", "c"], completion_s: [0.002, 0.2, null] };
  const figure = figuresOf({ ...own, connections }).at(-1);
  expect(figure).toMatchObject({ label: "longest completion", text: "200 ms", note: "b; the median is 101 ms" });
});

test("an allocation says what it carries, who is worst off and how many links are full", () => {
  const connections = { name: ["a", "b"], demand_bps: [4e6, 2e6], granted_bps: [1e6, 2e6], level_bps: [1e6, 2e6] };
  const header = { kind: "allocation", connections, links: { name: ["x", "y"] }, summary: { saturated_links: 1 } };
  const figures = figuresOfAllocation(header as unknown as Header);
  expect(figures.map(({ text, label, note }) => [text, label, note])).toEqual([
    ["50 %", "of all demand is carried", "3 Mbit/s of 6 Mbit/s"],
    ["25 %", "of its demand for the worst-off", "a, 1 Mbit/s"],
    ["1", "link is full", "of 2"],
  ]);
});

test("tiles stand in rows of about the same length", () => {
  expect([1, 2, 3, 5, 6, 7, 8].map((count) => balanced(count, 4))).toEqual([1, 2, 3, 3, 3, 4, 4]);
  expect([balanced(8, 8), balanced(8, 2), balanced(9, 8)]).toEqual([8, 2, 5]);
});
