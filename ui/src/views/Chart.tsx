/** One chart over time; all charts of the page share a cursor and a span of time, and each marks the present. */

import { useEffect, useMemo, useRef, useState } from "preact/hooks";
import uPlot from "uplot";

import { type ChartSpec, cutText, keysOf, type Line, type Range, variableName } from "../chart_spec";
import type { Inks } from "../colours";
import { placeLabels } from "../labels";
import { dataOf, endsOf, LEAST_RIGHT, optionsOf, type Plotted, type Told, widthOf } from "../plot";
import { chartCsv, fileName, savePicture, saveText } from "../save";
import { type Unit, unitOf } from "../scaled";
import type { Drawn } from "../selection";
import { Ends, labelTexts, type Placed } from "./Ends";
import { Term } from "./Term";

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
  height?: number;
  onWhole: (whole: boolean) => void;
  onDrawn: (drawn: Partial<Drawn>) => void;
  /** A line is chosen by its name. */
  onChoose?: (label: string) => void;
  own: Inks;
}

const HEIGHT = 150;
/** The names of lines may take this share of the width. */
const MOST_ROOM = 0.36;
/** Values stand beside names in charts of this width. */
const WIDE = 460;

export function Chart(props: Props) {
  const { chart, times, whole, time_s, sample, span, own, height = HEIGHT, onChoose } = props;
  const { lines, bands = [] } = chart;
  const place = useRef<HTMLDivElement>(null);
  const plot = useRef<uPlot | null>(null);
  const present = useRef<HTMLDivElement | null>(null);
  const latest = useRef(props);
  latest.current = props;
  const [placed, setPlaced] = useState<Placed[]>([]);
  const [width, setWidth] = useState(0);
  const [low, high] = whole ? chart.whole : chart.range;
  const unit = useMemo(() => unitOf(chart.column, Math.max(Math.abs(low), Math.abs(high))), [chart.column, low, high]);
  const what = lines.map((l) => `${l.label} ${l.colour} ${l.width} ${l.dashed} ${l.pattern}`).join("\n");
  const tables = lines.map((line) => line.values);
  const plotted = useRef<Plotted | null>(null);
  const now: Plotted = { times, lines, bands, range: [low, high], unit, own };
  plotted.current = now;
  const isWide = width >= WIDE;
  const labels = labelTexts(lines, unit, isWide, width * MOST_ROOM);
  const right = Math.max(LEAST_RIGHT, ...labels.map((label) => label.width + 10));

  useEffect(() => {
    const element = place.current;
    if (!element) return;
    const watch = new ResizeObserver(() => setWidth(element.clientWidth));
    watch.observe(element);
    setWidth(element.clientWidth);
    return () => watch.disconnect();
  }, [!lines.length]);

  useEffect(() => {
    const element = place.current;
    if (!element || !lines.length || !width) return;
    const mark = document.createElement("div");
    mark.className = "present";
    present.current = mark;
    let known = "";
    const onDraw = (u: uPlot) => {
      moveTo(u, mark, latest.current.time_s);
      const found = placedAt(
        u,
        plotted.current?.lines ?? [],
        labels.map((label) => label.width),
      );
      const key = JSON.stringify(found);
      if (key !== known) setPlaced(found);
      known = key;
    };
    const options = optionsOf(
      () => plotted.current ?? now,
      element,
      { height, right },
      () => latest.current.span,
      () => latest.current,
      onDraw,
    );
    const made = new uPlot(options, dataOf(now), element);
    made.over.appendChild(mark);
    moveTo(made, mark, latest.current.time_s);
    plot.current = made;
    return () => {
      made.destroy();
      plot.current = null;
    };
  }, [what, chart.column, own, height, right, !width]);

  useEffect(() => {
    if (!plot.current || !place.current) return;
    plot.current.setSize({ width: widthOf(place.current), height });
    if (present.current) moveTo(plot.current, present.current, latest.current.time_s);
  }, [width, height]);

  // A run that grows gets new values, and keeps its charts: what the pointer is at stays lit.
  useEffect(() => {
    if (!plot.current || !present.current || !plotted.current) return;
    plot.current.setData(dataOf(plotted.current));
    moveTo(plot.current, present.current, latest.current.time_s);
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
      <Caption {...props} unit={unit} canvas={() => plot.current?.ctx.canvas} />
      {lines.length ? (
        <div class="plot">
          <div ref={place} role="img" aria-label={chart.title} style={{ height: `${height}px` }} />
          <Ends
            {...{ lines, placed, sample, unit, onChoose }}
            withValues={isWide}
            onLine={(label: string | null) => latest.current.onLine(label)}
          />
        </div>
      ) : (
        <p class="empty">{chart.empty ?? "this was not recorded"}</p>
      )}
    </figure>
  );
}

/** The title of a chart with its unit, what else may be drawn, and what its axis leaves out. */
function Caption({
  chart,
  of,
  times,
  span,
  whole,
  own,
  unit,
  onWhole,
  onDrawn,
  canvas,
}: Props & { canvas: Canvas; unit: Unit }) {
  const { title, note, term, lines, choice } = chart;
  const cut = cutText(chart);
  const name = `${of} ${title}`;
  const picture = () => {
    const drawn = canvas();
    if (!drawn) return;
    const heading = `${of}: ${title}${unit.name ? `, ${unit.name}` : ""}${note ? ` (${note})` : ""}`;
    savePicture(drawn, { title: heading, keys: keysOf(lines), own, name: fileName(name, "png") });
  };
  return (
    <figcaption>
      <span class="title">
        {term ? <Term of={term}>{title}</Term> : title}
        {unit.name && lines.length ? <span class="unit">, {unit.name}</span> : null}
      </span>
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
      <span class="note">
        {note}
        {cut !== null ? (
          <button type="button" class="plain" aria-pressed={whole} onClick={() => onWhole(!whole)}>
            {whole ? "cut the peaks" : `▲ ${cut}: show all`}
          </button>
        ) : null}
      </span>
    </figcaption>
  );
}

type Canvas = () => HTMLCanvasElement | undefined;

/** Where the names of the lines stand. */
function placedAt(u: uPlot, lines: Line[], widths: number[]): Placed[] {
  const ends = endsOf(u, lines, widths);
  const there = ends.flatMap((end, number) => (end ? [{ ...end, number }] : []));
  const heights = placeLabels(there, u.over.offsetTop + u.over.clientHeight);
  return there.map(({ number, x }, i) => ({ number, x: Math.round(x), y: Math.round(heights[i] as number) }));
}

/** Puts the mark at an instant; it is hidden outside the span that is shown. */
function moveTo(plot: uPlot, mark: HTMLDivElement, time_s: number): void {
  const { min = 0, max = 0 } = plot.scales.x ?? {};
  const isSeen = time_s >= (min ?? 0) && time_s <= (max ?? 0);
  mark.style.transform = isSeen ? `translateX(${plot.valToPos(time_s, "x")}px)` : "translateX(-100vw)";
}
