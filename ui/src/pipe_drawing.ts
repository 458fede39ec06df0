/** Drawing a small network: pipes filled with the rates of connections, queues as packets, nodes with names. */

import type { Inks } from "./colours";
import { utilisationColour, utilisationRamp } from "./colours";
import type { Nodes } from "./data";
import type { Drawing } from "./drawing";
import { type Point, placed } from "./geometry";
import { along, beside, curveOf, lengthOf, type Pipe, trimmed } from "./pipes";
import { capacityAt, utilisation } from "./selection";
import { type Box, baseOf, boxOf, freeOf, placesAbout, type Stroke } from "./text_box";
import { rateText, sizeText } from "./units";

const FONT = "system-ui, sans-serif";
/** Pipes are filled with the colours of this many connections; more are drawn as one. */
const MOST_BANDS = 10;
/** How many packets stand for the longest queue of the page. */
const PACKETS = 10;
const NODE_HEIGHT = 26;

/** What is drawn of a small network, beside what is drawn of any. */
export interface SmallDrawing extends Drawing {
  pipes: Pipe[];
  /** The nodes, at the places where they are drawn. */
  nodes: Nodes;
}

/** How far a node reaches to either side of its middle. */
export function reachOf(context: CanvasRenderingContext2D, name: string): number {
  context.font = `600 13px ${FONT}`;
  return context.measureText(name).width / 2 + 11;
}

export function drawSmall(context: CanvasRenderingContext2D, drawing: SmallDrawing): void {
  const { run, pipes, nodes, view, own } = drawing;
  const { links } = run.header;
  context.clearRect(0, 0, context.canvas.width, context.canvas.height);
  context.lineCap = "butt";
  const curves = pipes.map((pipe) => curveOf(pipe, nodes, links, view));
  for (const [i, pipe] of pipes.entries()) drawPipe(context, drawing, pipe, curves[i] as Point[]);
  const frees = pipes.map((pipe, i) => {
    const [from, to] = [links.source[pipe.link] as number, links.target[pipe.link] as number];
    const ends = [from, to].map((node) => reachOf(context, nodes.name[node] ?? "") + 6) as [number, number];
    return trimmed(curves[i] as Point[], ...ends);
  });
  const rows = pipes.map((pipe, i) => drawQueue(context, drawing, pipe, frees[i] as Point[]));
  const taken = pipes.map((pipe, i) => drawName(context, drawing, pipe, frees[i] as Point[]));
  const strokes = [
    ...pipes.map(({ width }, i) => ({ line: curves[i] as Point[], reach: width / 2 + CLEAR })),
    ...rows.flatMap((row) => (row ? [{ line: row.line, reach: PACKET / 2 + CLEAR }] : [])),
  ];
  for (const [i, row] of rows.entries()) {
    if (row) drawBacklog(context, drawing, (pipes[i] as Pipe).link, row, taken, strokes);
  }
  for (const [node, name] of nodes.name.entries()) drawNode(context, name, placed(nodes, node, view), own);
}

/** A pipe, and in it for each connection a band as wide as its rate. */
function drawPipe(context: CanvasRenderingContext2D, drawing: SmallDrawing, pipe: Pipe, curve: Point[]): void {
  const { run, sample, own, link, palette } = drawing;
  const { width } = pipe;
  if (pipe.link === link) stroke(context, curve, width + 12, own.halo);
  if (width <= 2) {
    stroke(context, curve, width, own.line);
    return;
  }
  stroke(context, curve, width + 2, own.edge);
  stroke(context, curve, width, own.hollow);
  const bands = bandsOf(drawing, pipe.link);
  if (!bands) {
    const share = Math.min(utilisation(run, pipe.link, sample), 1);
    const colour = utilisationColour(share, utilisationRamp(palette, own));
    if (share > 0) stroke(context, curve, width * share, colour);
  }
  let at = -width / 2;
  for (const { share, colour, alpha } of bands ?? []) {
    context.globalAlpha = alpha;
    // A hair wider, so that nothing shines through between bands.
    stroke(context, beside(curve, at + (share * width) / 2), share * width + 0.4, colour);
    at += share * width;
  }
  context.globalAlpha = 1;
  drawWay(context, curve, own);
}

