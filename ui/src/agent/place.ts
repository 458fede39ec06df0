/** Where the nodes of a network lie: on the map, or by their links. */

import type { Nodes } from "../data";

interface Graph {
  count: number;
  source: number[];
  target: number[];
}

/** Of larger networks nodes lie on a circle: to move them takes too long. */
const MOST_MOVED = 300;
const ROUNDS = 200;
const FAR = 0.25;

/** Places of nodes with a position each, north up; a degree of longitude is as wide as in the middle of the network. */
export function onEarth(longitude: number[], latitude: number[]): Pick<Nodes, "x" | "y"> {
  const middle = (Math.min(...latitude) + Math.max(...latitude)) / 2;
  const width = Math.cos((middle * Math.PI) / 180);
  return { x: longitude.map((degrees) => degrees * width), y: [...latitude] };
}

/** Places by links: nodes keep apart, and links draw them together. The same network always has the same places. */
export function byLinks({ count, source, target }: Graph): Pick<Nodes, "x" | "y"> {
  const angle = (node: number) => (2 * Math.PI * node) / Math.max(count, 1);
  const x = Array.from({ length: count }, (_, node) => Math.cos(angle(node)));
  const y = Array.from({ length: count }, (_, node) => Math.sin(angle(node)));
  if (count > MOST_MOVED || count < 3) return { x, y };
  const wanted = 2 / Math.sqrt(count);
  for (let round = 0; round < ROUNDS; round++) {
    const most = 0.2 * (1 - round / ROUNDS);
    const dx = new Float64Array(count);
    const dy = new Float64Array(count);
    const pull = (a: number, b: number, force: (distance: number) => number) => {
      const [ax, ay, bx, by] = [x[a], y[a], x[b], y[b]] as [number, number, number, number];
      const distance = Math.max(Math.hypot(bx - ax, by - ay), 1e-3);
      const share = force(distance) / distance;
      dx[a] = (dx[a] as number) + share * (bx - ax);
      dy[a] = (dy[a] as number) + share * (by - ay);
      dx[b] = (dx[b] as number) - share * (bx - ax);
      dy[b] = (dy[b] as number) - share * (by - ay);
    };
    for (let a = 0; a < count; a++) {
      for (let b = a + 1; b < count; b++) pull(a, b, (distance) => -FAR * (wanted ** 2 / distance));
    }
    source.forEach((from, link) => {
      pull(from, target[link] as number, (distance) => FAR * (distance ** 2 / wanted));
    });
    for (let node = 0; node < count; node++) {
      const length = Math.hypot(dx[node] as number, dy[node] as number);
      const step = length > most ? most / length : 1;
      x[node] = (x[node] as number) + step * (dx[node] as number);
      y[node] = (y[node] as number) + step * (dy[node] as number);
    }
  }
  return { x, y };
}
