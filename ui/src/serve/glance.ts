/** Runs and scenarios at a glance: what their cards say, and in which order they stand. */

import { digits, rateText, shareText, sizeText, spanText } from "../units";
import type { Headline, RunFacts, ScenarioCard, Summary } from "./server";

/** A number on a card, with its label. */
export interface Glance {
  label: string;
  text: string;
  /** More about it, for those who point at it. */
  title: string;
}

/** The most numbers on a card. */
const MOST = 4;

/** The numbers of a run that are known, the most telling ones first. */
export function numbersOf(headline: Headline): Glance[] {
  const { fair_distance, jain, fair_jain, joins, queue_packets, queue_s, queue_link, lost_share } = headline;
  const found: (Glance | null)[] = [
    known(fair_distance, (value) => ({
      label: "away from fair",
      text: shareText(Number(value.toPrecision(2))),
      title: "how far mean rates are from the mean fair rates: the mean over connections",
    })),
    known(jain, (value) => ({
      label: "Jain's index",
      text: digits(value),
      title: `1 where all rates are equal${fair_jain == null ? "" : `; the fair rates have ${digits(fair_jain)}`}`,
    })),
    known(joins?.median_s, (value) => ({
      label: "settles in",
      text: spanText(Number(value.toPrecision(2))),
      title: "the time after which rates stay within 1 % of where they end, after connections join: the median",
    })),
    known(queue_packets, (value) => ({
      label: "longest queue",
      text: `${value} ${value === 1 ? "packet" : "packets"}`,
      title: `at ${queue_link}${queue_s == null ? "" : `, ${spanText(Number(queue_s.toPrecision(2)))} of waiting`}`,
    })),
    known(headline.bottleneck_utilisation ?? headline.utilisation, (value) => ({
      label: headline.bottleneck_utilisation == null ? "busiest link" : "use of bottlenecks",
      text: shareText(Number(value.toPrecision(3))),
      title: headline.busiest_link ? `the busiest link is ${headline.busiest_link}` : "",
    })),
    known(lost_share, (value) => ({
      label: "lost",
      text: value === 0 ? "nothing" : shareText(Number(value.toPrecision(2))),
      title: "the share of the sent bytes",
    })),
  ];
  return found.filter((own) => own !== null).slice(0, MOST);
}

/** The numbers of an allocation. */
export function numbersOfSummary(summary: Summary): Glance[] {
  return [
    { label: "carried in all", text: rateText(summary.total_rate_bps), title: `of ${summary.connections} connections` },
    { label: "smallest rate", text: rateText(summary.least_rate_bps), title: "of all connections" },
    { label: "links are full", text: String(summary.saturated_links), title: `of ${summary.links}` },
    {
      label: "proof",
      text: summary.certified ? "certified" : "not certified",
      title: "checked from the definitions alone",
    },
  ];
}

const known = (value: number | null | undefined, of: (value: number) => Glance): Glance | null =>
  value == null || !Number.isFinite(value) ? null : of(value);

/** A time as everybody reads it, in the reader's own zone: 2026-11-24 06:33. */
export function whenText(seconds: number): string {
  const at = new Date(seconds * 1000);
  const two = (value: number) => String(value).padStart(2, "0");
  const day = `${at.getFullYear()}-${two(at.getMonth() + 1)}-${two(at.getDate())}`;
  return `${day} ${two(at.getHours())}:${two(at.getMinutes())}`;
}

/** What is told of a run in small. */
export function factsOfRun(run: RunFacts): string[] {
  const facts = [`${run.connections} ${run.connections === 1 ? "connection" : "connections"}`];
  if (run.duration_s !== null) facts.push(spanText(run.duration_s));
  if (run.seed !== null) facts.push(`seed ${run.seed}`);
  return [...facts, sizeText(run.bytes)];
}

/** What is told of a scenario in small. */
export function factsOfScenario({ facts }: ScenarioCard): string[] {
  const count = (number: number, what: string) => `${number} ${what}${number === 1 ? "" : "s"}`;
  const protocols = Object.keys(facts.protocols);
  const named = protocols.length > 3 ? `${protocols.length} protocols` : protocols.join(", ");
  const run = facts.connections ? [count(facts.connections, "connection"), spanText(facts.duration_s), named] : [];
  return [count(facts.nodes, "node"), ...(run.length ? run : ["no connections"])];
}

export const ORDERS = {
  newest: "newest first",
  oldest: "oldest first",
  title: "by title",
  folder: "by folder",
  largest: "largest first",
} as const;

export type Order = keyof typeof ORDERS;

export const orderNamed = (name: string | null): Order =>
  name !== null && name in ORDERS ? (name as Order) : "newest";

/** Runs in an order; those that are alike in it stay as they were. */
export function sorted(runs: RunFacts[], order: Order): RunFacts[] {
  const by: Record<Order, (a: RunFacts, b: RunFacts) => number> = {
    newest: (a, b) => b.written - a.written,
    oldest: (a, b) => a.written - b.written,
    title: (a, b) => nameOf(a).localeCompare(nameOf(b)),
    folder: (a, b) => a.folder.localeCompare(b.folder, undefined, { numeric: true }),
    largest: (a, b) => b.bytes - a.bytes,
  };
  return [...runs].sort(by[order]);
}

export const nameOf = (run: RunFacts): string => run.title || run.folder;

/** Whether a run has a text in what its card says. */
export function hasText(run: RunFacts, filter: string): boolean {
  const words = filter.trim().toLowerCase().split(/\s+/);
  const own = [run.title, run.folder, run.description, ...run.protocols].join(" ").toLowerCase();
  return words.every((word) => own.includes(word));
}
