/** Charts of links: what they carry of their capacity, how much waits, where capacities change. */

import { type ChartSpec, fromZero, type Line, type Making, NOTHING } from "./chart_spec";
import { seen } from "./colours";
import type { Run, Table } from "./data";
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

/** Links at which something waits, and not next to nothing beside others. */
function waitingOf(table: Table, links: number[]): number[] {
  const most = new Map(links.map((link) => [link, table.row(link).reduce((a, b) => (b > a ? b : a), 0)]));
  const all = Math.max(0, ...most.values());
  return links.filter((link) => (most.get(link) as number) > LITTLE * all);
}

/** Of the longest queue, what is next to nothing. */
const LITTLE = 0.005;

/** A colour for each of some links: the same in other runs on the network where that tells these links apart. */
function coloursOf(run: Run, rows: number[], lines: string[]): string[] {
  const { twin } = run.header.links;
  const cables = twin.flatMap((other, link) => (other != null && other < link ? [] : [link]));
  const own = rows.map((row) => {
    const cable = cables.indexOf(Math.min(row, twin[row] ?? row));
    return (
      lines[(twin[row] != null && (twin[row] as number) < row ? cable + cables.length : cable) % lines.length] ?? ""
    );
  });
  return new Set(own).size === rows.length ? own : rows.map((_, rank) => lines[rank % lines.length] ?? "");
}

/** How much waits: at the chosen link, on the paths of the chosen connection, or where the most does. */
export function queues({ run, shown, palette, own }: Making, chosen: number, link: number): ChartSpec {
  const options = run.variables("link").filter((name) => QUEUES.includes(name));
  const variable = options.includes(shown.drawn.link) ? shown.drawn.link : (options[0] ?? "backlog_bytes");
  const table = run.table("link", variable);
  const all = run.header.links.name.map((_, i) => i);
  const links = link >= 0 ? [link] : chosen >= 0 ? [...linksOf(run, chosen)] : all;
  const waiting = links.length > 1 && table ? waitingOf(table, links) : links;
  const rows = table ? greatest(run, "link", variable, waiting) : [];
  const colours = coloursOf(run, rows, palette.lines);
  const lines = rows.map((row, rank) => ({
    label: run.header.links.name[row] ?? "",
    colour: seen(colours[rank] ?? "", own),
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
