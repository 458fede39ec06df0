/** What the table of connections has in its columns, as numbers and as text. */

import type { Run } from "./data";
import { byDistance, errorAt, hasDemands, matching } from "./selection";
import { errorText, NONE, rateText, sampled, shareText } from "./units";

export interface Column {
  heading: string;
  /** The name of the column in a file, with its unit. */
  name: string;
  value: (connection: number, sample: number) => number | string | null | undefined;
  text: (connection: number, sample: number) => string;
}

/** The columns of a run after name and protocol, or of an allocation after the name. */
export function columnsOf(run: Run): Column[] {
  const { connections } = run.header;
  const rate = (heading: string, name: string): Column => {
    const table = run.table("connection", name);
    const at = (c: number, sample: number) => table?.at(c, sample);
    return {
      heading,
      name,
      value: (c, sample) => sampled(at(c, sample)),
      text: (c, sample) => rateText(at(c, sample)),
    };
  };
  if (run.header.kind === "run") {
    return [
      rate("granted", "granted_bps"),
      rate("fair", "fair_bps"),
      {
        heading: "error",
        name: "error",
        value: (c, sample) => sampled(errorAt(run, c, sample)),
        text: (c, sample) => errorText(errorAt(run, c, sample)),
      },
      rate("delivered", "delivered_bps"),
    ];
  }
  const own = (c: number) => connections.granted_bps?.[c];
  const granted: Column = { heading: "rate", name: "granted_bps", value: own, text: (c) => rateText(own(c)) };
  const demand = (c: number) => connections.demand_bps?.[c];
  const met = (c: number) => {
    const wanted = demand(c);
    return wanted ? Number(own(c)) / wanted : null;
  };
  const holder = (c: number) => connections.bottleneck?.[c] ?? connections.held_by?.[c];
  const asked: Column[] = [
    {
      heading: "demand",
      name: "demand_bps",
      value: demand,
      text: (c) => rateText(demand(c) ?? Number.POSITIVE_INFINITY),
    },
    { heading: "met", name: "met", value: met, text: (c) => shareText(met(c)) },
  ];
  return [
    granted,
    ...(hasDemands(run) ? asked : []),
    {
      heading: "level",
      name: "level_bps",
      value: (c) => connections.level_bps?.[c],
      text: (c) => rateText(connections.level_bps?.[c]),
    },
    { heading: "held by", name: "held_by", value: holder, text: (c) => holder(c) ?? NONE },
  ];
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
  const columns = columnsOf(run);
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
  if (run.header.kind === "run") return "the farthest from fair first";
  return hasDemands(run) ? "the least met first" : "the lowest level first";
}
