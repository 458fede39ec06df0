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
import { type Shade, seen } from "./colours";
import { countedRate, distancesOf, hasDistances } from "./distance";
import { capacities, loadOf, queues } from "./link_charts";
import { looksOf } from "./looks";
import { rivals, wayName } from "./rival_charts";
import { greatest, greatestBy, MOST_LINES, matching, ratesOver, unmatched } from "./selection";
import type { TermName } from "./terms";
import { errorText, rateText, textOf } from "./units";

/** The charts of a run, those that most readers want first: rates, then queues, windows, loads, and how far from fair. */
export function chartsOf(making: Making): ChartSpec[] {
  const { run, shown } = making;
  if (run.header.kind === "allocation") return [];
  const chosen = run.header.connections.name.indexOf(shown.chosen ?? "");
  const link = run.header.links.name.indexOf(shown.link ?? "");
  const isEmpty = !run.header.connections.name.length;
  const charts = isEmpty ? [] : [rates(making, chosen, link)];
  charts.push(queues(making, chosen, link), ...rivals(making, chosen));
  if (link >= 0) charts.push(loadOf(making, link));
  else charts.push(...capacities(making));
  // Of few connections the rates themselves say how far from fair they are.
  const isMany = run.header.connections.name.length > MOST_LINES;
  if (!isEmpty && (isMany || shown.more)) charts.push(errors(making, "connection"));
  if (!shown.more) return charts;
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
function shownRows({ run, shown }: Making, chosen: number, link: number): { rows: number[]; which: string[] } {
  const count = run.header.connections.name.length;
  if (link >= 0) {
    const over = ratesOver(run, link, run.times.length - 1).map(({ connection }) => connection);
    const rows = greatest(run, "connection", "granted_bps", over);
    return { rows, which: [...part(rows, over.length), `those over ${run.header.links.name[link]}`] };
  }
  const left = matching(run, shown.filter);
  const isKnown = hasDistances(run);
  const rows = isKnown ? greatestBy(left, (row) => distancesOf(run, row)) : left.slice(0, MOST_LINES);
  const byFilter = left.length < count ? " by the filter" : "";
  const order = isKnown ? "the farthest from fair" : "the first ones";
  const isAdded = chosen >= 0 && !rows.includes(chosen);
  const some = rows.length < left.length ? [`${rows.length} of ${left.length}${byFilter}: ${order}`] : [];
  const all = byFilter && !some.length ? [`${rows.length} of ${count}${byFilter}`] : [];
  return {
    rows: isAdded ? [...rows, chosen] : rows,
    which: [...some, ...all, ...(isAdded ? ["and the chosen one"] : [])],
  };
}

const part = (rows: number[], count: number): string[] => (rows.length < count ? [`${rows.length} of ${count}`] : []);

const RATES = ["granted_bps", "delivered_bps"];

/** How wide the line of the chosen connection is. */
const CHOSEN = 2.8;

function rates(making: Making, chosen: number, link: number): ChartSpec {
  const { run, shown } = making;
  const { connections, protocols } = run.header;
  const { rows, which } = shownRows(making, chosen, link);
  const variables = run.variables("connection").filter((name) => RATES.includes(name));
  const variable = variables.includes(shown.drawn.connection) ? shown.drawn.connection : (variables[0] ?? "");
  const table = run.table("connection", variable);
  const fair = run.table("connection", "fair_bps");
  const looks = looksOf(making, rows);
  const lines: Line[] = [];
  for (const row of rows) {
    const label = connections.name[row] ?? "";
    const { colour, width } = looks.get(row) as Shade;
    const marker = protocols[connections.protocol[row] ?? ""]?.marker ?? "circle";
    if (fair) {
      lines.push({ label: `${label}, fair`, colour, values: fair.row(row), width: 1, dashed: true, stepped: true });
    }
    if (!table) continue;
    const values = fair ? whileThere(table.row(row), fair.row(row)) : table.row(row);
    lines.push({ label, colour, values, width: row === chosen ? CHOSEN : width, marker });
  }
  return {
    kind: "rates",
    title: link >= 0 ? `Rates over ${run.header.links.name[link]}` : "Rates",
    note: [...which, ...(fair ? ["dashed: fair rate"] : [])].join("; "),
    term: variable === "delivered_bps" ? "throughput" : "grant",
    column: variable || "granted_bps",
    lines,
    ...fromZero(lines),
    text: rateText,
    of: "connections",
    ...(rows.length || link >= 0 ? {} : { empty: unmatched(shown.filter) }),
    choice: { of: "connection", label: "of connections", options: variables, value: variable },
  };
}

/** Rates without the zeros of the time when a connection is not there, so that its line ends where it leaves. */
function whileThere(rates: Float32Array, fair: Float32Array): Float32Array {
  return rates.map((rate, i) => (rate === 0 && Number.isNaN(fair[i]) ? Number.NaN : rate));
}

/** The subflows of a connection, in colours of their own. */
export function subflowChart({ run, shown, palette, own }: Making, connection: number): ChartSpec {
  const options = run.variables("subflow");
  const variable = options.includes(shown.drawn.subflow) ? shown.drawn.subflow : (options[0] ?? "granted_bps");
  const table = run.table("subflow", variable);
  const lines = (run.subflowsOf[connection] ?? []).map((row, rank) => ({
    label: run.header.subflows.name[row] ?? "",
    name: wayName(run, row),
    colour: seen(palette.lines[rank % palette.lines.length] ?? "", own),
    values: table?.row(row) ?? NOTHING,
  }));
  return {
    kind: `subflows ${variable}`,
    title: `Subflows of ${run.header.connections.name[connection]}`,
    note: "",
    term: "subflow",
    column: variable,
    lines: table ? lines : [],
    ...fromZero(lines),
    text: textOf(variable),
    choice: { of: "subflow", label: "of subflows", options, value: variable },
  };
}

/** How errors are spread: the names of the lines. */
const SPREAD = ["least", "10th percentile", "median", "90th percentile", "greatest"];
const MEDIAN = 2;

/** How errors are spread: of connections, or of the links that are bottlenecks under fair rates. */
function errors({ run, palette, own }: Making, of: "connection" | "link"): ChartSpec {
  const table = run.table("errors", of);
  const colour = seen(palette.lines[of === "connection" ? 0 : 1] ?? "", own);
  const lines = table
    ? SPREAD.map((label, row) => ({ label, colour, values: table.row(row), width: row === MEDIAN ? 2 : 0 }))
    : [];
  const isGranted = of === "connection" && countedRate(run) === "granted_bps";
  const [least, most] = [lines[0]?.values ?? NOTHING, lines[4]?.values ?? NOTHING];
  const peaks: Range = [quantile(least, 0), quantile(most, 1)];
  const reach = HIGHER * Math.max(0.01, -quantile(least, PEAKS), quantile(most, 1 - PEAKS));
  const all = Math.max(reach, -HIGHER * peaks[0], HIGHER * peaks[1]);
  return {
    kind: `errors ${of}`,
    title: of === "connection" ? "Distance from fair" : "Distance of bottlenecks from full",
    note: `median; dark: 10th to 90th percentile; light: all${isGranted ? " that are granted a rate" : ""}`,
    term: of === "connection" ? "distance" : "error",
    column: "error",
    lines,
    bands: lines.length
      ? [
          { upper: 4, lower: 0, colour: `${colour}22` },
          { upper: 3, lower: 1, colour: `${colour}55` },
        ]
      : [],
    range: [-reach, reach],
    whole: [-all, all],
    peaks,
    text: errorText,
  };
}

const TERM_OF: Record<string, TermName> = { present: "present", residual: "residual", overload: "overload" };

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
      title: "The whole run",
      note: "",
      ...(variable in TERM_OF ? { term: TERM_OF[variable] as TermName } : {}),
      column: variable,
      lines,
      ...fromZero(lines),
      text: textOf(variable),
      choice: { of: "run", label: "of the run", options, value: variable },
    },
  ];
}
