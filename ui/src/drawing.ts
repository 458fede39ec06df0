/** Drawing the network on a canvas: links, the paths of a connection, queues, nodes. */

import { type Inks, utilisationColour, utilisationRamp } from "./colours";
import type { Palette, Run } from "./data";
import { half, type Point, placed, queuePlaces, type View } from "./geometry";
import type { Scales } from "./scales";
import { bottlenecks, linksOf, sharesOn, utilisation } from "./selection";

const SATURATED = 0.99;
/** Steps of colour. */
const LEVELS = 64;
/** Of more connections than these the paths are not drawn apart. */
const MOST_PATHS = 8;
/** Names are drawn where at most this many nodes are seen. */
const MOST_NAMES = 80;
/** The least radius of a disc that is round. */
const LEAST_DISC = 2;
/** How far something may reach beyond the middle of its line. */
const EDGE = 20;

/** A view, and how much of it the canvas shows. */
export interface Seen extends View {
  width: number;
  height: number;
}

/** What is to be drawn, and where. */
export interface Drawing {
  run: Run;
  sample: number;
  /** The connections to be lit, by number; null for none in particular. */
  lit: number[] | null;
  /** The chosen link. */
  link: number | null;
  /** The colour of a connection's paths. */
  colourOf: (connection: number) => string;
  palette: Palette;
  own: Inks;
  scales: Scales;
  view: Seen;
  /** The half of each link that is its own. */
  lines: [Point, Point][];
  widths: number[];
  beside: number[];
  room: number;
}

export function draw(context: CanvasRenderingContext2D, drawing: Drawing): void {
  const { run, lit, link } = drawing;
  context.clearRect(0, 0, context.canvas.width, context.canvas.height);
  const all = visible(drawing);
  if (link !== null) drawHalo(context, drawing, link);
  if (lit === null) {
    const { used, idle } = parted(run, all);
    context.globalAlpha = FAINT;
    drawLinks(context, drawing, idle, () => false);
    context.globalAlpha = 1;
    drawLinks(context, drawing, used, (_, share) => share >= SATURATED);
  } else {
    const onPath = new Set(lit.flatMap((connection) => [...linksOf(run, connection)]));
    const held = new Set(
      lit.length > MOST_PATHS ? [] : lit.flatMap((connection) => [...bottlenecks(run, connection, drawing.sample)]),
    );
    context.globalAlpha = 0.18;
    drawLinks(context, drawing, all, () => false);
    context.globalAlpha = 1;
    drawLinks(
      context,
      drawing,
      all.filter((own) => onPath.has(own)),
      (own) => held.has(own),
    );
    if (lit.length <= MOST_PATHS) drawPaths(context, drawing, lit);
  }
  drawQueues(context, drawing);
  drawNodes(context, drawing);
}

/** How much is seen of links over which no connection has a path, in a network without names. */
const FAINT = 0.3;

/** In a network that is too large for names: links that connections use, apart from those that nobody does. */
function parted(run: Run, links: number[]): { used: number[]; idle: number[] } {
  const { nodes, links: own } = run.header;
  if (nodes.name.length <= MOST_NAMES) return { used: links, idle: [] };
  const isUsed = (link: number) => (run.subflowsOver[link]?.length ?? 0) > 0;
  const isCableUsed = (link: number) => isUsed(link) || isUsed(own.twin[link] ?? link);
  return { used: links.filter(isCableUsed), idle: links.filter((link) => !isCableUsed(link)) };
}

/** Links of which something lies on the canvas. */
function visible({ lines, view }: Drawing): number[] {
  const [right, bottom] = [view.width + EDGE, view.height + EDGE];
  const seen: number[] = [];
  lines.forEach(([a, b], link) => {
    const isBeside = (a.x < -EDGE && b.x < -EDGE) || (a.x > right && b.x > right);
    const isAbove = (a.y < -EDGE && b.y < -EDGE) || (a.y > bottom && b.y > bottom);
    if (!isBeside && !isAbove) seen.push(link);
  });
  return seen;
}

