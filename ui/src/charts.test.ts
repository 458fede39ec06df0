import { expect, test } from "vitest";

import { type ChartSpec, cutText, fromZero, type Making } from "./chart_spec";
import { chartsOf, subflowChart, withCommonAxes } from "./charts";
import { inks, legible, lightness, lookOf, mixed, SHADES, seen, shadesOf } from "./colours";
import type { Header, Run, Table } from "./data";
import { comparedOf } from "./rival_charts";

const NO = Number.NaN;

/** A run of four samples: two connections over two links, the second of which changes. */
function run(tables: Record<string, number[][]>): Run {
  const header = {
    kind: "run",
    connections: { name: ["a", "b"], protocol: ["d-SLEN", "Reno"] },
    subflows: { name: ["a/1", "b/1"], connection: [0, 1], path: [[0], [0, 1]] },
    links: { name: ["x", "y"], capacity_bps: [10, 8], twin: [null, null] },
    protocols: { "d-SLEN": { colour: "#0072b2", marker: "square" }, Reno: { colour: "#d55e00", marker: "star" } },
  } as unknown as Header;
  const table = (of: string, name: string) => {
    const rows = tables[`${of} ${name}`]?.map((row) => new Float32Array(row));
    const at = (row: number, column: number) => rows?.[row]?.[column] ?? NO;
    return rows && ({ at, row: (row: number) => rows[row] } as unknown as Table);
  };
  const variables = (of: string) =>
    Object.keys(tables).flatMap((key) => (key.startsWith(`${of} `) ? [key.slice(of.length + 1)] : []));
  return {
    header,
    table,
    variables,
    times: [0, 1, 2, 3],
    subflowsOf: [[0], [1]],
    subflowsOver: [[0, 1], [1]],
  } as unknown as Run;
}

const TABLES = {
  "connection granted_bps": [
    [5, 5, 5, 5],
    [4, 4, 3, 3],
  ],
  "connection delivered_bps": [
    [5, 5, 5, 5],
    [4, 4, 4, 3],
  ],
  "connection fair_bps": [
    [5, 5, 5, 5],
    [4, 4, 3, 3],
  ],
  "subflow granted_bps": [
    [5, 5, 5, 5],
    [4, 4, 3, 3],
  ],
  "link carried_bps": [
    [9, 9, 8, 8],
    [4, 4, 3, 3],
  ],
  "link capacity_bps": [
    [10, 10, 10, 10],
    [8, 8, 3, 3],
  ],
  "link backlog_bytes": [
    [0, 0, 0, 0],
    [0, 100, 0, 0],
  ],
  "errors link": [[NO], [NO], [NO], [NO], [NO]],
};

const DRAWN = { connection: "granted_bps", subflow: "granted_bps", link: "backlog_bytes", run: "present" };

function charts(chosen: string | null, link: string | null, drawn = DRAWN, filter = "", more = false): ChartSpec[] {
  const palette = { lines: ["#111111", "#222222"], utilisation: [], utilisation_dark: [] };
  const shown = { chosen, link, filter, drawn, compared: null, more };
  return chartsOf({ run: run(TABLES), shown, palette, own: inks(false) } as Making);
}

/** What charts are made of, with other tables. */
function makingOf(tables: Record<string, number[][]>, compared: string[] | null = null): Making {
  const palette = { lines: ["#111111", "#222222"], utilisation: [], utilisation_dark: [] };
  const shown = { chosen: null, link: null, filter: "", drawn: DRAWN, compared, more: false };
  return { run: run(tables), shown, palette, own: inks(false) };
}

test("the fair rate is dashed beside what is drawn of a connection, and the end has the protocol's marker", () => {
  const [rates] = charts(null, null, { ...DRAWN, connection: "delivered_bps" });
  expect(rates?.lines.map((line) => [line.label, line.dashed ?? false, line.marker])).toEqual([
    ["a, fair", true, undefined],
    ["a", false, "square"],
    ["b, fair", true, undefined],
    ["b", false, "star"],
  ]);
  expect(rates?.column).toBe("delivered_bps");
  expect([...(rates?.lines[3]?.values ?? [])]).toEqual([4, 4, 4, 3]);
});

test("the chart of rates says what the filter leaves", () => {
  const rates = (filter: string, chosen: string | null = null) => charts(chosen, null, DRAWN, filter)[0];
  expect(rates("")).toMatchObject({ title: "Rates", note: "dashed: fair rate" });
  expect(rates("d-slen")?.note).toBe("1 of 2 by the filter; dashed: fair rate");
  expect(rates("d-slen", "b")?.note).toBe("1 of 2 by the filter; and the chosen one; dashed: fair rate");
  expect(rates("zzz")).toMatchObject({ lines: [], empty: "no connection has `zzz` in its name or protocol" });
});

