/** One chart as uPlot draws it: two rulers, lines, bands, a mark above what is cut. */

import uPlot from "uplot";

import type { Band, Line, Range } from "./chart_spec";
import type { Inks } from "./colours";
import type { End } from "./labels";
import { drawMarker, MARKER_SIZE } from "./markers";
import type { Unit } from "./scaled";
import { widthOfText } from "./text_width";
import { spanText } from "./units";

export interface Plotted {
  times: number[];
  lines: Line[];
  bands: Band[];
  range: Range;
  unit: Unit;
  own: Inks;
}

/** What a chart tells of what the reader does with it. */
export interface Told {
  onTime: (time_s: number) => void;
  onSpan: (span: Range | null) => void;
  onLine: (label: string | null) => void;
}

/** The room of a chart, in pixels: how high, and how much at the right for the names of lines. */
export interface Room {
  height: number;
  right: number;
}

const LEAST_WIDTH = 120;
/** Room at the right for half of the last label of the time: "1000000 s". */
export const LEAST_RIGHT = 24;
/** A drag over fewer pixels is a click. */
const LEAST_DRAG = 6;
const FONT = "11.5px system-ui, sans-serif";

export const widthOf = (element: HTMLElement): number => Math.max(element.clientWidth, LEAST_WIDTH);

/**
 * Options of a chart; `span` gives the part of the time that is shown, `told` to whom what is done goes.
 *
 * What is plotted is asked for at each drawing, so that a chart may get other values; its lines look as at first.
 */
export function optionsOf(
  plotted: () => Plotted,
  element: HTMLElement,
  room: Room,
  span: () => Range,
  told: () => Told,
  onDraw: (u: uPlot) => void,
): uPlot.Options {
  const { lines, bands, own } = plotted();
  return {
    width: widthOf(element),
    height: room.height,
    padding: [8, room.right, 0, 0],
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
    focus: { alpha: 0.25 },
    axes: [
      { ...ruled(own), grid: { show: false }, values: (_, ticks) => ticks.map(spanText), size: 24, space: 60 },
      {
        ...ruled(own),
        ticks: { show: false },
        values: (_, ticks) => ticks.map((tick) => plotted().unit.tick(tick)),
        size: (_, texts) => axisRoom(texts ?? [], (text) => widthOfText(text, FONT)),
        space: 28,
      },
    ],
    series: [{}, ...lines.map(seriesOf)],
    bands: bands.map(({ upper, lower, colour }) => ({ series: [upper + 1, lower + 1], fill: colour })),
    hooks: {
      draw: [
        (u) => {
          drawEnds(u, plotted().lines);
          drawPeaks(u, plotted().lines, plotted().range, own);
          onDraw(u);
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

/** The least room of the ruler of values: of "10". */
const LEAST_AXIS = 21;
/** Between a number and the plot, and between it and the edge of the chart. */
const BESIDE = 5;
const EDGE = 2;

/** How wide the ruler of values is, so that the longest of its numbers fits. */
export const axisRoom = (texts: string[], widthOfText: (text: string) => number): number =>
  Math.max(LEAST_AXIS, EDGE + BESIDE + Math.ceil(Math.max(0, ...texts.map(widthOfText))));

function ruled(own: Inks): uPlot.Axis {
  const rule = { stroke: own.line, width: 1 };
  return { stroke: own.soft, font: FONT, grid: rule, ticks: { ...rule, size: 4 }, gap: BESIDE };
}

function seriesOf(line: Line): uPlot.Series {
  const dash = line.dashed ? [4, 4] : line.pattern;
  return {
    label: line.label,
    stroke: line.colour,
    width: line.width ?? 1.75,
    // A single sample makes no line.
    points: { show: (u) => u.data[0].length === 1 },
    ...(dash ? { dash } : {}),
    ...(line.stepped && uPlot.paths.stepped ? { paths: uPlot.paths.stepped({ align: 1 }) } : {}),
  };
}

/** What is not there is a gap. */
export const dataOf = ({ times, lines }: Plotted): uPlot.AlignedData => [
  times,
  ...lines.map((line) => Array.from(line.values, (value) => (Number.isNaN(value) ? null : value))),
];

/** Where a line ends within the span that is shown, in pixels of the plot; nothing if it is not there. */
export function endOf(u: uPlot, number: number, line: Line): { x: number; y: number } | null {
  const last = u.series[0]?.idxs?.[1] ?? -1;
  const first = u.series[0]?.idxs?.[0] ?? 0;
  let sample = last;
  while (sample >= first && Number.isNaN(line.values[sample] ?? Number.NaN)) sample--;
  const value = line.values[sample];
  if (sample < first || value === undefined || u.data[number + 1]?.[sample] == null) return null;
  const top = u.scales.y?.max ?? value;
  return { x: u.valToPos(u.data[0][sample] as number, "x"), y: u.valToPos(Math.min(value, top), "y") };
}

/** The places where names of lines stand: right of the ends of their lines, in pixels of the whole chart. */
export function endsOf(u: uPlot, lines: Line[], widths: number[]): (End | null)[] {
  const [left, top] = [u.over.offsetLeft, u.over.offsetTop];
  const whole = u.root.clientWidth;
  return lines.map((line, number) => {
    const width = widths[number] as number;
    if (line.dashed || line.width === 0 || !width) return null;
    const end = endOf(u, number, line);
    return end && { x: Math.max(0, Math.min(left + end.x + GAP, whole - width)), y: top + end.y, width };
  });
}

/** Between the end of a line and its name there is this much room, for its marker. */
const GAP = 8;

/** Markers at the last samples that are seen. */
function drawEnds(u: uPlot, lines: Line[]): void {
  const ratio = uPlot.pxRatio;
  for (const [number, line] of lines.entries()) {
    if (!line.marker) continue;
    const end = endOf(u, number, line);
    if (!end) continue;
    const [x, y] = [u.bbox.left + ratio * end.x, u.bbox.top + ratio * end.y];
    drawMarker(u.ctx, { shape: line.marker, colour: line.colour, x, y, size: 0.8 * MARKER_SIZE * ratio });
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
