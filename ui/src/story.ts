/** How a run went, in a few numbers; and in what runs of one scenario differ, in sentences. */

import type { Connections, Header, Headline, Settling } from "./data";
import type { TermName } from "./terms";
import { type Label, listed } from "./titles";
import { digits, NONE, rateText, shareText, spanText } from "./units";

/** A number of the head line, with what stands beside it in small. */
export interface Figure {
  label: string;
  term?: TermName;
  /** The number itself, and its text; null where it has no meaning. */
  value: number | null;
  text: string;
  note: string;
}

const share = (value: number | null): string => (value === null ? NONE : shareText(value));
const index = (value: number): string => digits(value, 3);

/** The numbers of a run, always the same ones in the same order. */
export function figuresOf({ headline, connections }: Header): Figure[] {
  if (!headline) return [];
  return [
    fairness(headline),
    jain(headline),
    settling("settles after a join", headline.joins),
    settling("settles after a leave", headline.leaves),
    queue(headline),
    use(headline),
    lost(headline),
    completion(connections),
  ];
}

/** The longest time that a connection took to send its amount, beside the median. */
function completion({ name, completion_s }: Connections): Figure {
  const known = (completion_s ?? []).flatMap((time, c) => (time === null ? [] : [{ time, who: name[c] }]));
  known.sort((a, b) => a.time - b.time);
  const [count, last] = [known.length, known[known.length - 1]];
  const figure = { label: "longest completion", term: "completion" as const };
  if (!last) return { ...figure, value: null, text: NONE, note: "" };
  const median = ((known[(count - 1) >> 1]?.time ?? 0) + (known[count >> 1]?.time ?? 0)) / 2;
  const note = count > 1 ? `${last.who}; the median is ${spanText(rounded(median))}` : `${last.who}`;
  return { ...figure, value: last.time, text: spanText(rounded(last.time)), note };
}

function fairness({ fair_distance, worst_off, worst_share }: Headline): Figure {
  const note = worst_off !== null ? `${worst_off} has ${share(worst_share)} of its fair rate` : "";
  return { label: "away from fair", term: "fair", value: fair_distance, text: share(fair_distance), note };
}

function jain({ jain: own, fair_jain }: Headline): Figure {
  const note = fair_jain === null ? "" : `the fair rates have ${index(fair_jain)}`;
  return { label: "Jain's index", term: "jain", value: own, text: own === null ? NONE : index(own), note };
}

function settling(label: string, of: Settling | null): Figure {
  if (!of) return { label, term: "settling", value: null, text: NONE, note: "" };
  const value = of.median_s ?? Number.POSITIVE_INFINITY;
  const text = of.median_s === null ? "never" : spanText(rounded(of.median_s));
  return { label, term: "settling", value, text, note: settlingNote(of) };
}

function settlingNote({ changes, settled, worst_s }: Settling): string {
  if (changes === 1) return settled ? "" : "not before the next change or the end";
  if (settled === 0) return `after none of ${changes}`;
  const some = settled < changes ? `after ${settled} of ${changes}; ` : "";
  return `${some}${settled > 1 ? `at worst ${spanText(rounded(worst_s ?? 0))}` : "never after the others"}`;
}

/** A time to three digits. */
const rounded = (seconds: number): number => Number(seconds.toPrecision(3));

function queue({ queue_packets, queue_s, queue_link }: Headline): Figure {
  const text = queue_packets === null ? NONE : countText(queue_packets, "packet");
  const wait = queue_s === null ? "" : `${spanText(rounded(queue_s))} of waiting `;
  const note = queue_link === null ? "" : `${wait}at ${queue_link}`;
  return { label: "longest queue", term: "backlog", value: queue_packets, text, note };
}

function use({ bottleneck_utilisation, utilisation, busiest_link }: Headline): Figure {
  const busiest = busiest_link === null ? "" : `busiest: ${busiest_link}, ${share(utilisation)}`;
  return bottleneck_utilisation === null
    ? {
        label: "use of the busiest link",
        term: "utilisation",
        value: utilisation,
        text: share(utilisation),
        note: busiest_link ?? "",
      }
    : {
        label: "use of bottlenecks",
        term: "utilisation",
        value: bottleneck_utilisation,
        text: share(bottleneck_utilisation),
        note: busiest,
      };
}

