/** What a proxy or an exit says of itself, and the rates between two answers. */

import { rateText } from "../units";

export interface Line {
  line: number;
  path: string;
  is_backup: boolean;
  weight: number;
  /** Lines of one group share links. */
  group: number;
  /** The most that each end may send over it. */
  most_bps?: number;
  state: "up" | "doubted" | "down";
  reason?: string;
  openings: number;
  sent_bytes: number;
  received_bytes: number;
  sent_packets: number;
  lost_packets: number;
  rtt_s: number;
  jitter_s: number;
  window_bytes: number;
}

export interface Peer {
  peer: string;
  is_known: boolean;
  is_onward: boolean;
  open_flows: number;
  flows: number;
  to_targets_bytes: number;
  from_targets_bytes: number;
  lines: Line[];
}

export interface Client {
  /** Empty for all that show the same token. */
  client: string;
  open_flows: number;
  flows: number;
  to_targets_bytes: number;
  from_targets_bytes: number;
  quota_bytes?: number;
  used_bytes?: number;
}

export interface Status {
  kind: "proxy" | "relay" | "exit";
  version: string;
  url: string;
  control: string;
  start_s: number;
  time_s: number;
  waiting_bytes: number;
  peers: Peer[];
  clients: Client[];
}

export interface Flow {
  peer: string;
  number: number;
  kind: "tcp" | "udp" | "ip";
  target: string;
  begun_s: number;
  to_target_bytes: number;
  from_target_bytes: number;
  waiting_bytes: number;
  lines: number[];
}

export interface Flows {
  time_s: number;
  count: number;
  flows: Flow[];
}

/** Rates in bit/s: of lines to the other end and from it, of peers to targets and from them. */
export interface Rates {
  out_bps: number;
  in_bps: number;
}

export interface Sample {
  time_s: number;
  rates: Map<string, Rates>;
}

export const keyOfLine = (peer: Peer, line: Line): string => `${peer.peer} ${line.line}`;
export const keyOfPeer = (peer: Peer): string => peer.peer;

/** All that is counted, by its key. */
function counts(status: Status): Map<string, [number, number]> {
  const all = new Map<string, [number, number]>();
  for (const peer of status.peers) {
    all.set(keyOfPeer(peer), [peer.to_targets_bytes, peer.from_targets_bytes]);
    for (const line of peer.lines) all.set(keyOfLine(peer, line), [line.sent_bytes, line.received_bytes]);
  }
  return all;
}

/** The rates between two answers. What is counted anew, as by a line that was opened again, began with nothing. */
export function ratesOf(before: Status, now: Status): Map<string, Rates> {
  const span_s = now.time_s - before.time_s;
  const [old, all] = [counts(before), counts(now)];
  const rates = new Map<string, Rates>();
  if (span_s <= 0) return rates;
  for (const [key, [out, into]] of all) {
    const [lastOut, lastIn] = old.get(key) ?? [out, into];
    const rate = (value: number, last: number) => ((value >= last ? value - last : value) * 8) / span_s;
    rates.set(key, { out_bps: rate(out, lastOut), in_bps: rate(into, lastIn) });
  }
  return rates;
}

/** The peers whose flows are counted: a relay has each flow twice, from a client and to its exit. */
export const counted = (status: Status): Peer[] =>
  status.kind === "relay" ? status.peers.filter((peer) => peer.is_onward) : status.peers;

/** How the lines are, in words. */
export const STATES: Record<Line["state"], string> = {
  up: "up",
  doubted: "silent",
  down: "down",
};

/** The part of packets that was lost, as text. */
export function lossText({ sent_packets, lost_packets }: Line): string {
  if (!sent_packets) return "–";
  const percent = (100 * lost_packets) / sent_packets;
  return `${percent === 0 ? "0" : percent < 0.01 ? "< 0.01" : percent.toPrecision(2)} %`;
}

/** What is said of a line that is not as others are. */
export function termsText(line: Line): string {
  return [
    line.is_backup ? "backup" : "",
    line.weight === 1 ? "" : `weight ${line.weight}`,
    line.group === 0 ? "" : `group ${line.group}`,
    line.most_bps === undefined ? "" : `at most ${rateText(line.most_bps)}`,
  ]
    .filter((text) => text !== "")
    .map((text) => `, ${text}`)
    .join("");
}