/** The shares of a link's capacity that connections send over it; nothing where rates of subflows are not known. */
function bandsOf(drawing: SmallDrawing, link: number): { share: number; colour: string; alpha: number }[] | null {
  const { run, sample, lit, own } = drawing;
  const rates = run.table("subflow", "delivered_bps") ?? run.table("subflow", "granted_bps");
  if (!rates) return null;
  const sums = new Map<number, number>();
  for (const subflow of run.subflowsOver[link] ?? []) {
    const connection = run.header.subflows.connection[subflow] as number;
    sums.set(connection, (sums.get(connection) ?? 0) + (rates.at(subflow, sample) || 0));
  }
  const total = [...sums.values()].reduce((all, rate) => all + rate, 0);
  const capacity = capacityAt(run, link, sample);
  // What exceeds the capacity for a moment fills the pipe, in the same proportions.
  const whole = Number.isFinite(capacity) ? Math.max(capacity, total) : 2 * total;
  if (!(whole > 0)) return [];
  if (sums.size > MOST_BANDS) return [{ share: total / whole, colour: own.soft, alpha: 1 }];
  return [...sums].map(([connection, rate]) => ({
    share: rate / whole,
    colour: drawing.colourOf(connection),
    alpha: lit === null || lit.includes(connection) ? 1 : 0.25,
  }));
}

/** Small arrows that say which way a pipe leads. */
function drawWay(context: CanvasRenderingContext2D, curve: Point[], own: Inks): void {
  context.lineJoin = "round";
  for (const share of [0.38, 0.7]) {
    const i = Math.round(share * (curve.length - 1));
    const [before, here] = [curve[i - 1] as Point, curve[i] as Point];
    const angle = Math.atan2(here.y - before.y, here.x - before.x);
    context.save();
    context.translate(here.x, here.y);
    context.rotate(angle);
    context.beginPath();
    context.moveTo(-3, -4);
    context.lineTo(2, 0);
    context.lineTo(-3, 4);
    context.lineWidth = 3.5;
    context.strokeStyle = own.paper;
    context.stroke();
    context.lineWidth = 1.5;
    context.strokeStyle = own.ink;
    context.stroke();
    context.restore();
  }
}

/** A row of packets: their places, and whether there is room for a text behind it. */
interface Row {
  line: Point[];
  isLong: boolean;
}

/**
 * Packets that wait before the pipe, one behind the other from its mouth; hollow ones are the room of the longest queue.
 *
 * Gives the row, if there is one.
 */
function drawQueue(context: CanvasRenderingContext2D, drawing: SmallDrawing, pipe: Pipe, curve: Point[]): Row | null {
  const { run, sample, scales, own } = drawing;
  const waiting = run.table("link", "backlog_bytes")?.at(pipe.link, sample);
  if (waiting === undefined || Number.isNaN(waiting) || pipe.width <= 2 || !(scales.backlog_bytes > 0)) return null;
  const side = inwards(pipe);
  const row = beside(curve, side * (pipe.width / 2 + 8));
  const filled = (PACKETS * waiting) / scales.backlog_bytes;
  const line: Point[] = [];
  for (let count = 0; count < PACKETS; count++) {
    const place = along(row, STEP * (count + 0.5));
    if (!place) break;
    drawPacket(context, place, Math.min(Math.max(filled - count, 0), 1), own);
    line.push(place);
  }
  if (!line.length) return null;
  return { line, isLong: waiting > 0 && lengthOf(row) >= STEP * PACKETS + ROOM_FOR_TEXT };
}

/** How much waits, beside the end of its packets where no text and no pipe is; this text then takes its place. */
function drawBacklog(
  context: CanvasRenderingContext2D,
  { run, sample, own }: SmallDrawing,
  link: number,
  { line, isLong }: Row,
  taken: Box[],
  strokes: Stroke[],
): void {
  if (!isLong) return;
  const text = sizeText(run.table("link", "backlog_bytes")?.at(link, sample) ?? 0);
  context.font = `11px ${FONT}`;
  context.textAlign = "left";
  const width = context.measureText(text).width;
  const box = freeOf(
    [...line].reverse().flatMap((point) => placesAbout(point, width, BESIDE)),
    taken,
    strokes,
  );
  if (!box) return;
  taken.push(box);
  const { x, y } = baseOf(box);
  outlined(context, text, x, y, own.soft, own.paper);
}

const ROOM_FOR_TEXT = 30;
/** How far the text of a queue is from the middle of a packet. */
const BESIDE = 9;
/** Between a text and a line there is this much room. */
const CLEAR = 1.5;
const PACKET = 6;
const STEP = 8;

function drawPacket(context: CanvasRenderingContext2D, { x, y }: Point, share: number, own: Inks): void {
  const left = x - PACKET / 2;
  const top = y - PACKET / 2;
  context.lineWidth = 1;
  context.strokeStyle = own.edge;
  context.strokeRect(left + 0.5, top + 0.5, PACKET - 1, PACKET - 1);
  context.fillStyle = own.ink;
  if (share > 0) context.fillRect(left, top + PACKET * (1 - share), PACKET, PACKET * share);
}