function lost({ lost_share, dropped_packets }: Headline): Figure {
  const note = dropped_packets === null || !dropped_packets ? "" : `${countText(dropped_packets, "packet")} dropped`;
  const text = lost_share === 0 ? "none" : share(lost_share);
  return { label: "lost", term: "loss", value: lost_share, text, note };
}

/** How many of some things stand in a row of at most so many, so that all rows are about as long. */
export const balanced = (count: number, most: number): number => Math.ceil(count / Math.ceil(count / most));

export const countText = (count: number, what: string): string => `${count} ${what}${count === 1 ? "" : "s"}`;

/** The numbers of an allocation. */
export function figuresOfAllocation(header: Header): Figure[] {
  const { connections, summary, links } = header;
  const rates = connections.granted_bps ?? [];
  const total = rates.reduce<number>((sum, rate) => sum + (rate ?? 0), 0);
  const demands = connections.demand_bps ?? [];
  const asked = demands.every((demand) => demand !== null) && demands.length ? sum(demands) : null;
  const full = Number(summary?.saturated_links ?? 0);
  const carried = {
    label: asked === null ? "carried in all" : "of all demand is carried",
    value: total,
    text: asked ? shareText(total / asked) : rateText(total),
    note: asked === null ? "" : `${rateText(total)} of ${rateText(asked)}`,
  };
  return [
    carried,
    ...worstOff(header),
    {
      label: full === 1 ? "link is full" : "links are full",
      term: "saturated",
      value: full,
      text: String(full),
      note: `of ${links.name.length}`,
    },
  ];
}

const sum = (values: (number | null)[]): number => values.reduce<number>((all, value) => all + (value ?? 0), 0);

/** Which connection has the least of its demand, or the lowest level where nobody has a demand. */
function worstOff({ connections }: Header): Figure[] {
  const { name, demand_bps, granted_bps, level_bps } = connections;
  if (!name.length) return [];
  const met = name.map((_, c) =>
    demand_bps?.[c] ? Number(granted_bps?.[c]) / demand_bps[c] : Number.POSITIVE_INFINITY,
  );
  const least = Math.min(...met);
  if (Number.isFinite(least)) {
    const who = met.indexOf(least);
    return [
      {
        label: "of its demand for the worst-off",
        term: "met",
        value: least,
        text: shareText(least),
        note: `${name[who]}, ${rateText(granted_bps?.[who])}`,
      },
    ];
  }
  const levels = name.map((_, c) => level_bps?.[c] ?? Number.POSITIVE_INFINITY);
  const lowest = Math.min(...levels);
  return Number.isFinite(lowest)
    ? [
        {
          label: "is the lowest level",
          term: "level",
          value: lowest,
          text: rateText(lowest),
          note: name[levels.indexOf(lowest)] ?? "",
        },
      ]
    : [];
}

/** Values differ if one is this many times another. */
const FACTOR = 1.5;
/** Shares of use differ if they are so far apart. */
const POINTS = 0.03;
/** So many sentences are read. */
const MOST = 4;

/** In what runs of the same scenario differ, the first such group of the page. */
export function differences(headers: Header[], labels: Label[]): string[] {
  const group = labels.find((label) => label.group.length > 1)?.group ?? [];
  const runs = group.flatMap((i) => {
    const { headline } = headers[i] as Header;
    return headline ? [{ label: labels[i] as Label, headline }] : [];
  });
  if (runs.length < 2 || runs.length < group.length) return [];
  return [fairSentence, leaveSentence, joinSentence, queueSentence, useSentence, lossSentence]
    .flatMap((sentence) => sentence(runs) ?? [])
    .slice(0, MOST);
}

interface Told {
  label: Label;
  headline: Headline;
}

