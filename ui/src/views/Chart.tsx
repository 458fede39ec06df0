/** One chart over time; all charts of the page share a cursor, and each marks the present. */

import { useEffect, useRef } from "preact/hooks";
import uPlot from "uplot";

import type { Inks } from "../colours";
import { spanText } from "../units";

export interface Line {
  label: string;
  colour: string;
  values: Float32Array;
  width?: number;
  dashed?: boolean;
}

interface Props {
  title: string;
  times: number[];
  lines: Line[];
  /** Least and greatest of the axis. */
  range: [number, number];
  text: (value: number | null | undefined) => string;
  time_s: number;
  sample: number;
  onTime: (time_s: number) => void;
  /** A line is pointed at, or none. */
  onLine?: (label: string | null) => void;
  /** A line is chosen by its key. */
  onChoose?: (label: string) => void;
  own: Inks;
}

const HEIGHT = 150;

export function Chart(props: Props) {
  const { title, times, lines, range, text, time_s, onTime, onLine, own } = props;
  const place = useRef<HTMLDivElement>(null);
  const chart = useRef<uPlot | null>(null);
  const present = useRef<HTMLDivElement | null>(null);
  const now = useRef(time_s);
  now.current = time_s;
  const what = lines.map((l) => `${l.label} ${l.colour} ${l.width} ${l.dashed}`).join("\n");
  const [low, high] = range;

  useEffect(() => {
    const element = place.current;
    if (!element || !lines.length) return;
    const mark = document.createElement("div");
    mark.className = "present";
    present.current = mark;
    const options: uPlot.Options = {
      width: Math.max(element.clientWidth, 120),
      height: HEIGHT,
      legend: { show: false },
      scales: { x: { time: false, range: bounds(times) }, y: { range: [low, high] } },
      cursor: {
        sync: { key: "time", setSeries: false },
        focus: { prox: 12 },
        drag: { x: false, y: false },
        points: { size: 5 },
      },
      focus: { alpha: 0.35 },
      axes: [
        { ...axis(own), values: (_, ticks) => ticks.map(spanText), size: 28 },
        { ...axis(own), values: (_, ticks) => ticks.map((tick) => text(tick)), size: 78 },
      ],
      series: [{}, ...lines.map((line) => drawn(line))],
      hooks: {
        ready: [
          (u) => {
            u.over.appendChild(mark);
            moveTo(u, mark, now.current);
            u.over.addEventListener("click", () => {
              if (u.cursor.left != null && u.cursor.left >= 0) onTime(u.posToVal(u.cursor.left, "x"));
            });
          },
        ],
        setSeries: [(_, index) => onLine?.(index == null ? null : (lines[index - 1]?.label ?? null))],
      },
    };
    const made = new uPlot(options, [times, ...lines.map((line) => gaps(line.values))], element);
    chart.current = made;
    const watch = new ResizeObserver(() => {
      made.setSize({ width: Math.max(element.clientWidth, 120), height: HEIGHT });
      moveTo(made, mark, now.current);
    });
    watch.observe(element);
    return () => {
      watch.disconnect();
      made.destroy();
      chart.current = null;
    };
  }, [what, times, low, high, own]);

  useEffect(() => {
    if (chart.current && present.current) moveTo(chart.current, present.current, time_s);
  }, [time_s]);

  return (
    <figure class="chart">
      <figcaption>{title}</figcaption>
      {lines.length ? <div ref={place} /> : <p class="empty">nothing of this was recorded</p>}
      <Keys {...props} />
    </figure>
  );
}

/** What the lines are, and their values at the instant. */
function Keys({ lines, sample, text, onLine, onChoose }: Props) {
  return (
    <ul class="keys">
      {lines
        .filter((line) => !line.dashed)
        .map((line) => {
          const swatch = <span class="swatch" style={{ background: line.colour }} />;
          const value = <span class="value">{text(line.values[sample])}</span>;
          if (!onChoose) {
            return (
              <li key={line.label}>
                {swatch} {line.label} {value}
              </li>
            );
          }
          return (
            <li key={line.label} onMouseEnter={() => onLine?.(line.label)} onMouseLeave={() => onLine?.(null)}>
              <button type="button" onClick={() => onChoose(line.label)}>
                {swatch} {line.label} {value}
              </button>
            </li>
          );
        })}
    </ul>
  );
}

function bounds(times: number[]): [number, number] {
  const [first, last] = [times[0] ?? 0, times[times.length - 1] ?? 1];
  return [first, last > first ? last : first + 1];
}

function axis(own: Inks): uPlot.Axis {
  const rule = { stroke: own.line, width: 1 };
  return { stroke: own.soft, font: "11px system-ui, sans-serif", grid: rule, ticks: { ...rule, size: 4 }, gap: 4 };
}

function drawn(line: Line): uPlot.Series {
  const dash = line.dashed ? { dash: [5, 4] } : {};
  return { label: line.label, stroke: line.colour, width: line.width ?? 1.5, points: { show: false }, ...dash };
}

/** What is not there is a gap. */
function gaps(values: Float32Array): (number | null)[] {
  return Array.from(values, (value) => (Number.isNaN(value) ? null : value));
}

function moveTo(chart: uPlot, mark: HTMLDivElement, time_s: number): void {
  mark.style.transform = `translateX(${chart.valToPos(time_s, "x")}px)`;
}
