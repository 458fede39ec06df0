/** Why a connection of an allocation gets no more: what its certificate says of it, as numbers. */

import type { Run } from "./data";
import { fairnessText } from "./titles";
import { rateText, shareText } from "./units";

/** Another connection on a link. */
export interface Other {
  connection: number;
  /** What it sends over the link. */
  rate: number;
  level: number;
}

/** What holds a subflow back, or what it costs. */
export interface Reason {
  subflow: number;
  rate: number;
  /** The full link on which no other connection has a greater level; of a priced allocation the dearest one. */
  bottleneck: number | null;
  /** Who else sends over the bottleneck, those of the greatest level first. */
  others: Other[];
  /** How many of the others are at the connection's own level, to the tolerance. */
  level: number;
  /** Of a priced allocation: what the path costs, by what one more unit of rate is worth to the connection. */
  cost: number | null;
  /** The links that charge for it, with their shares of the path's price. */
  charges: { link: number; share: number }[];
}

export interface Why {
  rate: number;
  demand: number | null;
  level: number;
  /** Whether it has all that it asked for. */
  isMet: boolean;
  isPriced: boolean;
  reasons: Reason[];
}

/** What is to be said of a connection of an allocation. */
export function whyOf(run: Run, connection: number): Why {
  const { connections, subflows, summary } = run.header;
  const tolerance = Number(summary?.tolerance ?? 0);
  const own = { connection, level: connections.level_bps?.[connection] ?? 0 };
  const reasons = (run.subflowsOf[connection] ?? []).map((subflow) => {
    const bottleneck = subflows.bottleneck?.[subflow] ?? null;
    const others = bottleneck === null ? [] : othersOn(run, bottleneck, connection, tolerance);
    return {
      subflow,
      rate: subflows.granted_bps?.[subflow] ?? 0,
      bottleneck,
      others,
      level: others.filter((other) => other.level >= own.level - tolerance * Math.abs(own.level)).length,
      cost: costOf(run, subflow, connection),
      charges: chargesOf(run, subflow),
    };
  });
  return {
    rate: connections.granted_bps?.[connection] ?? 0,
    demand: connections.demand_bps?.[connection] ?? null,
    level: own.level,
    isMet: connections.held_by?.[connection] === "demand",
    isPriced: connections.marginal_utility !== undefined,
    reasons,
  };
}

/** Subflows that are told of together, and how many are told of before them. */
export interface Group {
  reasons: Reason[];
  before: number;
}

/** Subflows with the same bottleneck, which is told of once; with prices or a demand that is met, all together. */
export function groupsOf(why: Why): Group[] {
  if (why.isPriced || why.isMet) return [{ reasons: why.reasons, before: 0 }];
  const by = new Map<number | null, Reason[]>();
  for (const reason of why.reasons) by.set(reason.bottleneck, [...(by.get(reason.bottleneck) ?? []), reason]);
  let before = 0;
  return [...by.values()].map((reasons) => {
    before += reasons.length;
    return { reasons, before: before - reasons.length };
  });
}

/** Why nobody has to give way to a connection, once for all links that hold it back; empty where nobody else is there. */
export function verdictText(why: Why): string {
  const held = why.reasons.filter(({ bottleneck }) => bottleneck !== null);
  if (!held.some(({ others }) => others.length)) return "";
  const whole = held.length === why.reasons.length;
  const which = !whole ? "Some of its paths lead" : held.length === 1 ? "Its path leads" : "Each of its paths leads";
  const nobody = `${which} over a full link on which nobody has a greater level than ${levelText(why.level)}.`;
  const isLower = held.some(({ others, level }) => level < others.length);
  const lower = isLower ? " Those who have a lower one are held back elsewhere, or by their demands." : "";
  const giving = " To give this connection more, such a link would have to take from another one that has no more.";
  return `${nobody}${lower}${whole ? giving : ""}`;
}

/** A level; below 0 it is the missing share of what is reserved. */
export function levelText(level: number): string {
  return level < 0 ? `${shareText(level)} of what is reserved` : rateText(level);
}

/** How many others are on a link, and how many of these at the level of the connection itself. */
export function othersText(count: number, level: number): string {
  if (count === 1) return `The only other one there is ${level ? "at the same level" : "at a lower level"}.`;
  if (level === 0 || level === count) {
    return `All ${count} others there are at ${level ? "the same level" : "lower levels"}.`;
  }
  return `Of ${count} others there, ${level} ${level === 1 ? "is" : "are"} at the same level and ${count - level} lower.`;
}

/** Whether a subflow carries more than next to nothing of its connection's rate, as the certificate counts. */
function isUsed({ header }: Run, subflow: number, tolerance: number): boolean {
  const { connections, subflows } = header;
  const all = connections.granted_bps?.[subflows.connection[subflow] as number] ?? 0;
  return (subflows.granted_bps?.[subflow] ?? 0) > tolerance * all;
}

/** Who else sends over a link more than next to nothing of its rate. */
function othersOn(run: Run, link: number, connection: number, tolerance: number): Other[] {
  const { connections, subflows } = run.header;
  const sums = new Map<number, number>();
  for (const subflow of run.subflowsOver[link] ?? []) {
    const other = subflows.connection[subflow] as number;
    const rate = subflows.granted_bps?.[subflow] ?? 0;
    if (other !== connection && isUsed(run, subflow, tolerance)) sums.set(other, (sums.get(other) ?? 0) + rate);
  }
  return [...sums]
    .map(([other, rate]) => ({ connection: other, rate, level: connections.level_bps?.[other] ?? 0 }))
    .sort((a, b) => b.level - a.level || a.connection - b.connection);
}

