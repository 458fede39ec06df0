/** Charts in which rivals stand beside each other: the windows and the round trips of several connections at once. */

import { type ChartSpec, fromZero, type Line, type Making, variableName } from "./chart_spec";
import type { Shade } from "./colours";
import type { Run } from "./data";
import { looksOf } from "./looks";
import { matching } from "./selection";
import type { TermName } from "./terms";
import { textOf } from "./units";

/** What is drawn of rivals, if it was recorded. */
const DRAWN: { column: string; title: string; term: TermName }[] = [
  { column: "window_bytes", title: "Congestion windows", term: "window" },
  { column: "rtt_s", title: "Round trips", term: "rtt" },
];
/** What is drawn on request. */
const MORE: { column: string; title: string; term: TermName }[] = [
  { column: "pace_bps", title: "Paces", term: "pace" },
  { column: "marked_share", title: "Marked packets", term: "mark" },
];

/** The number of connections of a long list that are compared without being asked for. */
export const FIRST = 3;
/** Lines that can be told apart in one chart. */
const MOST_SUBFLOWS = 10;

/** The patterns of the first, second, ... path of a connection. */
const PATTERNS: (number[] | undefined)[] = [undefined, [9, 3], [2, 3], [9, 3, 2, 3]];

/** Whether a run has anything to compare. */
export const hasRivals = (run: Run): boolean =>
  DRAWN.some(({ column }) => run.variables("subflow").includes(column)) && run.header.connections.name.length > 0;

/** The connections that are compared, by number: those of the reader's choice, or the first ones of which something was
 * recorded, and the chosen one. */
export function comparedOf(run: Run, compared: string[] | null, chosen: number, filter: string): number[] {
  const { name } = run.header.connections;
  const own = compared
    ? name.flatMap((one, i) => (compared.includes(one) ? [i] : []))
    : firstRecorded(run, matching(run, filter));
  return chosen >= 0 && !own.includes(chosen) ? [...own, chosen] : own;
}

/** The first connections with a window or a round trip; the first ones of all while these are not there yet. */
function firstRecorded(run: Run, connections: number[]): number[] {
  const tables = DRAWN.flatMap(({ column }) => run.table("subflow", column) ?? []);
  const isRecorded = (connection: number) =>
    (run.subflowsOf[connection] ?? []).some((subflow) =>
      tables.some((table) => table.row(subflow).some((value) => !Number.isNaN(value))),
    );
  if (!tables.length) return connections.slice(0, FIRST);
  const found: number[] = [];
  for (const connection of connections) {
    if (found.length === FIRST) break;
    if (isRecorded(connection)) found.push(connection);
  }
  return found;
}

export function rivals(making: Making, chosen: number): ChartSpec[] {
  const { run, shown } = making;
  if (!hasRivals(run)) return [];
  const wanted = shown.more ? [...DRAWN, ...MORE] : DRAWN;
  const recorded = wanted.filter(({ column }) => run.variables("subflow").includes(column));
  const rows = comparedOf(run, shown.compared, chosen, shown.filter);
  return recorded.map(({ column, title, term }) => {
    const lines = linesOf(making, rows, column);
    return {
      kind: column,
      title,
      note: lines.length ? noteOf(run, rows) : "",
      term,
      column,
      lines,
      ...fromZero(lines),
      text: textOf(column),
      of: "connections",
      empty: rows.length ? `no ${variableName(column)} was recorded of these` : "choose connections to compare",
    };
  });
}

function noteOf(run: Run, rows: number[]): string {
  return rows.some((row) => (run.subflowsOf[row]?.length ?? 0) > 1) ? "dashes: further paths" : "";
}

function linesOf(making: Making, rows: number[], column: string): Line[] {
  const { run } = making;
  const table = run.table("subflow", column);
  if (!table) return [];
  const looks = looksOf(making, rows);
  const lines = rows.flatMap((row) => {
    const { colour, width } = looks.get(row) as Shade;
    return (run.subflowsOf[row] ?? []).map((subflow, rank) => {
      const pattern = PATTERNS[rank % PATTERNS.length];
      const label = run.header.subflows.name[subflow] ?? "";
      const line = { label, name: rivalName(run, row, subflow), colour, width, values: table.row(subflow) };
      return pattern ? { ...line, pattern } : line;
    });
  });
  return lines.filter(({ values }) => values.some((value) => !Number.isNaN(value))).slice(0, MOST_SUBFLOWS);
}

/** A subflow by its connection, and by its way where there are several. */
function rivalName(run: Run, connection: number, subflow: number): string {
  const name = run.header.connections.name[connection] ?? "";
  return (run.subflowsOf[connection]?.length ?? 0) > 1 ? `${name}, ${wayName(run, subflow)}` : name;
}

/** What tells a subflow from the others of its connection: the first link that is on no other path, or its rank. */
export function wayName(run: Run, subflow: number): string {
  const { path, connection, name } = run.header.subflows;
  const others = (run.subflowsOf[connection[subflow] as number] ?? []).filter((other) => other !== subflow);
  const taken = new Set(others.flatMap((other) => path[other] ?? []));
  const own = (path[subflow] ?? []).find((link) => !taken.has(link));
  return (own === undefined ? undefined : run.header.links.name[own]) ?? name[subflow] ?? "";
}
