import { expect, test } from "vitest";

import { decodeTable, type Header, Run } from "./data";

/** Writes an array as Python does: each value by exclusive or with the one before it, then byte planes. */
function encoded(rows: number[][]): Uint8Array {
  const changes = rows.flatMap((row) => {
    const bits = new Uint32Array(new Float32Array(row).buffer);
    return [...bits].map((value, i) => (value ^ (i ? (bits[i - 1] as number) : 0)) >>> 0);
  });
  const bytes = new Uint8Array(new Uint32Array(changes).buffer);
  const size = changes.length;
  return bytes.map((_, i) => bytes[(i % size) * 4 + Math.floor(i / size)] as number);
}

const header = {
  kind: "run",
  times_s: [0, 0.5, 1],
  connections: { name: ["a", "b"] },
  subflows: { name: ["a/1", "b/1", "b/2"], connection: [0, 1, 1], path: [[0], [0], [1]] },
  series: [{ of: "connection", name: "error", rows: 2, columns: 3, start: 0 }],
} as unknown as Header;

test("an array comes back as it was written", () => {
  const blob = encoded([
    [1.5, 1.5, Number.NaN],
    [-2, 0, 1e30],
  ]);
  const table = decodeTable(blob, { of: "link", name: "carried_bps", rows: 2, columns: 3, start: 0 });
  expect([...table.row(0)]).toEqual([1.5, 1.5, Number.NaN]);
  expect([...table.row(1)]).toEqual([-2, 0, Math.fround(1e30)]);
  expect(table.at(1, 0)).toBe(-2);
});

test("data that end too early are refused", () => {
  const place = { of: "link", name: "carried_bps", rows: 2, columns: 3, start: 8 };
  expect(() => decodeTable(new Uint8Array(24), place)).toThrow("the data end within link carried_bps");
});

test("the sample of a time is the last one until then", () => {
  const run = new Run(header, new Uint8Array(24));
  expect([-1, 0, 0.4999, 0.5, 0.9, 7].map((time) => run.sampleAt(time))).toEqual([0, 0, 0, 1, 1, 2]);
});

test("what was not recorded has no table", () => {
  const run = new Run(header, new Uint8Array(24));
  expect(run.table("link", "backlog_bytes")).toBeUndefined();
  expect(run.table("connection", "error")).toBe(run.table("connection", "error"));
  expect(run.subflowsOf).toEqual([[0], [1, 2]]);
});

test("what comes later is there once the run is completed, and what was decoded before stays", () => {
  const late = {
    ...header,
    first_bytes: 24,
    series: [...header.series, { of: "subflow", name: "granted_bps", rows: 1, columns: 3, start: 24 }],
  } as unknown as Header;
  const first = new Run(
    late,
    encoded([
      [1, 2, 3],
      [4, 5, 6],
    ]),
  );
  const error = first.table("connection", "error");
  expect(first.table("subflow", "granted_bps")).toBeUndefined();
  const whole = first.completed(encoded([[7, 8, 9]]));
  expect([...(whole.table("subflow", "granted_bps")?.row(0) ?? [])]).toEqual([7, 8, 9]);
  expect(whole.table("connection", "error")).toBe(error);
});
