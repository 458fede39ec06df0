/** What of a run is to be seen: by the connection chosen, by the filter, by how far from fair. */

import type { Run } from "./data";
import { distanceAt } from "./distance";

/** What the reader has chosen; views are functions of data and this. */
export interface State {
  time_s: number;
  playing: boolean;
  /** How many seconds the whole run takes to play. */
  playFor_s: number;
  /** A connection by its name, which runs have in common. */
  chosen: string | null;
  /** A link by its name; where one is chosen, no connection is. */
  link: string | null;
  hovered: string | null;
  filter: string;
  /** What is drawn of each kind of thing, by the name of its column. */
  drawn: Drawn;
  /** The part of the time that charts show; null for all of it. */
  span: [number, number] | null;
  /** Whether axes reach to the highest peaks. */
  whole: boolean;
  /** The connections whose subflows are compared, by name; null for the first ones. */
  compared: string[] | null;
  /** Whether charts that say more than most readers want are shown. */
  more: boolean;
}

export interface Drawn {
  connection: string;
  subflow: string;
  link: string;
  run: string;
}

export type Update = (change: Partial<State>) => void;

/** With the chosen one as many as there are shades. */
export const MOST_LINES = 7;

/** Numbers of the connections whose name or protocol has the text of the filter. */
export function matching(run: Run, filter: string): number[] {
  const text = filter.trim().toLowerCase();
  const { name, protocol } = run.header.connections;
  const all = name.map((_, i) => i);
  return text ? all.filter((i) => `${name[i]} ${protocol[i]}`.toLowerCase().includes(text)) : all;
}

/** What is said where the filter leaves nothing. */
export const unmatched = (filter: string): string => `no connection has \`${filter.trim()}\` in its name or protocol`;

/** Whether some connection of an allocation asks for no more than so much. */
export const hasDemands = (run: Run): boolean => run.header.connections.demand_bps?.some((d) => d !== null) ?? false;

/**
 * How far a connection is from fair at a sample; NaN while it is not there.
 * All are fair in an allocation: there, how far the rate is from the demand, relative to that; or how low the level
 * is, where nobody has a demand.
 */
function distance(run: Run, connection: number, sample: number, asked: boolean): number {
  const { kind, connections } = run.header;
  if (kind === "run") return Math.abs(distanceAt(run, connection, sample));
  if (!asked) return 1 / (connections.level_bps?.[connection] || Number.MIN_VALUE);
  const demand = connections.demand_bps?.[connection];
  return demand ? 1 - (run.table("connection", "granted_bps")?.at(connection, sample) ?? 0) / demand : 0;
}

/** Connections in order of their distance from fair at a sample, the farthest first, those that are not there last. */
export function byDistance(run: Run, connections: number[], sample: number): number[] {
  const asked = hasDemands(run);
  const far = new Map(connections.map((c) => [c, distance(run, c, sample, asked)]));
  const rank = (c: number) => {
    const distance = far.get(c) as number;
    return Number.isNaN(distance) ? -1 : distance;
  };
  return [...connections].sort((a, b) => rank(b) - rank(a) || a - b);
}

/** The rows with the greatest mean size of what was sampled, in their own order. */
export function greatest(run: Run, of: string, name: string, rows: number[], most = MOST_LINES): number[] {
  const table = run.table(of, name);
  return table ? greatestBy(rows, (row) => table.row(row), most) : rows.slice(0, most);
}

/** The rows with the greatest mean size of their values, in their own order. */
export function greatestBy(rows: number[], valuesOf: (row: number) => Float32Array, most = MOST_LINES): number[] {
  if (rows.length <= most) return rows;
  const mean = new Map(rows.map((row) => [row, meanSize(valuesOf(row))]));
  const order = [...rows].sort((a, b) => (mean.get(b) as number) - (mean.get(a) as number) || a - b);
  return order.slice(0, most).sort((a, b) => a - b);
}