/** Names stand outside of bowed pipes, and queues inside. */
const inwards = ({ bow }: Pipe): number => (bow > 0 ? -1 : 1);

/** The name of a link and its capacity, beside its middle; gives the place that they take. */
function drawName(context: CanvasRenderingContext2D, drawing: SmallDrawing, pipe: Pipe, curve: Point[]): Box {
  const { run, sample, own, nodes, view } = drawing;
  const { links } = run.header;
  const i = Math.floor((curve.length - 1) / 2);
  const [before, here, after] = [curve[i - 1], curve[i], curve[i + 1]] as [Point, Point, Point];
  const length = Math.hypot(after.x - before.x, after.y - before.y) || 1;
  const outwards = -inwards(pipe);
  const normal = { x: (outwards * (after.y - before.y)) / length, y: (-outwards * (after.x - before.x)) / length };
  const [source, target] = [links.source[pipe.link] as number, links.target[pipe.link] as number];
  const name = links.name[pipe.link] ?? "";
  const ends = [`${nodes.name[source]}-${nodes.name[target]}`, `${nodes.name[target]}-${nodes.name[source]}`];
  const title = ends.includes(name) ? "" : name;
  const capacity = capacityAt(run, pipe.link, sample);
  const facts = Number.isFinite(capacity) ? rateText(capacity) : "no limit";
  // Text is wider than high, so that it needs more room beside a steep link.
  const isSteep = Math.abs(normal.x) > 0.6;
  context.font = `600 12.5px ${FONT}`;
  const width = context.measureText(title).width;
  context.font = `12px ${FONT}`;
  const all = width + context.measureText(` ${facts}`).width;
  // A short level link has room for one of both.
  const isShort = !isSteep && width + context.measureText(facts).width > lengthOf(curve) + 30;
  // Beside a slanted link the middle of a text is as far as keeps its nearer end off the link.
  const half = (title && !isShort ? all : context.measureText(title || facts).width) / 2;
  const far = pipe.width / 2 + (isSteep ? 11 : 3 + half * Math.abs(normal.x) + 8 * Math.abs(normal.y));
  // Where the picture ends too soon, the text stands on the other side of the link.
  const end = here.x + normal.x * far + Math.sign(normal.x) * all;
  const side = isSteep && (end < 0 || end > view.width) ? -1 : 1;
  const isRight = side * normal.x > 0;
  const x = here.x + side * normal.x * far;
  const y = here.y + side * normal.y * far + 4;
  context.textAlign = isSteep ? (isRight ? "left" : "right") : "center";
  if (!title || isShort) {
    const text = title || facts;
    const long = context.measureText(text).width;
    outlined(context, text, x, y, own.ink, own.paper);
    return boxOf(isSteep ? (isRight ? x : x - long) : x - long / 2, y, long);
  }
  const start = isSteep ? (isRight ? x : x - all) : x - all / 2;
  context.textAlign = "left";
  outlined(context, ` ${facts}`, start + width, y, own.soft, own.paper);
  context.font = `600 12.5px ${FONT}`;
  outlined(context, title, start, y, own.ink, own.paper);
  return boxOf(start, y, all);
}

function drawNode(context: CanvasRenderingContext2D, name: string, { x, y }: Point, own: Inks): void {
  const reach = reachOf(context, name);
  context.beginPath();
  context.roundRect(x - reach, y - NODE_HEIGHT / 2, 2 * reach, NODE_HEIGHT, NODE_HEIGHT / 2);
  context.fillStyle = own.ink;
  context.fill();
  context.fillStyle = own.paper;
  context.textAlign = "center";
  context.fillText(name, x, y + 4.5);
}

/** A text with a rim of paper, so that it can be read on whatever it lies. */
function outlined(
  context: CanvasRenderingContext2D,
  text: string,
  x: number,
  y: number,
  ink: string,
  paper: string,
): void {
  context.lineJoin = "round";
  context.lineWidth = 4;
  context.strokeStyle = paper;
  context.strokeText(text, x, y);
  context.fillStyle = ink;
  context.fillText(text, x, y);
}

function stroke(context: CanvasRenderingContext2D, curve: Point[], width: number, colour: string): void {
  context.strokeStyle = colour;
  context.lineWidth = width;
  context.lineJoin = "round";
  context.beginPath();
  for (const { x, y } of curve) context.lineTo(x, y);
  context.stroke();
}