test("the line of a connection ends where it leaves", () => {
  const left = {
    ...TABLES,
    "connection granted_bps": [[5, 5, 0, 0], TABLES["connection granted_bps"][1] as number[]],
    "connection fair_bps": [[5, 5, NO, NO], TABLES["connection fair_bps"][1] as number[]],
  };
  const [rates] = chartsOf(makingOf(left));
  expect([...(rates?.lines[1]?.values ?? [])]).toEqual([5, 5, NO, NO]);
});

test("a link whose capacity changes is drawn below its capacity, without being chosen", () => {
  const load = charts(null, null).find((chart) => chart.kind === "load");
  expect(load?.lines.map((line) => line.label)).toEqual(["y, capacity", "y"]);
  expect(load?.lines[0]).toMatchObject({ dashed: true, stepped: true });
});

test("a chosen link has its load, its queue and the connections that cross it", () => {
  const [rates, queue, load, ...others] = charts(null, "y");
  expect(rates?.lines.map((line) => line.label)).toEqual(["b, fair", "b"]);
  expect(load?.title).toBe("Load of y");
  expect(queue?.lines.map((line) => line.label)).toEqual(["y"]);
  expect(others).toEqual([]);
});

test("a chosen connection has its subflows, and the queues on its paths", () => {
  const subflows = subflowChart(makingOf(TABLES), 1);
  expect(subflows).toMatchObject({ title: "Subflows of b", column: "granted_bps" });
  expect(subflows.lines.map((line) => [line.label, ...line.values])).toEqual([["b/1", 4, 4, 3, 3]]);
  expect(charts("b", null)[1]?.lines.map((line) => line.label)).toEqual(["y"]);
});

test("queues leave out links at which nothing waits", () => {
  expect(charts(null, null)[1]?.lines.map((line) => line.label)).toEqual(["y"]);
});

test("the first connections with a window are compared until the reader chooses", () => {
  const making = makingOf({
    ...TABLES,
    "subflow window_bytes": [
      [NO, NO, NO, NO],
      [2, 2, 2, 2],
    ],
  });
  expect(comparedOf(making.run, null, -1, "")).toEqual([1]);
  expect(comparedOf(making.run, ["a"], -1, "")).toEqual([0]);
});

test("windows of rivals stand in one chart, and paths of one connection differ in their dashes", () => {
  const windows = {
    ...TABLES,
    "subflow window_bytes": [
      [1, 2, 3, 4],
      [2, 2, 2, 2],
      [5, 5, 5, 5],
    ],
  };
  const making = makingOf(windows);
  Object.assign(making.run.header.subflows, {
    name: ["a/1", "a/2", "b/1"],
    connection: [0, 0, 1],
    path: [[0], [1], [0, 1]],
  });
  making.run.subflowsOf.splice(0, 2, [0, 1], [2]);
  const chart = chartsOf(making).find(({ kind }) => kind === "window_bytes");
  expect(chart?.lines.map((line) => [line.label, line.name, line.pattern])).toEqual([
    ["a/1", "a, x", undefined],
    ["a/2", "a, y", [9, 3]],
    ["b/1", "b", undefined],
  ]);
  const some = chartsOf({ ...making, shown: { ...making.shown, compared: ["b"] } });
  expect(some.find(({ kind }) => kind === "window_bytes")?.lines.map((line) => line.label)).toEqual(["b/1"]);
  const none = chartsOf({ ...making, shown: { ...making.shown, compared: [] } });
  expect(none.find(({ kind }) => kind === "window_bytes")).toMatchObject({
    lines: [],
    empty: "choose connections to compare",
  });
});

test("errors of few connections are shown on request, and their bands lie around the median", () => {
  const kinds = (more: boolean) => charts(null, null, DRAWN, "", more).map((chart) => chart.kind);
  expect(kinds(false)).toEqual(["rates", "queues backlog_bytes", "load"]);
  expect(kinds(true)).toEqual(["rates", "queues backlog_bytes", "load", "errors connection", "errors link"]);
  const links = charts(null, null, DRAWN, "", true).at(-1);
  expect(links?.lines.map((line) => line.label)).toEqual([
    "least",
    "10th percentile",
    "median",
    "90th percentile",
    "greatest",
  ]);
  expect(links?.bands?.map(({ upper, lower }) => [upper, lower])).toEqual([
    [4, 0],
    [3, 1],
  ]);
});

