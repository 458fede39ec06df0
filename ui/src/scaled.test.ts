import { expect, test } from "vitest";

import { extremesOf, unitOf } from "./scaled";

test("a column has one unit, which fits its greatest value, and three digits", () => {
  const rates = unitOf("granted_bps", 8.14e6);
  expect(rates.name).toBe("Mbit/s");
  expect([8.14e6, 5.2e6, 0, null, Number.NaN].map(rates.text)).toEqual(["8.14", "5.20", "0.00", "–", "–"]);
  expect(unitOf("granted_bps", 40e9).text(3.197e9)).toBe("3.20");
  expect(unitOf("capacity_bps", 400e9).text(Number.POSITIVE_INFINITY)).toBe("unlimited");
  expect([unitOf("rtt_s", 0.03), unitOf("backlog_bytes", 1.2e5), unitOf("residual", 0.5)].map((u) => u.name)).toEqual([
    "ms",
    "kB",
    "%",
  ]);
});

test("small values keep a digit, and errors their sign", () => {
  expect(unitOf("level_bps", 4e9).text(3e6)).toBe("0.003");
  const errors = unitOf("error", 0.5);
  expect([0.125, -0.5, 1e-9].map(errors.text)).toEqual(["+12.5", "−50.0", "0.0"]);
  expect([0.5, -0.5, 0].map(errors.tick)).toEqual(["+50", "−50", "0"]);
});

test("counts and packets are whole, and ticks have no needless zeros", () => {
  expect(unitOf("present", 40).text(3)).toBe("3");
  expect(unitOf("peak_packets", 589)).toMatchObject({ name: "packets" });
  expect([0, 2.5e6, 5e6].map(unitOf("granted_bps", 9e6).tick)).toEqual(["0", "2.5", "5"]);
  expect(unitOf("granted_bps", 0).name).toBe("bit/s");
});

test("a value beyond its axis has no more digits than others", () => {
  // The axis reaches to 900 B, where peaks are cut.
  const bytes = unitOf("backlog_bytes", 900);
  expect([11406, 1425, 87.5].map(bytes.text)).toEqual(["11406", "1425", "87.5"]);
  expect(extremesOf(Float32Array.of(3, Number.NaN, -2, 11406))).toEqual([-2, 11406]);
});
