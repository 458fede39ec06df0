/** The network: each link is half of an edge, coloured by utilisation; queues are discs where they wait. */

import { useEffect, useMemo, useRef, useState } from "preact/hooks";

import { type Inks, lineColour, utilisationColour } from "../colours";
import type { Palette, Run } from "../data";
import { distance, fitted, half, lanes, linkWidths, type Point, placed, type View, zoomed } from "../geometry";
import { bottlenecks, linksOf, utilisation } from "../selection";
import { rateText, shareText, sizeText } from "../units";

interface Props {
  run: Run;
  sample: number;
  /** The connection to be lit, by number. */
  lit: number | null;
  palette: Palette;
  several: boolean;
  own: Inks;
}

const SATURATED = 0.99;
const MOST_NAMES = 60;
const NEAR = 8;

export function NetworkMap(props: Props) {
  const { run, sample, lit, own } = props;
  const canvas = useRef<HTMLCanvasElement>(null);
  const [size, setSize] = useState({ width: 0, height: 0 });
  const [view, setView] = useState<View | null>(null);
  const [pointed, setPointed] = useState<number | null>(null);
  const drag = useRef<Point | null>(null);
  const { nodes, links } = run.header;
  const room = Math.sqrt((size.width * size.height) / Math.max(nodes.name.length, 1));
  const most = Math.min(Math.max(0.1 * room, 2), 9);
  const widths = useMemo(() => linkWidths(links, Math.max(1, most / 3), most), [links, most]);
  const beside = useMemo(() => lanes(links, widths), [links, widths]);
  const shown = view ?? fitted(nodes, size.width, size.height);

  useEffect(() => {
    const element = canvas.current;
    if (!element) return;
    const watch = new ResizeObserver(() => setSize({ width: element.clientWidth, height: element.clientHeight }));
    watch.observe(element);
    // Not passive, so that the page does not scroll while the map zooms.
    const wheel = (event: WheelEvent) => {
      event.preventDefault();
      const about = { x: event.offsetX, y: event.offsetY };
      const { clientWidth, clientHeight } = element;
      setView((old) => zoomed(old ?? fitted(nodes, clientWidth, clientHeight), 0.998 ** event.deltaY, about));
    };
    element.addEventListener("wheel", wheel, { passive: false });
    return () => {
      watch.disconnect();
      element.removeEventListener("wheel", wheel);
    };
  }, [nodes]);

  useEffect(() => {
    const context = canvas.current?.getContext("2d");
    if (!canvas.current || !context || !size.width) return;
    const ratio = window.devicePixelRatio || 1;
    canvas.current.width = size.width * ratio;
    canvas.current.height = size.height * ratio;
    context.setTransform(ratio, 0, 0, ratio, 0, 0);
    draw(context, { ...props, view: shown, widths, beside, room });
  });

  const move = (event: PointerEvent) => {
    const here = { x: event.offsetX, y: event.offsetY };
    if (drag.current && event.buttons) {
      setView({ ...shown, x: shown.x + here.x - drag.current.x, y: shown.y + here.y - drag.current.y });
      drag.current = here;
      return;
    }
    setPointed(nearest(run, shown, beside, here));
  };
  const zoom = (factor: number) =>
    setView(factor ? zoomed(shown, factor, { x: size.width / 2, y: size.height / 2 }) : null);

  return (
    <figure class="map">
      <canvas
        ref={canvas}
        role="img"
        aria-label={`network of ${nodes.name.length} nodes and ${links.name.length} links`}
        onPointerDown={(event) => {
          drag.current = { x: event.offsetX, y: event.offsetY };
        }}
        onPointerMove={move}
        onPointerLeave={() => setPointed(null)}
      />
      <div class="zoom">
        <button type="button" aria-label="zoom in" onClick={() => zoom(1.5)}>
          +
        </button>
        <button type="button" aria-label="zoom out" onClick={() => zoom(1 / 1.5)}>
          −
        </button>
        <button type="button" aria-label="whole network" onClick={() => zoom(0)}>
          ⤢
        </button>
      </div>
      <figcaption>
        {pointed !== null ? (
          <LinkFacts run={run} link={pointed} sample={sample} />
        ) : lit !== null ? (
          `${run.header.connections.name[lit]}: its paths; bottlenecks have a rim`
        ) : (
          <Legend palette={props.palette} ink={own.ink} />
        )}
      </figcaption>
    </figure>
  );
}

function Legend({ palette, ink }: { palette: Palette; ink: string }) {
  return (
    <span class="legend">
      load / capacity 0 %
      <span class="ramp" style={{ background: `linear-gradient(to right, ${palette.utilisation.join(",")})` }} />
      100 % · rim: full · <span class="disc" style={{ background: ink }} /> queue
    </span>
  );
}

function LinkFacts({ run, link, sample }: { run: Run; link: number; sample: number }) {
  const { links } = run.header;
  const backlog = run.table("link", "backlog_bytes")?.at(link, sample);
  const facts = [
    `${shareText(utilisation(run, link, sample))} of ${rateText(links.capacity_bps[link] ?? Number.POSITIVE_INFINITY)}`,
    ...(backlog === undefined ? [] : [`${sizeText(backlog)} waiting`]),
  ];
  return (
    <span>
      <b>{links.name[link]}</b>: {facts.join(", ")}
    </span>
  );
}