/** What shows which link is chosen. */
function drawHalo(context: CanvasRenderingContext2D, drawing: Drawing, link: number): void {
  const [start, middle] = drawing.lines[link] as [Point, Point];
  context.lineCap = "round";
  stroke(context, start, middle, (drawing.widths[link] as number) + 9, drawing.own.halo);
  context.lineCap = "butt";
}

type HasRim = (link: number, share: number) => boolean;

/**
 * Draws links one by one, which is faster than many in one path; idle ones first, so that the busy one is seen.
 *
 * Those of which no load is known come before all, in the colour of rules.
 */
function drawLinks(context: CanvasRenderingContext2D, drawing: Drawing, links: number[], hasRim: HasRim): void {
  const { run, sample, own, palette, widths } = drawing;
  const ramp = utilisationRamp(palette, own);
  const levels: number[][] = Array.from({ length: LEVELS + 1 }, () => []);
  for (const link of links) {
    const share = utilisation(run, link, sample);
    if (Number.isNaN(share)) {
      const [start, middle] = drawing.lines[link] as [Point, Point];
      stroke(context, start, middle, widths[link] as number, own.line);
    } else {
      levels[Math.round(LEVELS * Math.min(share, 1))]?.push(link);
    }
  }
  for (const [level, like] of levels.entries()) {
    const share = level / LEVELS;
    const colour = utilisationColour(share, ramp);
    for (const link of like) {
      const [start, middle] = drawing.lines[link] as [Point, Point];
      const width = widths[link] as number;
      if (hasRim(link, share)) stroke(context, start, middle, width + 2, own.ink);
      stroke(context, start, middle, width, colour);
    }
  }
}

function stroke(context: CanvasRenderingContext2D, from: Point, to: Point, width: number, colour: string): void {
  context.strokeStyle = colour;
  context.lineWidth = width;
  context.beginPath();
  context.moveTo(from.x, from.y);
  context.lineTo(to.x, to.y);
  context.stroke();
}

/** The paths of connections as lines beside their links, the wider the more of the rate they carry there. */
function drawPaths(context: CanvasRenderingContext2D, drawing: Drawing, lit: number[]): void {
  const { run, view, beside, widths } = drawing;
  const { nodes, links } = run.header;
  const taken = new Map<number, number>();
  for (const connection of lit) {
    const colour = drawing.colourOf(connection);
    for (const [link, share] of sharesOn(run, connection, drawing.sample)) {
      const rank = taken.get(link) ?? 0;
      taken.set(link, rank + 1);
      const start = placed(nodes, links.source[link] as number, view);
      const end = placed(nodes, links.target[link] as number, view);
      const lane = (beside[link] as number) + (widths[link] as number) / 2 + 3 + 3 * rank;
      const [from] = half(start, end, lane);
      const [to] = half(end, start, -lane);
      context.globalAlpha = share > 0 ? 1 : 0.5;
      stroke(context, from, to, 1 + 2.5 * share, colour);
    }
  }
  context.globalAlpha = 1;
}

function drawQueues(context: CanvasRenderingContext2D, drawing: Drawing): void {
  const backlog = drawing.run.table("link", "backlog_bytes");
  if (!backlog) return;
  const most = drawing.scales.backlog_bytes;
  const places = placesOf(drawing.run);
  context.fillStyle = drawing.own.ink;
  for (let link = 0; link < backlog.rows; link++) {
    const waiting = backlog.at(link, drawing.sample);
    if (!(waiting > 0)) continue;
    const [start, middle] = drawing.lines[link] as [Point, Point];
    const radius = Math.sqrt(waiting / most) * Math.min(Math.max(0.12 * drawing.room, 3), 12);
    const along = places[link] as number;
    disc(context, start.x + along * (middle.x - start.x), start.y + along * (middle.y - start.y), radius);
  }
}

const known = new WeakMap<Run, number[]>();

/** How far along its half of a link each queue lies; the same at all times. */
function placesOf(run: Run): number[] {
  const places = known.get(run) ?? queuePlaces(run.header.links);
  known.set(run, places);
  return places;
}

