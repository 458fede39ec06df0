import { expect, test } from "vitest";
import type { Known, Session } from "./agent";
import { networkOf, runOf } from "./live_run";

const link = (source: string, target: string, capacity: number | "Infinity", status: "up" | "down" = "up") => ({
  "link-id": `${source}-${target}`,
  source: { "source-node": source },
  destination: { "dest-node": target },
  "ietf-te-topology:te": { "oper-status": status },
  "anabranch:capacity-bps": capacity,
  "anabranch:delay-s": 0.001,
  "anabranch:twin": `${target}-${source}`,
});

const session = (number: number, rate_bps: number, works = true): Session => ({
  number,
  name: `s${number}`,
  to: "b",
  state: "active",
  weight: 1,
  rate_bps: works ? rate_bps : 0,
  paths: [{ links: ["a-b"], works, rate_bps, limit: { link: "a-b" } }],
});

const known: Known = {
  about: {
    node: "a",
    protocol: "d-SLEN",
    version: "1",
    time_s: 0,
    last: "1-0",
    is_draining: false,
    certificate_until_s: 0,
    sessions: 3,
    rate_bps: 0,
  },
  neighbours: [],
  sessions: [session(4, 6e6), session(5, 2e6), session(6, 9e6, false)],
  sums: [],
  topology: {
    "ietf-network:networks": {
      network: [
        {
          node: [{ "node-id": "a" }, { "node-id": "b" }],
          "ietf-network-topology:link": [link("a", "b", 10e6), link("b", "a", "Infinity", "down")],
        },
      ],
    },
  },
};

test("a network is read with its twins, and a link that is down has no capacity", () => {
  const { nodes, links } = networkOf(known);
  expect(nodes.name).toEqual(["a", "b"]);
  expect(links.twin).toEqual([1, 0]);
  expect(links.capacity_bps).toEqual([10e6, 0]);
});

test("links carry what works, and sessions have the rates of each sample", () => {
  const samples = [
    { time_s: 100, rates: new Map([[4, 1e6]]) },
    {
      time_s: 103,
      rates: new Map([
        [4, 6e6],
        [5, 2e6],
      ]),
    },
  ];
  const run = runOf(known, networkOf(known), samples);
  expect(run.times).toEqual([-3, 0]);
  // 6 and 2 Mbit/s; nothing gets through of the third.
  expect(run.table("link", "granted_bps")?.at(0, 1)).toBe(8e6);
  expect([0, 1].map((sample) => run.table("connection", "granted_bps")?.at(0, sample))).toEqual([1e6, 6e6]);
  expect(run.table("connection", "granted_bps")?.at(1, 0)).toBeNaN();
  expect(run.header.connections.bottleneck).toEqual(["a-b", "a-b", null]);
  expect(run.subflowsOver[0]).toEqual([0, 1, 2]);
});
