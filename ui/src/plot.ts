/** One chart as uPlot draws it: axes with units, lines, markers at their ends, a mark above what is cut. */

import uPlot from "uplot";

import type { Line, Range } from "./chart_spec";
import type { Inks } from "./colours";
import { drawMarker, MARKER_SIZE } from "./markers";
import { spanText } from "./units";

export interface Plotted {
  times: number[];
  lines: Line[];
  range: Range;
  /** The name of the axis. */
  axis: string;
  text: (value: number | null | undefined) => string;
  own: Inks;
}

/** What a chart tells of what the reader does with it. */
export interface Told {
  onTime: (time_s: number) => void;
  onSpan: (span: Range | null) => void;
  onLine: (label: string | null) => void;
}

export const HEIGHT = 170;
const LEAST_WIDTH = 120;
/** Room at the right for half of the last label of the time: "1000000 s". */
const RIGHT = 28;
/** A drag over fewer pixels is a click. */
const LEAST_DRAG = 6;

export const widthOf = (element: HTMLElement): number => Math.max(element.clientWidth, LEAST_WIDTH);

/**
 * Options of a chart; `span` gives the part of the time that is shown, `told` to whom what is done goes.
 *
 * What is plotted is asked for at each drawing, so that a chart may get other values; its lines look as at first.
 */
export function optionsOf(
  plotted: () => Plotted,
  element: HTMLElement,
  span: () => Range,
  told: () => Told,
): uPlot.Options {
  const { lines, axis, own } = plotted();
  return {
    width: widthOf(element),
    height: HEIGHT,
    padding: [8, RIGHT, null, null],
    legend: { show: false },
    scales: { x: { time: false, range: span }, y: { range: () => plotted().range } },
    cursor: {
      sync: { key: "time", setSeries: false },
      focus: { prox: 12 },
      drag: { x: true, y: false, setScale: false },
      bind: {
        dblclick: () => () => {
          told().onSpan(null);
          return null;
        },
      },
      points: { size: 5 },
    },
    focus: { alpha: 0.35 },
    axes: [
      { ...ruled(own), values: (_, ticks) => ticks.map(spanText), size: 26, label: "time", labelSize: 14 },
      {
        ...ruled(own),
        values: (_, ticks) => ticks.map((tick) => plotted().text(tick)),
        size: 76,
        label: axis,
        labelSize: 16,
      },
    ],
    series: [{}, ...lines.map(seriesOf)],
    hooks: {
      draw: [
        (u) => {
          drawEnds(u, plotted().lines);
          drawPeaks(u, plotted().lines, plotted().range, own);
        },
      ],
      ready: [
        (u) => {
          u.over.addEventListener("click", () => {
            if (u.cursor.left != null && u.cursor.left >= 0) told().onTime(u.posToVal(u.cursor.left, "x"));
          });
        },
      ],
      setSelect: [
        (u) => {
          const { left, width } = u.select;
          if (width >= LEAST_DRAG) told().onSpan([u.posToVal(left, "x"), u.posToVal(left + width, "x")]);
          if (width > 0) u.setSelect({ left: 0, width: 0, top: 0, height: 0 }, false);
        },
      ],
      setSeries: [(_, index) => told().onLine(index == null ? null : (lines[index - 1]?.label ?? null))],
    },
  };
}

function ruled(own: Inks): uPlot.Axis {
  const rule = { stroke: own.line, width: 1 };
  const font = "11px system-ui, sans-serif";
  return { stroke: own.soft, font, labelFont: font, labelGap: 0, grid: rule, ticks: { ...rule, size: 4 }, gap: 4 };
}

function seriesOf(line: Line): uPlot.Series {
  return {
    label: line.label,
    stroke: line.colour,
    width: line.width ?? 1.5,
    // A single sample makes no line.
    points: { show: (u) => u.data[0].length === 1 },
    ...(line.dashed ? { dash: [5, 4] } : {}),
    ...(line.stepped && uPlot.paths.stepped ? { paths: uPlot.paths.stepped({ align: 1 }) } : {}),
  };
}

/** What is not there is a gap. */
export const dataOf = ({ times, lines }: Plotted): uPlot.AlignedData => [
  times,
  ...lines.map((line) => Array.from(line.values, (value) => (Number.isNaN(value) ? null : value))),
];

/** Markers at the last samples that are seen. */
function drawEnds(u: uPlot, lines: Line[]): void {
  const last = u.series[0]?.idxs?.[1] ?? -1;
  const first = u.series[0]?.idxs?.[0] ?? 0;
  for (const [number, line] of lines.entries()) {
    if (!line.marker) continue;
    let sample = last;
    while (sample >= first && u.data[number + 1]?.[sample] == null) sample--;
    const value = u.data[number + 1]?.[sample];
    if (sample < first || value == null || value > (u.scales.y?.max ?? 0)) continue;
    const [x, y] = [u.valToPos(u.data[0][sample] as number, "x", true), u.valToPos(value, "y", true)];
    drawMarker(u.ctx, { shape: line.marker, colour: line.colour, x, y, size: 0.9 * MARKER_SIZE * uPlot.pxRatio });
  }
}

/** A small triangle at the edge where lines go on beyond the axis. */
function drawPeaks(u: uPlot, lines: Line[], [low, high]: Range, own: Inks): void {
  const size = 4 * uPlot.pxRatio;
  const { left, top, height } = u.bbox;
  const [from, to] = u.series[0]?.idxs ?? [0, -1];
  const drawn = new Set<number>();
  u.ctx.fillStyle = own.ink;
  for (const line of lines) {
    for (let sample = from; sample <= to; sample++) {
      const value = line.values[sample] as number;
      if (!(value > high || value < low)) continue;
      const x = Math.round(u.valToPos(u.data[0][sample] as number, "x", true) / size);
      const key = value > high ? x : -x - 1;
      if (x * size < left || drawn.has(key)) continue;
      drawn.add(key);
      const [tip, base] = value > high ? [top, top + 1.5 * size] : [top + height, top + height - 1.5 * size];
      u.ctx.beginPath();
      u.ctx.moveTo(x * size, tip);
      u.ctx.lineTo(x * size - size, base);
      u.ctx.lineTo(x * size + size, base);
      u.ctx.fill();
    }
  }
}
