/** A small network as pipes between named nodes: parallel links bow apart, and each is as wide as its capacity. */

import type { Header, Links, Nodes, Run } from "./data";
import { type Point, placed, type View } from "./geometry";

/** A directed link as a pipe. */
export interface Pipe {
  link: number;
  /** How far its middle is from the straight line, to the left of its way, as a share of its length. */
  bow: number;
  /** How far it lies from the middle of its cable, to the left of its way, in pixels. */
  lane: number;
  width: number;
}

const MOST_NODES = 6;
const MOST_CABLES = 10;
/** The widest pipe, the least, and that of a link over which no connection has a path. */
export const WIDEST = 30;
const NARROWEST = 7;
const UNUSED = 2;
/** Parallel links bow apart by this share of their length each; the outermost of many bow no more. */
const BOW = 0.34;
/** Of more parallel links than these pipes are narrower by a factor: names and queues have room between them. */
const ROOMY = 2;
const CLOSE = 0.55;

/** Whether a network is small enough for names, capacities and queues at every link. */
export function isSmall({ nodes, links }: Pick<Header, "nodes" | "links">): boolean {
  const cables = links.twin.filter((twin, link) => twin == null || twin > link).length;
  return nodes.name.length >= 2 && nodes.name.length <= MOST_NODES && cables <= MOST_CABLES;
}

/** The pipes of a network; of a link and its twin the one that nobody uses is left out if the other one is used. */
export function pipesOf(run: Run, capacities: [number, number]): Pipe[] {
  const { links } = run.header;
  const isUsed = links.name.map((_, link) => (run.subflowsOver[link]?.length ?? 0) > 0);
  const cables = new Map<string, number[][]>();
  links.source.forEach((source, link) => {
    const twin = links.twin[link];
    if (twin != null && twin < link) return;
    const both = twin == null ? [link] : [link, twin];
    const used = both.filter((own) => isUsed[own]);
    const target = links.target[link] as number;
    const key = `${Math.min(source, target)} ${Math.max(source, target)}`;
    cables.set(key, [...(cables.get(key) ?? []), used.length ? used : [link]]);
  });
  const most = Math.max(0, ...[...cables.values()].map((together) => together.length));
  const widest = most > ROOMY ? CLOSE * WIDEST : WIDEST;
  const pipes: Pipe[] = [];
  for (const together of cables.values()) {
    const outermost = (together.length - 1) / 2;
    together.forEach((own, rank) => {
      const bow = (rank - outermost) * Math.min(BOW, BOW / outermost);
      const widths = own.map((link) =>
        isUsed[link] ? widthOf(links.capacity_bps[link] ?? null, capacities, widest) : UNUSED,
      );
      own.forEach((link, i) => {
        const isForward = (links.source[link] as number) < (links.target[link] as number);
        const width = widths[i] as number;
        // The two ways of a cable lie beside each other, each to the right of its own way.
        const lane = own.length > 1 ? -(width / 2 + 2) : 0;
        pipes.push({ link, bow: isForward ? bow : -bow, lane, width });
      });
    });
  }
  return pipes;
}

/** Where capacities differ by more than this, widths go by their square roots, so that narrow pipes can be read. */
const RATIO = 4;

/** As wide as the capacity, on one scale for the page; what has no limit is the widest. */
function widthOf(capacity: number | null, [least, most]: [number, number], widest: number): number {
  if (capacity === null || !(most > 0)) return widest;
  const share = capacity / most;
  return Math.max(NARROWEST, widest * (most > RATIO * least ? Math.sqrt(share) : share));
}

const STEPS = 28;

/** The middle line of a pipe. */
export function curveOf(pipe: Pipe, nodes: Nodes, links: Links, view: View): Point[] {
  const a = placed(nodes, links.source[pipe.link] as number, view);
  const b = placed(nodes, links.target[pipe.link] as number, view);
  const length = Math.hypot(b.x - a.x, b.y - a.y) || 1;
  const left = { x: (b.y - a.y) / length, y: -(b.x - a.x) / length };
  // A quadratic curve reaches half as far as its middle point.
  const control = 2 * pipe.bow * Math.min(SHORTER * length, LONGEST);
  const middle = { x: (a.x + b.x) / 2 + left.x * control, y: (a.y + b.y) / 2 + left.y * control };
  const curve = Array.from({ length: STEPS + 1 }, (_, step) => {
    const t = step / STEPS;
    const [p, q, r] = [(1 - t) ** 2, 2 * t * (1 - t), t ** 2];
    return { x: p * a.x + q * middle.x + r * b.x, y: p * a.y + q * middle.y + r * b.y };
  });
  return pipe.lane ? beside(curve, pipe.lane) : curve;
}