function meanSize(values: Float32Array): number {
  let [sum, count] = [0, 0];
  for (const value of values) {
    if (Number.isNaN(value)) continue;
    sum += Math.abs(value);
    count++;
  }
  return count ? sum / count : 0;
}

/** Numbers of the links on any path of a connection. */
export function linksOf(run: Run, connection: number): Set<number> {
  return new Set((run.subflowsOf[connection] ?? []).flatMap((subflow) => run.header.subflows.path[subflow] ?? []));
}

/** Which share of a connection's rate its subflows carry on each link of its paths at a sample; 0 where none is known. */
export function sharesOn(run: Run, connection: number, sample: number): Map<number, number> {
  const granted = run.table("subflow", "granted_bps");
  const shares = new Map<number, number>();
  let total = 0;
  for (const subflow of run.subflowsOf[connection] ?? []) {
    const rate = granted?.at(subflow, sample) || 0;
    total += rate;
    for (const link of run.header.subflows.path[subflow] ?? []) shares.set(link, (shares.get(link) ?? 0) + rate);
  }
  for (const [link, rate] of shares) shares.set(link, total > 0 ? rate / total : 0);
  return shares;
}

/** Numbers of the connections with a subflow over a link. */
export function crossing(run: Run, link: number): number[] {
  return [...new Set((run.subflowsOver[link] ?? []).map((s) => run.header.subflows.connection[s] as number))];
}

/** What connections send over a link at a sample, the most first: the sums of their subflows there. */
export function ratesOver(run: Run, link: number, sample: number): { connection: number; rate: number }[] {
  const granted = run.table("subflow", "granted_bps");
  const rates = new Map<number, number>();
  for (const subflow of run.subflowsOver[link] ?? []) {
    const connection = run.header.subflows.connection[subflow] as number;
    const rate = granted?.at(subflow, sample) ?? Number.NaN;
    rates.set(connection, (rates.get(connection) ?? 0) + (Number.isNaN(rate) ? 0 : rate));
  }
  return [...rates]
    .map(([connection, rate]) => ({ connection, rate }))
    .sort((a, b) => b.rate - a.rate || a.connection - b.connection);
}

/** The links that hold subflows of a connection back at a sample. */
export function bottlenecks(run: Run, connection: number, sample: number): Set<number> {
  const subflows = run.subflowsOf[connection] ?? [];
  const { path, bottleneck } = run.header.subflows;
  if (bottleneck) return new Set(subflows.flatMap((s) => bottleneck[s] ?? []));
  const error = run.table("link", "error");
  const links = subflows.flatMap((s) => path[s] ?? []);
  // Under the fair rates a link has an error just where it is a bottleneck.
  return new Set(error ? links.filter((link) => !Number.isNaN(error.at(link, sample))) : []);
}

/** The capacity of a link at a sample; infinite where it has no limit. */
export function capacityAt(run: Run, link: number, sample: number): number {
  const now = run.table("link", "capacity_bps")?.at(link, sample);
  const capacity = now ?? run.header.links.capacity_bps[link] ?? Number.POSITIVE_INFINITY;
  return Number.isNaN(capacity) ? Number.POSITIVE_INFINITY : capacity;
}

/** What is known of the loads of a run: at each sample, as means over the run, or nothing. */
export function loadsOf(run: Run): "sampled" | "mean" | "none" {
  if (run.table("link", "carried_bps") ?? run.table("link", "granted_bps")) return "sampled";
  return run.header.links.utilisation?.some((share) => share !== null) ? "mean" : "none";
}

/**
 * Load by capacity of a link at a sample, or its mean over the run where samples have none; NaN where it is not known.
 *
 * It is 0 where the capacity has no limit.
 */
export function utilisation(run: Run, link: number, sample: number): number {
  const load = run.table("link", "carried_bps") ?? run.table("link", "granted_bps");
  if (!load) return run.header.links.utilisation?.[link] ?? Number.NaN;
  const now = load.at(link, sample);
  const share = now / capacityAt(run, link, sample);
  return Number.isFinite(share) || Number.isNaN(now) ? share : 0;
}