test("rare peaks are cut from the axis, and known", () => {
  const values = new Float32Array(1000).fill(1);
  values[7] = 10;
  const line = { label: "a", colour: "", values };
  // One of a thousand is beyond; the rest is at 1.
  expect(fromZero([line])).toEqual({ range: [0, 1.06], whole: [0, 1.06 * 10], peaks: [0, 10] });
  expect(fromZero([{ ...line, values: new Float32Array([1, 1.2]) }]).range[1]).toBeCloseTo(1.06 * 1.2);
  expect(fromZero([])).toEqual({ range: [0, 1], whole: [0, 1], peaks: [0, 0] });
});

test("what is said of a cut peak is the peak itself, where the run's own lines have it", () => {
  const text = (value: number | null | undefined) => `${value}`;
  expect(cutText({ range: [0, 1.06], peaks: [0, 10], text })).toBe("peaks to 10 are cut");
  expect(cutText({ range: [-1, 1], peaks: [-4, 1], text })).toBe("peaks to -4 are cut");
  expect(cutText({ range: [-1, 1], peaks: [-4, 9], text })).toBe("peaks to -4 and 9 are cut");
  const high = { range: [0, 1.06], whole: [0, 10.6], peaks: [0, 10], kind: "rates", text } as unknown as ChartSpec;
  const low = { ...high, whole: [0, 1.06], peaks: [0, 1] } as ChartSpec;
  const [[one], [two]] = withCommonAxes([[high], [low]]) as [[ChartSpec], [ChartSpec]];
  // The axis of both leaves out the peak of the first; the second has none.
  expect([cutText(one), cutText(two)]).toEqual(["peaks to 10 are cut", null]);
});

test("charts of one kind have one axis in all runs", () => {
  const chart = (kind: string, high: number) =>
    ({ kind, text: String, range: [0, high], whole: [0, 2 * high] }) as unknown as ChartSpec;
  const [one, two] = withCommonAxes([[chart("rates", 5), chart("load", 1)], [chart("rates", 7)]]);
  expect(one?.map((c) => [c.range, c.whole])).toEqual([
    [
      [0, 7],
      [0, 14],
    ],
    [
      [0, 1],
      [0, 2],
    ],
  ]);
  expect(two?.[0]?.range).toEqual([0, 7]);
});

test("connections have shades of their protocol's colour, the first one the colour itself", () => {
  const own = inks(false);
  expect(mixed("#000000", "#ff8040", 0.5)).toBe("#804020");
  expect(lookOf(run({}), 0, own, 0).colour).toBe("#0072b2");
  // A fifth of the way to the ink of dark paper, #e8ecf0.
  expect(seen("#0072b2", inks(true))).toBe("#2e8abe");
  expect(seen("#1b2430", inks(true))).toBe("#e8ecf0");
  // Each connection is the first of its protocol.
  const rates = charts(null, null)[0]?.lines.filter((line) => !line.dashed);
  expect(rates?.map((line) => line.colour)).toEqual(["#0072b2", "#d55e00"]);
});

test("no line is lost on its paper", () => {
  for (const own of [inks(false), inks(true)]) {
    for (const colour of ["#3a2a00", "#002b2b", "#0072b2", "#ffe8a0", own.paper]) {
      expect(Math.abs(lightness(legible(colour, own)) - lightness(own.paper))).toBeGreaterThanOrEqual(0.3);
    }
    expect(legible("#d55e00", own)).toBe(seen("#d55e00", own));
  }
});

test("the shades of a colour can be told apart, and from paper", () => {
  const colours = ["#0072b2", "#d55e00", "#009e73", "#cc79a7", "#e69f00", "#56b4e9", "#1b2430"];
  for (const own of [inks(false), inks(true)]) {
    for (const colour of colours) {
      const shades = shadesOf(seen(colour, own), own).map((shade) => ({ ...shade, light: lightness(shade.colour) }));
      const order = [...shades, { width: 0, light: lightness(own.paper) }].sort((a, b) => a.light - b.light);
      expect(order.length).toBe(SHADES + 1);
      for (const [i, { light, width }] of order.slice(1).entries()) {
        // An eye tells apart, side by side, what differs by 0.02 of this; lines of like shades differ in width too.
        expect(light - (order[i]?.light ?? 1)).toBeGreaterThan(0.05);
        expect(width).not.toBe(order[i]?.width);
      }
    }
  }
});