/** A disc, filled; one that is too small to be told from a square is one, since that is far faster. */
function disc(context: CanvasRenderingContext2D, x: number, y: number, radius: number): void {
  if (radius < LEAST_DISC) {
    const side = radius * Math.sqrt(Math.PI);
    context.fillRect(x - side / 2, y - side / 2, side, side);
    return;
  }
  context.beginPath();
  context.arc(x, y, radius, 0, 2 * Math.PI);
  context.fill();
}

function drawNodes(context: CanvasRenderingContext2D, { run, view, own, room }: Drawing): void {
  const { nodes } = run.header;
  const radius = Math.min(Math.max(0.065 * room - 0.3, 1), 6);
  const places = nodes.name.map((_, node) => placed(nodes, node, view));
  context.strokeStyle = own.ink;
  context.lineWidth = 1.2;
  context.fillStyle = radius < LEAST_DISC ? own.ink : own.paper;
  const isUsed = usedNodes(run);
  for (const [node, { x, y }] of places.entries()) {
    context.globalAlpha = isUsed?.[node] === false ? FAINT : 1;
    disc(context, x, y, radius);
    if (radius >= LEAST_DISC) context.stroke();
  }
  context.globalAlpha = 1;
  const { width, height } = view;
  const seen = places.flatMap(({ x, y }, node) => (x > -EDGE && x < width + EDGE && y > 0 && y < height ? [node] : []));
  if (seen.length <= MOST_NAMES) drawNames(context, seen, nodes.name, places, radius, own);
}

const knownNodes = new WeakMap<Run, boolean[]>();

/** Which nodes of a network without names are on the path of a connection. */
function usedNodes(run: Run): boolean[] | undefined {
  const { nodes, links } = run.header;
  if (nodes.name.length <= MOST_NAMES) return undefined;
  let used = knownNodes.get(run);
  if (used) return used;
  used = nodes.name.map(() => false);
  for (const link of new Set(run.header.subflows.path.flat())) {
    used[links.source[link] as number] = true;
    used[links.target[link] as number] = true;
  }
  knownNodes.set(run, used);
  return used;
}

const NAME_HEIGHT = 12;

/** The box of a name: its middle, and how far it reaches to either side. */
interface Label {
  x: number;
  y: number;
  reach: number;
}

/**
 * Names beside their nodes, above where there is room, and on no other node where that can be.
 *
 * A name that would lie on another one wherever it is put is left out.
 */
function drawNames(
  context: CanvasRenderingContext2D,
  seen: number[],
  names: string[],
  places: Point[],
  radius: number,
  own: Inks,
): void {
  context.font = "11px system-ui, sans-serif";
  context.textAlign = "center";
  context.strokeStyle = own.paper;
  context.fillStyle = own.ink;
  context.lineWidth = 3;
  const taken: Label[] = [];
  const discOf = (node: number): Label => {
    const { x, y } = places[node] as Point;
    return { x, y: y + 4, reach: radius };
  };
  for (const node of seen) {
    const name = names[node] ?? "";
    const { x, y } = places[node] as Point;
    const reach = context.measureText(name).width / 2 + 2;
    const aside = reach + radius + 3;
    const choices: Label[] = [
      { x, y: y - radius - 5, reach },
      { x, y: y + radius + 12, reach },
      { x: x + aside, y: y + 4, reach },
      { x: x - aside, y: y + 4, reach },
    ];
    const free = choices.filter((choice) => !taken.some((other) => overlap(choice, other)));
    const label =
      free.find((choice) => seen.every((other) => other === node || !overlap(choice, discOf(other)))) ?? free[0];
    if (!label) continue;
    taken.push(label);
    context.strokeText(name, label.x, label.y);
    context.fillText(name, label.x, label.y);
  }
}

const overlap = (a: Label, b: Label): boolean =>
  Math.abs(a.x - b.x) < a.reach + b.reach && Math.abs(a.y - b.y) < NAME_HEIGHT;
