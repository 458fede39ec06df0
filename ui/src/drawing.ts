/** Drawing the network on a canvas: links, the paths of a connection, queues, nodes. */

import { type Inks, lineColour, utilisationColour } from "./colours";
import type { Palette, Run } from "./data";
import { half, type Point, placed, type View } from "./geometry";
import { bottlenecks, linksOf, utilisation } from "./selection";

const SATURATED = 0.99;
/** Steps of colour. */
const LEVELS = 64;
const MOST_NAMES = 60;

/** What is to be drawn, and where. */
export interface Drawing {
  run: Run;
  sample: number;
  /** The connection to be lit, by number. */
  lit: number | null;
  palette: Palette;
  several: boolean;
  own: Inks;
  view: View;
  /** The half of each link that is its own. */
  lines: [Point, Point][];
  widths: number[];
  beside: number[];
  room: number;
}

export function draw(context: CanvasRenderingContext2D, drawing: Drawing): void {
  const { run, lit } = drawing;
  context.clearRect(0, 0, context.canvas.width, context.canvas.height);
  const all = run.header.links.name.map((_, link) => link);
  if (lit === null) {
    drawLinks(context, drawing, all, (_, share) => share >= SATURATED);
  } else {
    const onPath = linksOf(run, lit);
    const held = bottlenecks(run, lit, drawing.sample);
    context.globalAlpha = 0.18;
    drawLinks(context, drawing, all, () => false);
    context.globalAlpha = 1;
    drawLinks(context, drawing, [...onPath], (link) => held.has(link));
    drawPaths(context, drawing, lit);
  }
  drawQueues(context, drawing);
  drawNodes(context, drawing);
}

type HasRim = (link: number, share: number) => boolean;

/** Draws links, those of like colour and width at once; idle ones below, so that where links cross the busy one is seen. */
function drawLinks(context: CanvasRenderingContext2D, drawing: Drawing, links: number[], hasRim: HasRim): void {
  const levels = new Map<string, { share: number; width: number; rim: boolean; links: number[] }>();
  for (const link of links) {
    const share = Math.round(LEVELS * Math.min(utilisation(drawing.run, link, drawing.sample), 1)) / LEVELS;
    const [width, rim] = [drawing.widths[link] as number, hasRim(link, share)];
    const key = `${share} ${width} ${rim}`;
    const level = levels.get(key);
    if (level) level.links.push(link);
    else levels.set(key, { share, width, rim, links: [link] });
  }
  for (const level of [...levels.values()].sort((a, b) => a.share - b.share)) {
    const path = new Path2D();
    for (const link of level.links) {
      const [start, middle] = drawing.lines[link] as [Point, Point];
      path.moveTo(start.x, start.y);
      path.lineTo(middle.x, middle.y);
    }
    if (level.rim) {
      context.strokeStyle = drawing.own.ink;
      context.lineWidth = level.width + 2;
      context.stroke(path);
    }
    context.strokeStyle = utilisationColour(level.share, drawing.palette);
    context.lineWidth = level.width;
    context.stroke(path);
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
  const discs = new Path2D();
  for (let link = 0; link < backlog.rows; link++) {
    const waiting = backlog.at(link, drawing.sample);
    if (!(waiting > 0)) continue;
    const [start, middle] = drawing.lines[link] as [Point, Point];
    const radius = Math.sqrt(waiting / most) * Math.min(Math.max(0.12 * drawing.room, 3), 12);
    const at = { x: start.x + 0.45 * (middle.x - start.x), y: start.y + 0.45 * (middle.y - start.y) };
    discs.moveTo(at.x + radius, at.y);
    discs.arc(at.x, at.y, radius, 0, 2 * Math.PI);
  }
  context.fillStyle = drawing.own.ink;
  context.fill(discs);
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
  const places = nodes.name.map((_, node) => placed(nodes, node, view));
  const discs = new Path2D();
  for (const { x, y } of places) {
    discs.moveTo(x + radius, y);
    discs.arc(x, y, radius, 0, 2 * Math.PI);
  }
  context.fillStyle = radius > 2 ? own.paper : own.ink;
  context.fill(discs);
  context.strokeStyle = own.ink;
  context.lineWidth = 1.2;
  context.stroke(discs);
  if (places.length <= MOST_NAMES) drawNames(context, nodes.name, places, radius, own);
}

function drawNames(
  context: CanvasRenderingContext2D,
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
  names.forEach((name, node) => {
    const { x, y } = places[node] as Point;
    context.strokeText(name, x, y - radius - 5);
    context.fillText(name, x, y - radius - 5);
  });
}
