/** One chart over time; all charts of the page share a cursor and a span of time, and each marks the present. */

import { useEffect, useMemo, useRef } from "preact/hooks";
import uPlot from "uplot";

import { type ChartSpec, cutText, keysOf, type Range, variableName } from "../chart_spec";
import type { Inks } from "../colours";
import { dataOf, HEIGHT, optionsOf, type Plotted, type Told, widthOf } from "../plot";
import { chartCsv, fileName, savePicture, saveText } from "../save";
import type { Drawn } from "../selection";
import { Keys } from "./Keys";

interface Props extends Told {
  chart: ChartSpec;
  /** Of which run. */
  of: string;
  times: number[];
  /** The part of the time that is shown. */
  span: Range;
  /** Whether the axis reaches to the highest peaks. */
  whole: boolean;
  time_s: number;
  /** The sample whose values stand beside the names of the lines. */
  sample: number;
  onWhole: (whole: boolean) => void;
  onDrawn: (drawn: Partial<Drawn>) => void;
  /** A line is chosen by its key. */
  onChoose?: (label: string) => void;
  own: Inks;
}

export function Chart(props: Props) {
  const { chart, times, whole, time_s, sample, span, own, onChoose } = props;
  const { lines, text } = chart;
  const place = useRef<HTMLDivElement>(null);
  const plot = useRef<uPlot | null>(null);
  const present = useRef<HTMLDivElement | null>(null);
  const latest = useRef(props);
  latest.current = props;
  const [low, high] = whole ? chart.whole : chart.range;
  const what = lines.map((l) => `${l.label} ${l.colour} ${l.width} ${l.dashed}`).join("\n");
  const tables = lines.map((line) => line.values);
  const plotted = useRef<Plotted | null>(null);
  const now: Plotted = { times, lines, range: [low, high], axis: chart.axis, text, own };
  plotted.current = now;

  useEffect(() => {
    const element = place.current;
    if (!element || !lines.length) return;
    const mark = document.createElement("div");
    mark.className = "present";
    present.current = mark;
    const options = optionsOf(
      () => plotted.current ?? now,
      element,
      () => latest.current.span,
      () => latest.current,
    );
    const made = new uPlot(options, dataOf(now), element);
    made.over.appendChild(mark);
    moveTo(made, mark, latest.current.time_s);
    plot.current = made;
    const watch = new ResizeObserver(() => {
      made.setSize({ width: widthOf(element), height: HEIGHT });
      moveTo(made, mark, latest.current.time_s);
    });
    watch.observe(element);
    return () => {
      watch.disconnect();
      made.destroy();
      plot.current = null;
    };
  }, [what, chart.axis, own]);

  // A run that grows gets new values, and keeps its charts: what the pointer is at stays lit.
  useEffect(() => {
    if (!plot.current || !present.current || !plotted.current) return;
    plot.current.setData(dataOf(plotted.current));
    moveTo(plot.current, present.current, latest.current.time_s);
    // Tables are looked up, never made anew; so the first stands for all.
  }, [tables[0], times, low, high]);

  useEffect(() => {
    const [min, max] = span;
    plot.current?.setScale("x", { min, max });
  }, [span[0], span[1]]);

  useEffect(() => {
    if (plot.current && present.current) moveTo(plot.current, present.current, time_s);
  }, [time_s, span[0], span[1]]);

  return (
    <figure class="chart">
      <Caption {...props} canvas={() => plot.current?.ctx.canvas} />
      {lines.length ? <div ref={place} role="img" aria-label={chart.title} /> : null}
      {lines.length ? null : <p class="empty">{chart.empty ?? "this was not recorded"}</p>}
      {useMemo(
        () => (
          <Keys {...{ lines, sample, text, onChoose, onLine: (label) => latest.current.onLine(label) }} />
        ),
        [what, tables[0], sample, text, !onChoose],
      )}
    </figure>
  );
}

/** The title of a chart, what else may be drawn, and what its axis leaves out. */
function Caption({ chart, of, times, span, whole, own, onWhole, onDrawn, canvas }: Props & { canvas: Canvas }) {
  const { title, lines, choice } = chart;
  const cut = cutText(chart);
  const name = `${of} ${title}`;
  const picture = () => {
    const drawn = canvas();
    if (drawn) savePicture(drawn, { title: `${of}: ${title}`, keys: keysOf(lines), own, name: fileName(name, "png") });
  };
  return (
    <figcaption>
      <span class="title">{title}</span>
      {cut !== null ? (
        <button type="button" class="plain" aria-pressed={whole} onClick={() => onWhole(!whole)}>
          {whole ? "cut the peaks" : `▲ ${cut}: show all`}
        </button>
      ) : null}
      {choice && choice.options.length > 1 ? (
        <select
          aria-label={choice.label}
          value={choice.value}
          onChange={(event) => onDrawn({ [choice.of]: event.currentTarget.value })}
        >
          {choice.options.map((option) => (
            <option key={option} value={option}>
              {variableName(option)}
            </option>
          ))}
        </select>
      ) : null}
      {lines.length ? (
        <span class="save">
          <button type="button" class="plain" aria-label={`save ${title} as PNG`} onClick={picture}>
            PNG
          </button>
          <button
            type="button"
            class="plain"
            aria-label={`save ${title} as CSV`}
            onClick={() => saveText(chartCsv(chart, times, span), fileName(name, "csv"))}
          >
            CSV
          </button>
        </span>
      ) : null}
    </figcaption>
  );
}

type Canvas = () => HTMLCanvasElement | undefined;

/** Puts the mark at an instant; it is hidden outside the span that is shown. */
function moveTo(plot: uPlot, mark: HTMLDivElement, time_s: number): void {
  const { min = 0, max = 0 } = plot.scales.x ?? {};
  const isSeen = time_s >= (min ?? 0) && time_s <= (max ?? 0);
  mark.style.transform = isSeen ? `translateX(${plot.valToPos(time_s, "x")}px)` : "translateX(-100vw)";
}