/** Whether some value is far from another; a value that is not known says nothing. */
function differ(values: (number | null)[]): values is number[] {
  if (values.some((value) => value === null)) return false;
  const [least, most] = [Math.min(...(values as number[])), Math.max(...(values as number[]))];
  return most > FACTOR * least;
}

const led = ({ lead, text }: Label): string => `${lead} ${text}`;

/** "0.39 % away under d-SLEN and 2.5 % under Vo-Le-Tran", the least first; what stands behind the first goes for all. */
function ranked(
  runs: Told[],
  value: (headline: Headline) => number | null,
  text: (headline: Headline) => string,
  behind = "",
): string {
  const order = [...runs].sort((a, b) => (value(a.headline) ?? 0) - (value(b.headline) ?? 0));
  const texts = [...new Set(order.map(({ headline }) => text(headline)))];
  const parts = texts.map((own, i) => {
    const like = order.filter(({ headline }) => text(headline) === own).map(({ label }) => label);
    const one = new Set(like.map(({ lead }) => lead)).size === 1;
    const who = one ? `${like[0]?.lead} ${listed(like.map((label) => label.text))}` : listed(like.map(led));
    return `${own}${i ? "" : behind} ${who}`;
  });
  return listed(parts);
}

function fairSentence(runs: Told[]): string | null {
  const values = runs.map(({ headline }) => headline.fair_distance);
  // Nobody sees a hundredth of a per cent.
  if (!differ(values) || Math.max(...values) < 0.01) return null;
  const away = " away from their fair rates";
  return `Connections are on average ${ranked(
    runs,
    (h) => h.fair_distance,
    (h) => share(h.fair_distance),
    away,
  )}.`;
}

const leaveSentence = (runs: Told[]): string | null => settlingSentence(runs, "leave", "leaves");
const joinSentence = (runs: Told[]): string | null => settlingSentence(runs, "join", "joins");

function settlingSentence(runs: Told[], event: string, key: "joins" | "leaves"): string | null {
  const all = runs.map(({ headline }) => headline[key]);
  if (all.some((own) => own === null)) return null;
  const medians = all.map((own) => own?.median_s ?? Number.POSITIVE_INFINITY);
  const shares = all.map((own) => (own ? own.settled / own.changes : 0));
  if (!differ(medians) && !differ(shares)) return null;
  const order = runs.map((_, i) => i).sort((a, b) => (medians[a] as number) - (medians[b] as number));
  const parts = order.map((i) => {
    const { label, headline } = runs[i] as Told;
    return settledText(headline[key] as Settling, event, led(label));
  });
  return `After a ${event}, rates settle ${listed(parts)}.`;
}

function settledText({ changes, settled, median_s }: Settling, event: string, who: string): string {
  if (median_s === null) return changes === 1 ? `never ${who}` : `never ${who} (${changes} ${event}s)`;
  const only = settled < changes ? ` (after ${settled} of ${changes} ${event}s; else not before the next)` : "";
  return `in ${spanText(rounded(median_s))} ${who}${only}`;
}

function queueSentence(runs: Told[]): string | null {
  const values = runs.map(({ headline }) => headline.queue_packets);
  if (!differ(values)) return null;
  const text = (h: Headline) => countText(h.queue_packets ?? 0, "packet");
  return `The longest queue has ${ranked(runs, (h) => h.queue_packets, text)}.`;
}

function useSentence(runs: Told[]): string | null {
  const values = runs.map(({ headline }) => headline.bottleneck_utilisation);
  if (values.some((value) => value === null)) return null;
  const known = values as number[];
  if (Math.max(...known) - Math.min(...known) < POINTS) return null;
  const text = (h: Headline) => share(h.bottleneck_utilisation);
  return `Bottlenecks are used to ${ranked(runs, (h) => h.bottleneck_utilisation, text)}.`;
}

function lossSentence(runs: Told[]): string | null {
  const values = runs.map(({ headline }) => headline.lost_share);
  if (!differ(values)) return null;
  const text = (h: Headline) => (h.lost_share ? share(h.lost_share) : "nothing");
  return `Of all data, ${ranked(runs, (h) => h.lost_share, text, " is lost")}.`;
}
