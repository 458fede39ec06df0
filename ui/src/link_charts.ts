/** Charts of links: what they carry of their capacity, how much waits, where capacities change. */

import { type ChartSpec, fromZero, type Line, type Making, NOTHING } from "./chart_spec";
import { seen } from "./colours";
import type { Run } from "./data";
import { greatest, linksOf } from "./selection";
import { rateText, textOf } from "./units";

const QUEUES = ["backlog_bytes", "peak_packets"];

/** What a chosen link carries, below its capacity. */
export function loadOf(making: Making, link: number): ChartSpec {
  const name = making.run.header.links.name[link];
  const lines = loadLines(making, [link]);
  return {
    kind: "load",
    title: `Load of ${name}`,
    note: "dashed: capacity",
    term: "utilisation",
    column: "carried_bps",
    lines,
    ...fromZero(lines),
    text: rateText,
  };
}

/** Links whose capacity changes, with what they carry; there is no such chart where none does. */
export function capacities(making: Making): ChartSpec[] {
  const changing = changingLinks(making.run);
  if (!changing.length) return [];
  const rows = changing.slice(0, 4);
  const lines = loadLines(making, rows);
  const which = rows.length < changing.length ? `${rows.length} of ${changing.length}; ` : "";
  return [
    {
      kind: "load",
      title: "Links whose capacity changes",
      note: `${which}load, dashed: capacity`,
      term: "capacity",
      column: "carried_bps",
      lines,
      ...fromZero(lines),
      text: rateText,
      of: "links",
    },
  ];
}

/** The links whose capacity is not the same at all samples. */
function changingLinks(run: Run): number[] {
  const table = run.table("link", "capacity_bps");
  if (!table) return [];
  const links = run.header.links.name.map((_, link) => link);
  return links.filter((link) => {
    const row = table.row(link);
    return row.some((value) => value !== row[0] && !Number.isNaN(value));
  });
}

function loadLines({ run, palette, own }: Making, links: number[]): Line[] {
  const load = run.table("link", "carried_bps") ?? run.table("link", "granted_bps");
  return links.flatMap((link, rank) => {
    const colour = seen(palette.lines[rank % palette.lines.length] ?? "", own);
    const label = run.header.links.name[link] ?? "";
    const capacity = {
      label: `${label}, capacity`,
      colour,
      values: capacityOf(run, link),
      dashed: true,
      stepped: true,
    };
    return load ? [capacity, { label, colour, values: load.row(link) }] : [capacity];
  });
}

/** The capacity of a link at each sample; nothing where it has no limit. */
function capacityOf(run: Run, link: number): Float32Array {
  const changing = run.table("link", "capacity_bps");
  if (changing) return changing.row(link);
  return new Float32Array(run.times.length).fill(run.header.links.capacity_bps[link] ?? Number.NaN);
}

/** How much waits: at the chosen link, on the paths of the chosen connection, or where the most does. */
export function queues({ run, shown, palette, own }: Making, chosen: number, link: number): ChartSpec {
  const options = run.variables("link").filter((name) => QUEUES.includes(name));
  const variable = options.includes(shown.drawn.link) ? shown.drawn.link : (options[0] ?? "backlog_bytes");
  const table = run.table("link", variable);
  const all = run.header.links.name.map((_, i) => i);
  const links = link >= 0 ? [link] : chosen >= 0 ? [...linksOf(run, chosen)] : all;
  // A link at which nothing ever waits says nothing beside others.
  const waiting = links.length > 1 && table ? links.filter((row) => table.row(row).some((value) => value > 0)) : links;
  const rows = table ? greatest(run, "link", variable, waiting) : [];
  const lines = rows.map((row, rank) => ({
    label: run.header.links.name[row] ?? "",
    colour: seen(palette.lines[rank % palette.lines.length] ?? "", own),
    values: table?.row(row) ?? NOTHING,
  }));
  const some = rows.length < waiting.length ? "the longest ones" : "";
  const where = link >= 0 ? `at ${run.header.links.name[link]}` : chosen >= 0 ? "on the paths of the chosen one" : some;
  return {
    kind: `queues ${variable}`,
    title: "Queues",
    note: where,
    term: "backlog",
    column: variable,
    lines,
    ...fromZero(lines),
    text: textOf(variable),
    ...(table ? { empty: "no packet waited" } : {}),
    of: "links",
    choice: { of: "link", label: "of links", options, value: variable },
  };
}
