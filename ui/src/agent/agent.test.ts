import { expect, test } from "vitest";
import { changed, type Known, limitText, type Session, titleOf } from "./agent";

const session = (number: number, rate_bps: number): Session => ({
  number,
  name: `s${number}`,
  to: "b",
  state: "active",
  weight: 1,
  rate_bps,
  paths: [{ links: ["a-b"], works: true, rate_bps, limit: { link: "a-b" } }],
});

const known = (): Known => ({
  about: {
    node: "a",
    protocol: "d-SLEN",
    version: "1",
    time_s: 0,
    last: "1-0",
    is_draining: false,
    certificate_until_s: 0,
    sessions: 2,
    rate_bps: 0,
  },
  neighbours: [{ node: "b", state: "up", waiting: 0 }],
  sessions: [session(1, 5e6), session(3, 5e6)],
  sums: [{ link: "a-b", to: "b", capacity_bps: 10e6, claims: 2, claims_limited_here: 2 }],
  topology: { "ietf-network:networks": { network: [{ node: [], "ietf-network-topology:link": [] }] } },
});

test("sessions begin, change and end, and keep their order", () => {
  let now = changed(known(), [{ time_s: 1, event: "begun", session: session(2, 1e6) }]);
  expect(now.sessions.map((own) => own.number)).toEqual([1, 2, 3]);
  now = changed(now, [{ time_s: 2, event: "changed", session: session(2, 3e6) }]);
  expect(now.sessions.map((own) => own.rate_bps)).toEqual([5e6, 3e6, 5e6]);
  now = changed(now, [{ time_s: 3, event: "ended", number: 1 }]);
  expect(now.sessions.map((own) => own.number)).toEqual([2, 3]);
  // Of more sessions than are shown those that begin are passed over.
  const more = [session(8, 1e6), session(2, 4e6)].map((own) => ({ time_s: 3, event: "begun" as const, session: own }));
  expect(changed(now, more, 2).sessions.map((own) => [own.number, own.rate_bps])).toEqual([
    [2, 4e6],
    [3, 5e6],
  ]);
  // What is told twice changes nothing more.
  expect(changed(now, [{ time_s: 3, event: "ended", number: 1 }]).sessions).toEqual(now.sessions);
});

test("neighbours, capacities and the end of service are followed", () => {
  let now = changed(known(), [{ time_s: 1, event: "neighbour", node: "b", state: "waiting" }]);
  expect(now.neighbours[0]?.state).toBe("waiting");
  now = changed(now, [{ time_s: 1, event: "capacity", link: "a-b", capacity_bps: 4e6 }]);
  expect(now.sums[0]?.capacity_bps).toBe(4e6);
  now = changed(now, [{ time_s: 1, event: "capacity", link: "a-b" }]);
  expect(now.sums[0]).not.toHaveProperty("capacity_bps");
  expect(changed(now, [{ time_s: 1, event: "draining" }]).about.is_draining).toBe(true);
  expect(changed(now, [{ time_s: 1, event: "renewed" }])).toEqual(now);
});

test("a session is named, and what limits it too", () => {
  expect(titleOf(session(1, 1))).toBe("s1");
  const { name: _, ...nameless } = session(7, 1);
  expect([titleOf({ ...nameless, application: "backup" }), titleOf(nameless)]).toEqual(["backup 7", "session 7"]);
  const path = { links: [], works: true, rate_bps: 1 };
  const limited = (...limits: Session["paths"]) => limitText({ ...session(1, 1), paths: limits });
  expect(limited({ ...path, limit: "demand" }, { ...path, limit: { link: "x" } })).toBe("its demand, x");
  expect(limited({ ...path, works: false, limit: { link: "x" } })).toBe("no path works");
  expect(limited(path)).toBe("not known yet");
});
