/** Which charts a run has, as lines; views draw them. */

import {
  type ChartSpec,
  fromZero,
  HIGHER,
  type Line,
  type Making,
  NOTHING,
  PEAKS,
  quantile,
  type Range,
  variableName,
} from "./chart_spec";
import { lookOf, seen } from "./colours";
import { capacities, loadOf, queues } from "./link_charts";
import { greatest, MOST_LINES, matching, ratesOver, unmatched } from "./selection";
import { errorText, rateText, textOf } from "./units";

/** The charts of a run: rates, subflows of the chosen connection, queues, errors, what is of the whole run. */
export function chartsOf(making: Making): ChartSpec[] {
  const { run, shown } = making;
  if (run.header.kind === "allocation") return [];
  const chosen = run.header.connections.name.indexOf(shown.chosen ?? "");
  const link = run.header.links.name.indexOf(shown.link ?? "");
  const isEmpty = !run.header.connections.name.length;
  const charts = isEmpty ? [] : [rates(making, chosen, link)];
  if (chosen >= 0) charts.push(subflows(making, chosen));
  if (link >= 0) charts.push(loadOf(making, link));
  else charts.push(...capacities(making));
  charts.push(queues(making, chosen, link));
  if (!isEmpty) charts.push(errors(making, "connection"));
  if (run.table("errors", "link")) charts.push(errors(making, "link"));
  return [...charts, ...ofRun(making)];
}

/** The same charts with the axes that they have in all runs, so that these can be compared. */
export function withCommonAxes(runs: ChartSpec[][]): ChartSpec[][] {
  return runs.map((own) =>
    own.map((chart) => {
      const alike = runs.flatMap((other) => other.filter((o) => o.kind === chart.kind && o.text === chart.text));
      return { ...chart, range: span(alike.map((a) => a.range)), whole: span(alike.map((a) => a.whole)) };
    }),
  );
}

const span = (ranges: Range[]): Range => [
  Math.min(...ranges.map(([low]) => low)),
  Math.max(...ranges.map(([, high]) => high)),
];

/** The rows that the chart of rates has: those farthest from fair, or those that send the most over the chosen link. */
function shownRows({ run, shown }: Making, chosen: number, link: number): { rows: number[]; which: string } {
  const count = run.header.connections.name.length;
  if (link >= 0) {
    const over = ratesOver(run, link, run.times.length - 1).map(({ connection }) => connection);
    const rows = greatest(run, "connection", "granted_bps", over);
    return { rows, which: ` of connections over ${run.header.links.name[link]}${part(rows, over.length)}` };
  }
  const left = matching(run, shown.filter);
  const rows = greatest(run, "connection", "error", left);
  const byFilter = left.length < count ? " by the filter" : "";
  const order = run.table("connection", "error") ? "the farthest from fair" : "the first ones";
  const some = rows.length < left.length ? `, ${rows.length} of ${left.length}${byFilter}: ${order}` : "";
  const isAdded = chosen >= 0 && !rows.includes(chosen);
  const all = byFilter ? `${part(rows, count)}${byFilter}` : "";
  const which = `${some || all}${isAdded ? ", and the chosen one" : ""}`;
  return { rows: isAdded ? [...rows, chosen] : rows, which };
}

const part = (rows: number[], count: number): string => (rows.length < count ? `, ${rows.length} of ${count}` : "");

/** How wide the line of the chosen connection is. */
const CHOSEN = 4;
const RATES = ["granted_bps", "delivered_bps"];

function rates(making: Making, chosen: number, link: number): ChartSpec {
  const { run, shown, own } = making;
  const { connections, protocols } = run.header;
  const { rows, which } = shownRows(making, chosen, link);
  const variables = run.variables("connection").filter((name) => RATES.includes(name));
  const variable = variables.includes(shown.drawn.connection) ? shown.drawn.connection : (variables[0] ?? "");
  const table = run.table("connection", variable);
  const fair = run.table("connection", "fair_bps");
  const lines: Line[] = [];
  // Of few connections each keeps its colour, whatever is chosen.
  const ranked = connections.name.length > MOST_LINES ? rows : connections.name.map((_, row) => row);
  const ranks = ranksOf(ranked, connections.protocol);
  for (const row of rows) {
    const label = connections.name[row] ?? "";
    const { colour, width } = lookOf(run, row, own, ranks.get(row));
    const marker = protocols[connections.protocol[row] ?? ""]?.marker ?? "circle";
    if (fair) {
      lines.push({ label: `${label}, fair`, colour, values: fair.row(row), width: 1, dashed: true, stepped: true });
    }
    if (table) lines.push({ label, colour, values: table.row(row), width: row === chosen ? CHOSEN : width, marker });
  }
  return {
    kind: "rates",
    title: `rates${which}${fair ? "; fair ones dashed" : ""}`,
    axis: variableName(variable),
    lines,
    ...fromZero(lines),
    text: rateText,
    of: "connections",
    ...(rows.length || link >= 0 ? {} : { empty: unmatched(shown.filter) }),
    choice: { of: "connection", label: "of connections", options: variables, value: variable },
  };
}

