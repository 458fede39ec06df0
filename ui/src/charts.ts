/** Which charts a run has, as lines; views draw them. */

import { type Inks, lineColour, seen } from "./colours";
import type { Palette, Run, Table } from "./data";
import { greatest, linksOf, matching, type State } from "./selection";
import { errorText, rateText, sizeText, textOf } from "./units";
import type { Line } from "./views/Chart";

export interface ChartSpec {
  title: string;
  lines: Line[];
  range: [number, number];
  text: (value: number | null | undefined) => string;
  /** Whether its lines are connections, which can be pointed at. */
  ofConnections?: boolean;
}

const NOTHING = new Float32Array();

/** So large a share of the samples may lie beyond an axis. */
const PEAKS = 0.005;

type Shown = Pick<State, "chosen" | "filter" | "variable">;

const VARIABLES: Record<string, string> = {
  granted_bps: "granted",
  delivered_bps: "delivered",
  window_bytes: "window",
  rtt_s: "round trip",
  pace_bps: "pace",
  marked_share: "marked share",
};

/** What a recorded variable of subflows is called. */
export const variableName = (variable: string): string => VARIABLES[variable] ?? variable;

/** The charts of a run: rates, subflows of the chosen connection, queues, errors. */
export function chartsOf(run: Run, state: Shown, palette: Palette, several: boolean, own: Inks): ChartSpec[] {
  if (run.header.kind === "allocation") return [];
  const chosen = run.header.connections.name.indexOf(state.chosen ?? "");
  const charts = [rates(run, state.filter, chosen, palette, several, own)];
  if (chosen >= 0) charts.push(subflows(run, chosen, state.variable, palette, own));
  charts.push(queues(run, chosen, palette, own), errors(run, palette, own));
  return charts;
}

/** The same charts with the axes that they have in all runs, so that these can be compared. */
export function withCommonAxes(runs: ChartSpec[][]): ChartSpec[][] {
  return runs.map((own) =>
    own.map((chart) => {
      const alike = runs.flatMap((other) => other.filter((o) => o.text === chart.text && axisOf(o) === axisOf(chart)));
      const low = Math.min(...alike.map((a) => a.range[0]));
      const high = Math.max(...alike.map((a) => a.range[1]));
      return { ...chart, range: [low, high] };
    }),
  );
}

const axisOf = (chart: ChartSpec): string => chart.title.split(" ")[0] ?? "";

function rates(run: Run, filter: string, chosen: number, palette: Palette, several: boolean, own: Inks): ChartSpec {
  const rows = greatest(run, "connection", "error", matching(run, filter));
  if (chosen >= 0 && !rows.includes(chosen)) rows.push(chosen);
  const lines: Line[] = [];
  const granted = run.table("connection", "granted_bps");
  const fair = run.table("connection", "fair_bps");
  for (const [rank, row] of rows.entries()) {
    const label = run.header.connections.name[row] ?? "";
    const colour = lineColour(run, row, palette, several, own, rank);
    const width = row === chosen ? 3 : 1.5;
    if (fair) lines.push({ label: `${label}, fair`, colour, values: fair.row(row), width: 1, dashed: true });
    if (granted) lines.push({ label, colour, values: granted.row(row), width });
  }
  const count = run.header.connections.name.length;
  const which = rows.length < count ? `, ${rows.length} of ${count}: the farthest from fair` : "";
  const title = `rates granted, and fair ones dashed${which}`;
  return { title, lines, range: fromZero([granted, fair], lines), text: rateText, ofConnections: true };
}

function subflows(run: Run, chosen: number, variable: string, palette: Palette, own: Inks): ChartSpec {
  const table = run.table("subflow", variable);
  const lines = (run.subflowsOf[chosen] ?? []).map((row, rank) => ({
    label: run.header.subflows.name[row] ?? "",
    colour: seen(palette.lines[rank % palette.lines.length] ?? "", own),
    values: table?.row(row) ?? NOTHING,
  }));
  const title = `subflows of ${run.header.connections.name[chosen]}: ${variableName(variable)}`;
  return { title, lines: table ? lines : [], range: fromZero([table], lines), text: textOf(variable) };
}

function queues(run: Run, chosen: number, palette: Palette, own: Inks): ChartSpec {
  const table = run.table("link", "backlog_bytes");
  const all = run.header.links.name.map((_, link) => link);
  const links = chosen >= 0 ? [...linksOf(run, chosen)] : all;
  const rows = table ? greatest(run, "link", "backlog_bytes", links) : [];
  const lines = rows.map((row, rank) => ({
    label: run.header.links.name[row] ?? "",
    colour: seen(palette.lines[rank % palette.lines.length] ?? "", own),
    values: table?.row(row) ?? NOTHING,
  }));
  const title = chosen >= 0 ? "queues on its paths" : "queues, the longest ones";
  return { title, lines, range: fromZero([table], lines), text: sizeText };
}

const SPREAD = ["least", "10 %", "median", "90 %", "greatest"];

function errors(run: Run, palette: Palette, own: Inks): ChartSpec {
  const table = run.table("errors", "connection");
  const [inner, outer] = [palette.lines[0] ?? "", palette.lines[1] ?? ""].map((colour) => seen(colour, own));
  const lines = table
    ? SPREAD.map((label, row) => ({
        label,
        colour: (row === 0 || row === 4 ? outer : inner) ?? "",
        values: table.row(row),
        width: row === 2 ? 2 : 1,
      }))
    : [];
  const [low, high] = [lines[1]?.values ?? NOTHING, lines[3]?.values ?? NOTHING];
  const reach = 1.15 * Math.max(0.01, -quantile(low, PEAKS), quantile(high, 1 - PEAKS));
  const title = "errors of connections: median, 10 % and 90 %, extremes";
  return { title, lines, range: [-reach, reach], text: errorText };
}

/** From 0 to what all but the highest peaks keep below; what lasts a few samples only is cut. */
function fromZero(tables: (Table | undefined)[], lines: Line[]): [number, number] {
  const high = tables.some(Boolean) ? Math.max(0, ...lines.map((line) => quantile(line.values, 1 - PEAKS))) : 0;
  return [0, high > 0 ? 1.06 * high : 1];
}

/** The value that a share of those that are there stay below. */
function quantile(values: Float32Array, share: number): number {
  const there = values.filter((value) => !Number.isNaN(value)).sort();
  return there[Math.min(Math.floor(share * there.length), there.length - 1)] ?? 0;
}
