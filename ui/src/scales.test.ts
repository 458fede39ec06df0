import { expect, test } from "vitest";

import type { Run } from "./data";
import { scalesOf } from "./scales";

const run = (capacity_bps: (number | null)[], backlog?: number[]): Run =>
  ({
    header: { links: { capacity_bps } },
    table: () => backlog && { values: new Float32Array(backlog) },
  }) as unknown as Run;

test("the largest disc and the widest link are those of all runs together", () => {
  const runs = [run([1e6, null], [0, 300, Number.NaN]), run([1e8, 0], [0, 5000, 40]), run([2e6])];
  expect(scalesOf(runs)).toEqual({ backlog_bytes: 5000, capacity_bps: [1e6, 1e8] });
  expect(scalesOf([runs[2] as Run]).backlog_bytes).toBe(0);
});
