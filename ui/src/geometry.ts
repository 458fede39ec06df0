/** Where nodes and links lie on the canvas; lengths in CSS pixels. */

import type { Links, Nodes } from "./data";

export interface View {
  /** Pixels for a unit of the places; y of the places goes upwards. */
  scale: number;
  x: number;
  y: number;
}

export interface Point {
  x: number;
  y: number;
}

/** Room around the nodes, for names and buttons. */
const MARGIN = 40;

/** The view in which all nodes are seen. */
export function fitted(nodes: Nodes, width: number, height: number): View {
  const [left, right] = extent(nodes.x);
  const [low, high] = extent(nodes.y);
  const scales = [(width - 2 * MARGIN) / (right - left), (height - 2 * MARGIN) / (high - low)];
  const scale = Math.max(Math.min(...scales.filter((s) => Number.isFinite(s) && s > 0), 1e9), 1e-9);
  const sure = right > left || high > low ? scale : 1;
  return { scale: sure, x: width / 2 - (sure * (left + right)) / 2, y: height / 2 + (sure * (low + high)) / 2 };
}

function extent(values: number[]): [number, number] {
  let [least, most] = [Number.POSITIVE_INFINITY, Number.NEGATIVE_INFINITY];
  for (const value of values) {
    least = Math.min(least, value);
    most = Math.max(most, value);
  }
  return values.length ? [least, most] : [0, 0];
}

export function placed(nodes: Nodes, node: number, view: View): Point {
  return { x: view.x + view.scale * (nodes.x[node] ?? 0), y: view.y - view.scale * (nodes.y[node] ?? 0) };
}

/** A view zoomed by a factor about a point that stays where it is. */
export function zoomed(view: View, factor: number, about: Point): View {
  return {
    scale: view.scale * factor,
    x: about.x + (view.x - about.x) * factor,
    y: about.y + (view.y - about.y) * factor,
  };
}

/**
 * Widths by the logarithm of capacity, from `least` for the least capacity of the page to `most` for the greatest.
 *
 * What has no limit is as wide as the widest; where all capacities are the same, so are widths.
 * Narrow ones are one pixel wide: such lines are drawn several times faster, and a large network has them all over.
 */
export function linkWidths(links: Links, capacities: [number, number], least: number, most: number): number[] {
  return byCapacity(links, capacities, least, most).map((width) => (width < NARROW ? 1 : width));
}

const NARROW = 1.5;

function byCapacity(links: Links, capacities: [number, number], least: number, most: number): number[] {
  const [low, high] = capacities.map(Math.log) as [number, number];
  return links.capacity_bps.map((capacity) => {
    if (!(high > low)) return 0.6 * most;
    if (capacity === null) return most;
    return capacity > 0 ? least + ((most - least) * (Math.log(capacity) - low)) / (high - low) : least;
  });
}

/** How far each link lies to the left of the straight line; a link and its twin share a lane. */
export function lanes(links: Links, widths: number[]): number[] {
  const together = new Map<string, number[]>();
  links.source.forEach((source, link) => {
    const twin = links.twin[link];
    if (twin != null && twin < link) return;
    const target = links.target[link] as number;
    const key = `${Math.min(source, target)} ${Math.max(source, target)}`;
    together.set(key, [...(together.get(key) ?? []), link]);
  });
  const beside: number[] = links.source.map(() => 0);
  for (const own of together.values()) {
    const step = Math.max(...own.map((link) => widths[link] as number)) + 2;
    own.forEach((link, rank) => {
      const offset = (rank - (own.length - 1) / 2) * step;
      beside[link] = (links.source[link] as number) < (links.target[link] as number) ? offset : -offset;
      const twin = links.twin[link];
      if (twin != null) beside[twin] = -(beside[link] as number);
    });
  }
  return beside;
}

/** How far along its own half each link has its queue, from 0 to 1; those of parallel links lie apart. */
export function queuePlaces(links: Links): number[] {
  const ends = links.source.map((source, link) => `${source} ${links.target[link]}`);
  const counts = new Map<string, number>();
  const ranks = ends.map((key) => {
    const rank = (counts.get(key) ?? 0) + 1;
    counts.set(key, rank);
    return rank;
  });
  return ends.map((key, link) => (0.9 * (ranks[link] as number)) / ((counts.get(key) as number) + 1));
}

/** The half of a link that is its own: from the node where it begins to the middle. */
export function half(start: Point, end: Point, lane: number): [Point, Point] {
  const length = Math.hypot(end.x - start.x, end.y - start.y) || 1;
  // Canvas y goes downwards, so left of the direction is (dy, -dx).
  const left = { x: ((end.y - start.y) / length) * lane, y: (-(end.x - start.x) / length) * lane };
  return [
    { x: start.x + left.x, y: start.y + left.y },
    { x: (start.x + end.x) / 2 + left.x, y: (start.y + end.y) / 2 + left.y },
  ];
}

/** The halves of all links. */
export function halves(nodes: Nodes, links: Links, beside: number[], view: View): [Point, Point][] {
  return links.source.map((source, link) => {
    const target = links.target[link] as number;
    return half(placed(nodes, source, view), placed(nodes, target, view), beside[link] as number);
  });
}

/** How far a point is from a line of several pieces. */
export function distanceTo(point: Point, line: Point[]): number {
  let least = Number.POSITIVE_INFINITY;
  for (let i = 1; i < line.length; i++) {
    least = Math.min(least, distance(point, [line[i - 1] as Point, line[i] as Point]));
  }
  return least;
}

/** How far a point is from a piece of line. */
export function distance(point: Point, [a, b]: [Point, Point]): number {
  const [dx, dy] = [b.x - a.x, b.y - a.y];
  const along = ((point.x - a.x) * dx + (point.y - a.y) * dy) / (dx * dx + dy * dy || 1);
  const t = Math.min(Math.max(along, 0), 1);
  return Math.hypot(point.x - a.x - t * dx, point.y - a.y - t * dy);
}
