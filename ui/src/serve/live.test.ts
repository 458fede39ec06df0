import { expect, test } from "vitest";

import type { Header } from "../data";
import { GrowingRun } from "./live";

const header = {
  kind: "run",
  times_s: [],
  connections: { name: ["a", "b"] },
  subflows: { name: ["a/1", "b/1"], connection: [0, 1], path: [[0], [0]] },
  series: [],
} as unknown as Header;

/** Writes a part as the server does: a size, a header, and planes of bytes, each value by exclusive or. */
function part(first: number, times: number[], rows: number[][], name = "granted_bps"): Uint8Array {
  const series = [{ of: "connection", name, rows: rows.length, columns: times.length, start: 0 }];
  const head = new TextEncoder().encode(JSON.stringify({ first, times_s: times, series }));
  const changes = rows.flatMap((row) => {
    const bits = new Uint32Array(new Float32Array(row).buffer);
    return [...bits].map((value, i) => (value ^ (i ? (bits[i - 1] as number) : 0)) >>> 0);
  });
  const bytes = new Uint8Array(new Uint32Array(changes).buffer);
  const frame = new Uint8Array(4 + head.length + bytes.length);
  new DataView(frame.buffer).setUint32(0, head.length, true);
  frame.set(head, 4);
  frame.set(
    bytes.map((_, i) => bytes[(i % changes.length) * 4 + Math.floor(i / changes.length)] as number),
    4 + head.length,
  );
  return frame;
}

test("parts put together are the whole, also where there was no room", () => {
  const growing = new GrowingRun(header);
  const all = Array.from({ length: 300 }, (_, i) => i);
  for (let first = 0; first < 300; first += 60) {
    const own = all.slice(first, first + 60);
    growing.add(part(first, own, [own, own.map((value) => 0 - value)]));
  }
  const run = growing.run();
  expect(run.times).toEqual(all);
  expect([...(run.table("connection", "granted_bps")?.row(1) ?? [])]).toEqual(all.map((value) => 0 - value));
  expect(run.table("connection", "granted_bps")?.at(0, 299)).toBe(299);
  expect(run.table("connection", "granted_bps")?.at(0, 300)).toBeNaN();
  expect(run.variables("connection")).toEqual(["granted_bps"]);
});

/** A run that has two samples of two connections. */
function begun(): GrowingRun {
  const growing = new GrowingRun(header);
  growing.add(
    part(
      0,
      [1, 2],
      [
        [5, 6],
        [7, 8],
      ],
    ),
  );
  return growing;
}

test("a run stays as it was looked at while the growing one goes on", () => {
  const growing = begun();
  const before = growing.run();
  growing.add(part(2, [3], [[9], [10]]));
  expect(before.times).toEqual([1, 2]);
  expect([...(before.table("connection", "granted_bps")?.row(0) ?? [])]).toEqual([5, 6]);
  expect(growing.run().table("connection", "granted_bps")?.at(1, 2)).toBe(10);
});

test("what is first told of later has a gap before", () => {
  const growing = begun();
  growing.add(part(2, [3], [[1], [2]], "error"));
  const error = growing.run().table("connection", "error");
  expect([...(error?.row(0) ?? [])]).toEqual([Number.NaN, Number.NaN, 1]);
  expect(growing.run().table("connection", "granted_bps")?.at(0, 2)).toBeNaN();
});

test("samples with a gap are refused", () => {
  expect(() => new GrowingRun(header).add(part(1, [1], [[5], [6]]))).toThrow("have a gap");
});
