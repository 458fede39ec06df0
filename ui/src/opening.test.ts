import { expect, test } from "vitest";

import type { Run, Table } from "./data";
import { openingRates, openingTime } from "./opening";

function run(rates: number[][], present: number[] | null, finished: boolean | undefined = true): Run {
  const table = (of: string, name: string) => {
    const rows = of === "run" && name === "present" ? present && [present] : name === "granted_bps" ? rates : null;
    return rows ? ({ rows: rows.length, at: (r: number, s: number) => rows[r]?.[s] } as unknown as Table) : undefined;
  };
  const times = (rates[0] ?? []).map((_, i) => i);
  return { header: { kind: "run", finished }, times, table, sampleAt: (t: number) => t } as unknown as Run;
}

test("the page opens where most connections are there, in the middle of the longest such time", () => {
  const rates = [
    [5, 5, 5, 5, 5, 5, 5, 0],
    [0, 0, 5, 5, 5, 5, 0, 0],
  ];
  expect(openingTime([run(rates, [1, 1, 2, 2, 2, 2, 1, 0])])).toBe(4);
  // Without the recorded number of connections their rates tell.
  expect(openingTime([run(rates, null)])).toBe(4);
});

test("charts begin with delivered rates where windows were recorded", () => {
  const recorded = (...variables: string[]) => ({ variables: () => variables }) as unknown as Run;
  expect(openingRates([recorded("granted_bps")])).toBe("granted_bps");
  expect(openingRates([recorded(), recorded("window_bytes", "rtt_s")])).toBe("delivered_bps");
});

test("connections that are there and send nothing yet do not count", () => {
  expect(openingTime([run([[0, 0, 0, 0, 0, 9, 9, 9]], [3, 3, 3, 3, 3, 3, 3, 3])])).toBe(6);
});

test("two runs open where both have most going on, and a run that grows at its end", () => {
  const [early, late] = [run([[9, 9, 9, 9, 9]], [4, 4, 4, 1, 1]), run([[9, 9, 9, 9, 9]], [1, 1, 2, 2, 2])];
  expect(openingTime([early, late])).toBe(2);
  const growing = run([[9, 9, 9]], [1, 1, 1]);
  growing.header.finished = undefined as never;
  expect(openingTime([growing])).toBe(2);
});

test("runs without samples open at their only instant", () => {
  expect(openingTime([run([[]], null)])).toBe(0);
});