/** The rank of each row among those of its protocol. */
function ranksOf(rows: number[], protocol: string[]): Map<number, number> {
  const counts = new Map<string, number>();
  return new Map(
    rows.map((row) => {
      const own = protocol[row] ?? "";
      const rank = counts.get(own) ?? 0;
      counts.set(own, rank + 1);
      return [row, rank];
    }),
  );
}

function subflows({ run, shown, palette, own }: Making, chosen: number): ChartSpec {
  const options = run.variables("subflow");
  const variable = options.includes(shown.drawn.subflow) ? shown.drawn.subflow : (options[0] ?? "granted_bps");
  const table = run.table("subflow", variable);
  const lines = (run.subflowsOf[chosen] ?? []).map((row, rank) => ({
    label: run.header.subflows.name[row] ?? "",
    colour: seen(palette.lines[rank % palette.lines.length] ?? "", own),
    values: table?.row(row) ?? NOTHING,
  }));
  return {
    kind: `subflows ${variable}`,
    title: `subflows of ${run.header.connections.name[chosen]}`,
    axis: variableName(variable),
    lines: table ? lines : [],
    ...fromZero(lines),
    text: textOf(variable),
    choice: { of: "subflow", label: "of subflows", options, value: variable },
  };
}

/** How errors are spread: each line with the key that it shares, and its width. */
const SPREAD = [
  { label: "least", key: "least and greatest", width: 1 },
  { label: "10 %", key: "10 % and 90 %", width: 1 },
  { label: "median", key: "median", width: 3 },
  { label: "90 %", key: "10 % and 90 %", width: 1 },
  { label: "greatest", key: "least and greatest", width: 1 },
];

/** How errors are spread: of connections, or of the links that are bottlenecks under fair rates. */
function errors({ run, palette, own }: Making, of: "connection" | "link"): ChartSpec {
  const table = run.table("errors", of);
  const [inner, outer] = [palette.lines[0] ?? "", palette.lines[1] ?? ""].map((colour) => seen(colour, own));
  const lines = table
    ? SPREAD.map((look, row) => ({
        ...look,
        colour: (row === 0 || row === 4 ? outer : inner) ?? "",
        values: table.row(row),
      }))
    : [];
  const [least, most] = [lines[0]?.values ?? NOTHING, lines[4]?.values ?? NOTHING];
  const peaks: Range = [quantile(least, 0), quantile(most, 1)];
  const reach = HIGHER * Math.max(0.01, -quantile(least, PEAKS), quantile(most, 1 - PEAKS));
  const all = Math.max(reach, -HIGHER * peaks[0], HIGHER * peaks[1]);
  const whose = of === "connection" ? "connections that are granted a rate" : "bottlenecks";
  return {
    kind: `errors ${of}`,
    title: `errors of ${whose}: median, 10th and 90th percentile, extremes`,
    axis: "error",
    lines,
    range: [-reach, reach],
    whole: [-all, all],
    peaks,
    text: errorText,
  };
}

/** What was recorded of the whole run: how many connections are there, how far all is from fair. */
function ofRun({ run, shown, palette, own }: Making): ChartSpec[] {
  const options = run.variables("run");
  const variable = options.includes(shown.drawn.run) ? shown.drawn.run : options[0];
  const values = variable && run.table("run", variable)?.row(0);
  if (!variable || !values) return [];
  const lines = [{ label: variableName(variable), colour: seen(palette.lines[0] ?? "", own), values, stepped: true }];
  return [
    {
      kind: `run ${variable}`,
      title: "the whole run",
      axis: variableName(variable),
      lines,
      ...fromZero(lines),
      text: textOf(variable),
      choice: { of: "run", label: "of the run", options, value: variable },
    },
  ];
}