interface Drawing extends Props {
  view: View;
  widths: number[];
  beside: number[];
  room: number;
}

function ends(drawing: { run: Run; view: View; beside: number[] }, link: number): [Point, Point] {
  const { nodes, links } = drawing.run.header;
  const start = placed(nodes, links.source[link] as number, drawing.view);
  const end = placed(nodes, links.target[link] as number, drawing.view);
  return half(start, end, drawing.beside[link] as number);
}

function nearest(run: Run, view: View, beside: number[], here: Point): number | null {
  let [best, least]: [number | null, number] = [null, NEAR];
  for (let link = 0; link < run.header.links.name.length; link++) {
    const far = distance(here, ends({ run, view, beside }, link));
    if (far < least) [best, least] = [link, far];
  }
  return best;
}

function draw(context: CanvasRenderingContext2D, drawing: Drawing): void {
  const { run, sample, lit, own } = drawing;
  context.clearRect(0, 0, context.canvas.width, context.canvas.height);
  const onPath = lit === null ? null : linksOf(run, lit);
  const held = lit === null ? null : bottlenecks(run, lit, sample);
  const shares = run.header.links.name.map((_, link) => utilisation(run, link, sample));
  // Idle below, busy above: where links cross, the one that matters is seen.
  const order = shares.map((_, link) => link).sort((a, b) => (shares[a] as number) - (shares[b] as number));
  context.lineCap = "butt";
  for (const link of order) {
    const [start, middle] = ends(drawing, link);
    const width = drawing.widths[link] as number;
    const share = shares[link] as number;
    context.globalAlpha = onPath && !onPath.has(link) ? 0.18 : 1;
    const rim = held ? held.has(link) : share >= SATURATED;
    if (rim) stroke(context, start, middle, width + 2, own.ink);
    stroke(context, start, middle, width, utilisationColour(share, drawing.palette));
  }
  context.globalAlpha = 1;
  if (lit !== null) drawPaths(context, drawing, lit);
  drawQueues(context, drawing);
  drawNodes(context, drawing);
}

function stroke(context: CanvasRenderingContext2D, from: Point, to: Point, width: number, colour: string): void {
  context.strokeStyle = colour;
  context.lineWidth = width;
  context.beginPath();
  context.moveTo(from.x, from.y);
  context.lineTo(to.x, to.y);
  context.stroke();
}

/** The paths of a connection as thin lines beside their links. */
function drawPaths(context: CanvasRenderingContext2D, drawing: Drawing, connection: number): void {
  const { run, view, beside, widths, palette, several, own } = drawing;
  const { nodes, links } = run.header;
  const colour = lineColour(run, connection, palette, several, own);
  for (const link of linksOf(run, connection)) {
    const start = placed(nodes, links.source[link] as number, view);
    const end = placed(nodes, links.target[link] as number, view);
    const lane = (beside[link] as number) + (widths[link] as number) / 2 + 3;
    const [from] = half(start, end, lane);
    const [to] = half(end, start, -lane);
    stroke(context, from, to, 2, colour);
  }
}

function drawQueues(context: CanvasRenderingContext2D, drawing: Drawing): void {
  const backlog = drawing.run.table("link", "backlog_bytes");
  if (!backlog) return;
  const most = greatestBacklog(drawing.run);
  context.fillStyle = drawing.own.ink;
  for (let link = 0; link < backlog.rows; link++) {
    const waiting = backlog.at(link, drawing.sample);
    if (!(waiting > 0)) continue;
    const [start, middle] = ends(drawing, link);
    const radius = Math.sqrt(waiting / most) * Math.min(Math.max(0.12 * drawing.room, 3), 12);
    context.beginPath();
    context.arc(start.x + 0.45 * (middle.x - start.x), start.y + 0.45 * (middle.y - start.y), radius, 0, 7);
    context.fill();
  }
}

const backlogs = new WeakMap<Run, number>();

/** The longest queue of a run: the largest disc. */
function greatestBacklog(run: Run): number {
  const known = backlogs.get(run);
  if (known !== undefined) return known;
  let most = 1;
  for (const value of run.table("link", "backlog_bytes")?.values ?? []) if (value > most) most = value;
  backlogs.set(run, most);
  return most;
}

function drawNodes(context: CanvasRenderingContext2D, { run, view, own, room }: Drawing): void {
  const { nodes } = run.header;
  const radius = Math.min(Math.max(0.065 * room - 0.3, 1), 6);
  const named = nodes.name.length <= MOST_NAMES;
  context.lineWidth = 1.2;
  context.font = "11px system-ui, sans-serif";
  context.textAlign = "center";
  nodes.name.forEach((name, node) => {
    const { x, y } = placed(nodes, node, view);
    context.beginPath();
    context.arc(x, y, radius, 0, 7);
    context.fillStyle = radius > 2 ? own.paper : own.ink;
    context.fill();
    context.strokeStyle = own.ink;
    context.stroke();
    if (!named) return;
    context.strokeStyle = own.paper;
    context.lineWidth = 3;
    context.strokeText(name, x, y - radius - 5);
    context.lineWidth = 1.2;
    context.fillStyle = own.ink;
    context.fillText(name, x, y - radius - 5);
  });
}