/** Bows of longer links are those of this length, in pixels; shorter links bow more for their length. */
const LONGEST = 300;
const SHORTER = 1.5;

/** A line at a distance to the left of another one. */
export function beside(curve: Point[], distance: number): Point[] {
  if (distance === 0) return curve;
  return curve.map((point, i) => {
    const [before, after] = [curve[Math.max(i - 1, 0)] as Point, curve[Math.min(i + 1, curve.length - 1)] as Point];
    const length = Math.hypot(after.x - before.x, after.y - before.y) || 1;
    return {
      x: point.x + ((after.y - before.y) / length) * distance,
      y: point.y - ((after.x - before.x) / length) * distance,
    };
  });
}

/** How long a line is. */
export const lengthOf = (line: Point[]): number =>
  line.reduce(
    (sum, { x, y }, i) => (i ? sum + Math.hypot(x - (line[i - 1] as Point).x, y - (line[i - 1] as Point).y) : 0),
    0,
  );

/** The point of a line at a distance from its beginning; nothing beyond its end. */
export function along(line: Point[], distance: number): Point | null {
  let left = distance;
  for (let i = 1; i < line.length; i++) {
    const [a, b] = [line[i - 1] as Point, line[i] as Point];
    const length = Math.hypot(b.x - a.x, b.y - a.y);
    if (left <= length) {
      const t = length > 0 ? left / length : 0;
      return { x: a.x + t * (b.x - a.x), y: a.y + t * (b.y - a.y) };
    }
    left -= length;
  }
  return null;
}

/** The part of a line outside of circles about its ends. */
export function trimmed(curve: Point[], start: number, end: number): Point[] {
  const [first, last] = [curve[0] as Point, curve[curve.length - 1] as Point];
  const own = curve.filter(
    ({ x, y }) => Math.hypot(x - first.x, y - first.y) >= start && Math.hypot(x - last.x, y - last.y) >= end,
  );
  return own.length >= 2 ? own : curve;
}

/** Room around the nodes of a small network, for names, pipes and queues. */
const ROOM = { x: 64, y: 46 };

/** Places that are not of the earth are stretched by so much at most, so that they fill the room. */
const STRETCH = 2.5;

/** The nodes of a small network with places that fill a room of this size; those on the earth stay as they are. */
export function spread(nodes: Nodes, width: number, height: number): Nodes {
  const isOfEarth = nodes.longitude?.some((longitude) => longitude != null) ?? false;
  const [wide, high] = [extent(nodes.x), extent(nodes.y)];
  if (isOfEarth || !(wide > 0 && high > 0 && width > 2 * ROOM.x && height > 2 * ROOM.y)) return nodes;
  const wanted = (width - 2 * ROOM.x) / (height - 2 * ROOM.y);
  // What lies nearly in a row stays in a row.
  const stretch = wide > FLAT * high ? 1 : Math.min(Math.max(wanted / (wide / high), 1 / STRETCH), STRETCH);
  return { ...nodes, x: nodes.x.map((x) => x * stretch) };
}

const FLAT = 5;

const extent = (values: number[]): number => Math.max(...values) - Math.min(...values);

/** Whether all nodes lie nearly in a row, with at most two links beside each other. */
export const isFlat = (nodes: Nodes, pipes: Pipe[]): boolean =>
  (nodes.name.length === 2 || extent(nodes.x) > FLAT * extent(nodes.y)) &&
  pipes.every(({ bow }) => Math.abs(bow) <= BOW / 2);

/** The view in which all nodes of a small network are seen; two nodes lie beside each other. */
export function fittedSmall(nodes: Nodes, width: number, height: number): View {
  const [left, right] = [Math.min(...nodes.x), Math.max(...nodes.x)];
  const [low, high] = [Math.min(...nodes.y), Math.max(...nodes.y)];
  const scales = [(width - 2 * ROOM.x) / (right - left), (height - 2 * ROOM.y) / (high - low)];
  const scale = Math.min(...scales.filter((s) => Number.isFinite(s) && s > 0), 1e9);
  const sure = right > left || high > low ? scale : 1;
  return { scale: sure, x: width / 2 - (sure * (left + right)) / 2, y: height / 2 + (sure * (low + high)) / 2 };
}
