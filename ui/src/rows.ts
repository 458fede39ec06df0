/** What the table of connections has in its columns, as numbers and as text. */

import type { Run } from "./data";
import { countedRate, distanceAt, hasDistances } from "./distance";
import { type Unit, unitOf } from "./scaled";
import { byDistance, hasDemands, matching } from "./selection";
import type { TermName } from "./terms";
import { NONE, sampled } from "./units";

export interface Column {
  heading: string;
  term?: TermName;
  /** The name of the column in a file, with its unit. */
  name: string;
  /** The unit of all its numbers; nothing for text. */
  unit?: Unit;
  /** Left out where there is little room, the greatest first; the row that is opened says it too. */
  minor?: number;
  value: (connection: number, sample: number) => number | string | null | undefined;
  text: (connection: number, sample: number) => string;
}

/** The columns of a run, or of an allocation, after the name. */
export function columnsOf(run: Run): Column[] {
  return run.header.kind === "run" ? columnsOfRun(run) : columnsOfAllocation(run);
}

function columnsOfRun(run: Run): Column[] {
  const rates = ["granted_bps", "fair_bps", "delivered_bps"].map((name) => run.table("connection", name));
  // Rates that are compared with each other have one unit.
  const unit = unitOf("granted_bps", Math.max(...rates.map((table) => greatestOf(table?.values))));
  const rate = (heading: string, term: TermName, i: number, minor: number): Column => {
    const at = (c: number, sample: number) => rates[i]?.at(c, sample);
    const name = ["granted_bps", "fair_bps", "delivered_bps"][i] as string;
    return {
      heading,
      term,
      name,
      unit,
      minor,
      value: (c, s) => sampled(at(c, s)),
      text: (c, s) => unit.text(at(c, s)),
    };
  };
  const error = unitOf("error", 1);
  const distance: Column = {
    heading: "from fair",
    term: "distance",
    name: "error",
    unit: error,
    value: (c, sample) => sampled(distanceAt(run, c, sample)),
    text: (c, sample) => error.text(distanceAt(run, c, sample)),
  };
  const [granted, fair, delivered] = rates;
  const all = !granted && !fair && !delivered;
  const counts = delivered && (!granted || countedRate(run) === "delivered_bps");
  const own = (minor: number) => (granted || all ? [rate("granted", "grant", 0, minor)] : []);
  const arrived = (minor: number) => (delivered ? [rate("delivered", "goodput", 2, minor)] : []);
  // What was not recorded has no column; the rate that counts stands first.
  return [
    ...protocolColumn(run),
    ...(counts ? arrived(0) : own(0)),
    ...(fair ? [rate("fair", "fair", 1, 1)] : []),
    ...(hasDistances(run) ? [distance] : []),
    ...completionColumn(run),
    ...(counts ? own(2) : arrived(2)),
  ];
}

/** How long connections took to send their amounts, where some have sent them. */
function completionColumn(run: Run): Column[] {
  const times = run.header.connections.completion_s ?? [];
  const greatest = Math.max(0, ...times.map((time) => time ?? 0));
  if (!greatest) return [];
  const unit = unitOf("completion_s", greatest);
  const value = (c: number) => times[c];
  const text = (c: number) => unit.text(times[c]);
  return [{ heading: "completion", term: "completion", name: "completion_s", unit, minor: 0.5, value, text }];
}

/** The protocols, where there are several. */
function protocolColumn(run: Run): Column[] {
  const { protocol } = run.header.connections;
  if (new Set(protocol).size < 2) return [];
  const own = (c: number) => protocol[c] ?? "";
  return [{ heading: "protocol", name: "protocol", minor: 3, value: own, text: own }];
}

function columnsOfAllocation(run: Run): Column[] {
  const { connections } = run.header;
  const column = (heading: string, term: TermName, name: string, values: (number | null)[] | undefined): Column => {
    const unit = unitOf(name, Math.max(...(values ?? []).map((value) => value ?? 0), 0));
    return { heading, term, name, unit, value: (c) => values?.[c], text: (c) => unit.text(values?.[c]) };
  };
  const { granted_bps: rates, demand_bps: demands } = connections;
  const met = demands?.map((wanted, c) => (wanted ? Number(rates?.[c]) / wanted : null));
  const demand = column("demand", "demand", "demand_bps", demands);
  const asked: Column[] = [
    { ...demand, minor: 1, text: (c) => demand.unit?.text(demands?.[c] ?? Number.POSITIVE_INFINITY) ?? "" },
    column("met", "met", "met", met),
  ];
  const holder = (c: number) => connections.bottleneck?.[c] ?? connections.held_by?.[c];
  return [
    column("rate", "connection", "granted_bps", rates),
    ...(hasDemands(run) ? asked : []),
    { ...column("level", "level", "level_bps", connections.level_bps), minor: hasDemands(run) ? 2 : 0 },
    {
      heading: "held by",
      term: "bottleneck",
      name: "held_by",
      minor: 3,
      value: holder,
      text: (c) => (holder(c) === "demand" ? "its demand" : (holder(c) ?? NONE)),
    },
  ];
}

function greatestOf(values: Float32Array | undefined): number {
  let most = 0;
  for (const value of values ?? []) if (value > most) most = value;
  return most;
}

/** The rows as the table has them: those of the filter, the farthest from fair first. */
export const rowsOf = (run: Run, filter: string, sample: number): number[] =>
  byDistance(run, matching(run, filter), sample);

/** The table at a sample as names and rows for a file, all of what the filter leaves. */
export function tableRows(
  run: Run,
  filter: string,
  sample: number,
): { names: string[]; rows: (string | number | null | undefined)[][] } {
  const columns = columnsOf(run).filter((column) => column.name !== "protocol");
  const { connections } = run.header;
  const isRun = run.header.kind === "run";
  return {
    names: ["connection", ...(isRun ? ["protocol"] : []), ...columns.map((column) => column.name)],
    rows: rowsOf(run, filter, sample).map((c) => [
      connections.name[c],
      ...(isRun ? [connections.protocol[c]] : []),
      ...columns.map((column) => column.value(c, sample)),
    ]),
  };
}

/** The order of the rows, in words. */
export function orderOf(run: Run): string {
  if (run.header.kind === "run")
    return run.table("connection", "error") ? "the farthest from fair first" : "in their order";
  return hasDemands(run) ? "the least met first" : "the lowest level first";
}
