import { expect, test } from "vitest";

import type { Header, Run } from "./data";
import { along, beside, curveOf, isFlat, isSmall, pipesOf, spread, trimmed, WIDEST } from "./pipes";

const header = {
  nodes: { name: ["home", "server"], x: [0, 100], y: [0, 0] },
  links: {
    name: ["wifi", "wifi~", "cellular", "cellular~"],
    source: [0, 1, 0, 1],
    target: [1, 0, 1, 0],
    twin: [1, 0, 3, 2],
    capacity_bps: [12e6, 12e6, 6e6, 6e6],
  },
} as unknown as Header;
const run = { header, subflowsOver: [[0], [], [1], []] } as unknown as Run;

test("more than two parallel links are narrower, with one scale for all", () => {
  const links = {
    name: ["a", "b", "c"],
    source: [0, 0, 0],
    target: [1, 1, 1],
    twin: [null, null, null],
    capacity_bps: [10e6, 10e6, 5e6],
  };
  const many = { header: { ...header, links }, subflowsOver: [[0], [1], [2]] } as unknown as Run;
  const widths = pipesOf(many, [5e6, 10e6]).map(({ width }) => width);
  expect(widths[0]).toBeLessThan(0.6 * WIDEST);
  expect(widths).toEqual([widths[0], widths[0], (widths[0] as number) / 2]);
});

test("links that connections use are pipes as wide as their capacity, and bow apart", () => {
  const pipes = pipesOf(run, [6e6, 12e6]);
  expect(pipes.map(({ link, width }) => [link, width])).toEqual([
    [0, WIDEST],
    [2, WIDEST / 2],
  ]);
  expect((pipes[0]?.bow ?? 0) + (pipes[1]?.bow ?? 0)).toBe(0);
  const [up, down] = pipes.map(
    (pipe) => curveOf(pipe, header.nodes, header.links, { scale: 3, x: 0, y: 0 })[14]?.y as number,
  );
  expect(Math.abs((up as number) - (down as number))).toBeGreaterThan(60);
});

test("many parallel links lie within the bow of three, and need a higher picture than two", () => {
  const of = (count: number) => {
    const links = Array.from({ length: count }, (_, i) => i);
    const own = {
      nodes: header.nodes,
      links: {
        name: links.map((i) => `l${i}`),
        source: links.map(() => 0),
        target: links.map(() => 1),
        twin: links.map(() => null),
        capacity_bps: links.map(() => 10e6),
      },
    } as unknown as Header;
    return pipesOf({ header: own, subflowsOver: links.map(() => [0]) } as unknown as Run, [10e6, 10e6]);
  };
  const widest = (count: number) => Math.max(...of(count).map(({ bow }) => bow));
  expect(widest(4)).toBeCloseTo(widest(3));
  expect(widest(2)).toBeCloseTo(widest(3) / 2);
  expect([1, 2, 3, 4].map((count) => isFlat(header.nodes, of(count)))).toEqual([true, true, false, false]);
});

test("both ways of a cable are drawn where both are used", () => {
  const both = { header, subflowsOver: [[0], [1], [], []] } as unknown as Run;
  expect(pipesOf(both, [6e6, 12e6]).map(({ link }) => link)).toEqual([0, 1, 2]);
});

test("a network of many nodes is not small", () => {
  expect(isSmall(header)).toBe(true);
  expect(isSmall({ ...header, nodes: { name: Array(7).fill("a"), x: [], y: [] } })).toBe(false);
  expect(isSmall({ ...header, nodes: { name: ["a"], x: [0], y: [0] } })).toBe(false);
});

test("very different capacities have widths that can be read", () => {
  const mixed = { header, subflowsOver: [[0], [], [1], []] } as unknown as Run;
  expect(pipesOf(mixed, [1e6, 48e6]).map(({ width }) => width)).toEqual([WIDEST / 2, WIDEST * Math.sqrt(1 / 8)]);
});

test("a network that is no map fills its room, and a row stays a row", () => {
  const square = { name: ["a", "b", "c"], x: [0, 100, 0], y: [0, 100, 100] };
  // 328 - 128 by 192 - 92 pixels are left: twice as wide as high.
  expect(spread(square, 328, 192).x).toEqual([0, 200, 0]);
  expect(spread({ ...square, longitude: [1, 2, null] }, 328, 192).x).toEqual([0, 100, 0]);
  const row = { name: ["a", "b", "c"], x: [0, 50, 100], y: [0, 1, 0] };
  expect([isFlat(row, []), isFlat(square, []), isFlat(header.nodes, [])]).toEqual([true, false, true]);
  expect(spread(row, 328, 192)).toEqual(row);
});

test("a line beside another one is as far from it as asked, and ends are cut off", () => {
  const line = [0, 10, 20, 30].map((x) => ({ x, y: 0 }));
  expect(beside(line, 5).map(({ y }) => y)).toEqual([-5, -5, -5, -5]);
  expect([along(line, 0), along(line, 15), along(line, 31)]).toEqual([{ x: 0, y: 0 }, { x: 15, y: 0 }, null]);
  expect(trimmed(line, 8, 8)).toEqual([
    { x: 10, y: 0 },
    { x: 20, y: 0 },
  ]);
});