function costOf(run: Run, subflow: number, connection: number): number | null {
  const price = run.header.subflows.price?.[subflow];
  const worth = run.header.connections.marginal_utility?.[connection];
  return price != null && worth ? price / worth : null;
}

function chargesOf(run: Run, subflow: number): { link: number; share: number }[] {
  const { links, subflows } = run.header;
  const price = subflows.price?.[subflow];
  if (!price) return [];
  return (subflows.path[subflow] ?? [])
    .map((link) => ({ link, share: (links.price?.[link] ?? 0) / price }))
    .filter(({ share }) => share >= LEAST_SHARE)
    .sort((a, b) => b.share - a.share);
}

/** A link that charges less of a path's price than this is not named. */
const LEAST_SHARE = 1e-3;

const cheapestOf = (why: Why): number =>
  Math.min(...why.reasons.map((reason) => reason.cost ?? Number.POSITIVE_INFINITY));

/** Prices that differ by this many times the tolerance, relatively, count as equal. */
const EQUAL = 10;

/** What prices say of a connection as a whole: whether more is worth what it would cost. */
export function worthText(why: Why, tolerance: number): string {
  const cheapest = cheapestOf(why);
  const near = EQUAL * tolerance;
  if (cheapest === Number.POSITIVE_INFINITY) return "No path of it has capacity.";
  if (why.isMet && cheapest <= 1 + near) {
    return "That is what its cheapest path costs, or more: only its demand holds it back.";
  }
  if (!why.isMet && Math.abs(cheapest - 1) <= near) {
    return "That is what its cheapest paths cost: more would cost others more than it is worth to it.";
  }
  return `But its cheapest path costs ${shareText(cheapest)} of that: prices and rates are not those of the optimum.`;
}

/** What a path costs, and what follows from that. */
export function costText(why: Why, reason: Reason, tolerance: number): string {
  if (reason.cost === null) return "It leads over a link without capacity.";
  const cost = `It costs ${shareText(reason.cost)} of what more is worth`;
  if (reason.cost <= cheapestOf(why) * (1 + EQUAL * tolerance)) return `${cost}, the least of its paths.`;
  return reason.rate > tolerance * why.rate
    ? `${cost}, more than its cheapest path, and is in use all the same: that is not the optimum.`
    : `${cost}, more than its cheapest path: it stays unused.`;
}

/** A link that holds subflows back. */
export interface Bottleneck {
  link: number;
  /** How many connections it holds back, on some path that they use. */
  held: number;
  /** The greatest level of these. */
  level: number;
  price: number | null;
}

/** The links that hold subflows in use back: the dearest first, or those of the lowest level. */
export function bottlenecksOf(run: Run): Bottleneck[] {
  const { connections, links, subflows, summary } = run.header;
  const tolerance = Number(summary?.tolerance ?? 0);
  const held = new Map<number, Set<number>>();
  subflows.bottleneck?.forEach((link, subflow) => {
    if (link === null || !isUsed(run, subflow, tolerance)) return;
    const own = held.get(link) ?? new Set();
    held.set(link, own.add(subflows.connection[subflow] as number));
  });
  const found = [...held].map(([link, own]) => ({
    link,
    held: own.size,
    level: Math.max(...[...own].map((connection) => connections.level_bps?.[connection] ?? 0)),
    price: links.price?.[link] ?? null,
  }));
  return found.sort((a, b) => (b.price ?? 0) - (a.price ?? 0) || a.level - b.level || a.link - b.link);
}

/** What an allocation is, and the outcome of its certificate, in sentences. */
export function proofOf(summary: Record<string, unknown>): string {
  const number = (key: string) => Number(Number(summary[key]).toPrecision(2));
  const tolerance =
    Number(summary.tolerance) < 1e-3 ? Number(summary.tolerance).toExponential() : String(summary.tolerance);
  const fairness = String(summary.fairness);
  const kind =
    fairness === "alpha" ? `alpha fair with alpha ${String(summary.alpha)}` : `${fairnessText(fairness)} fair`;
  const found = `${summary.approximation ? "approximated" : "found"} by ${String(summary.method)}`;
  const overload =
    number("overload") < ROUNDING
      ? "No link is overloaded."
      : `Some link is overloaded by ${shareText(Number(summary.overload))}.`;
  return `The rates are ${kind}, ${found}. ${certified(summary, number, tolerance)} ${overload}`;
}

/** What is less than this is a rounding error. */
const ROUNDING = 1e-9;

function certified(summary: Record<string, unknown>, number: (key: string) => number, tolerance: string): string {
  if ("gap" in summary) {
    const gap = `the duality gap is ${number("gap")}, and prices and rates are within ${number("residual")} of those of the optimum (tolerance ${tolerance})`;
    return `${summary.certified ? "Certified" : "Not certified"}: ${gap}.`;
  }
  return summary.certified
    ? `Certified: every subflow has a bottleneck, to a tolerance of ${tolerance} (the worst to ${number("residual")}).`
    : `Not certified: the residual is ${number("residual")}, and the tolerance is ${tolerance}.`;
}
