import { expect, test } from "vitest";
import { keyOfLine, type Line, lossText, type Peer, ratesOf, type Status, termsText } from "./proxy";

const line = (sent_bytes: number, received_bytes: number, packets: [number, number] = [0, 0]): Line => ({
  line: 0,
  path: "a - b",
  is_backup: false,
  weight: 1,
  group: 0,
  state: "up",
  openings: 1,
  sent_bytes,
  received_bytes,
  sent_packets: packets[0],
  lost_packets: packets[1],
  rtt_s: 0.02,
  jitter_s: 0,
  window_bytes: 1e5,
});

const peer = (own: Line, to: number, from: number): Peer => ({
  peer: "exit",
  is_known: true,
  is_onward: true,
  open_flows: 1,
  flows: 1,
  to_targets_bytes: to,
  from_targets_bytes: from,
  lines: [own],
});

const status = (time_s: number, own: Peer): Status => ({
  kind: "proxy",
  version: "1",
  url: "anabranch://exit:1/",
  control: "LIA",
  start_s: 0,
  time_s,
  waiting_bytes: 0,
  peers: [own],
  clients: [],
});

test("rates are what was counted between two answers, and what is counted anew began with nothing", () => {
  const before = status(1, peer(line(1000, 5000), 0, 0));
  const now = status(3, peer(line(3000, 1000), 250, 500));
  const rates = ratesOf(before, now);
  const own = now.peers[0] as Peer;
  expect(rates.get(keyOfLine(own, own.lines[0] as Line))).toEqual({ out_bps: 8000, in_bps: 4000 });
  expect(rates.get("exit")).toEqual({ out_bps: 1000, in_bps: 2000 });
  // Nothing is known of what was not there before, and of no time.
  expect(ratesOf({ ...before, peers: [] }, now).get("exit")).toEqual({ out_bps: 0, in_bps: 0 });
  expect(ratesOf(now, now).size).toBe(0);
});

test("losses are told as a part of the packets", () => {
  expect([lossText(line(0, 0)), lossText(line(0, 0, [1000, 0])), lossText(line(0, 0, [1000, 25]))]).toEqual([
    "–",
    "0 %",
    "2.5 %",
  ]);
  expect(lossText(line(0, 0, [1e6, 1]))).toBe("< 0.01 %");
});

test("a line says what is not as it is with others", () => {
  expect(termsText(line(0, 0))).toBe("");
  const own = { ...line(0, 0), is_backup: true, weight: 0.5, group: 2, most_bps: 4e6 };
  expect(termsText(own)).toBe(", backup, weight 0.5, group 2, at most 4 Mbit/s");
});
