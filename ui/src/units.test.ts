import { expect, test } from "vitest";

import { countText, errorText, NONE, priceText, rateText, shareText, sizeText, spanText, textOf } from "./units";

test("rates and sizes take the prefix that leaves few digits", () => {
  expect([0, 999, 1000, 7.31e6, 1e9, 9.9999e8].map(rateText)).toEqual([
    "0 bit/s",
    "999 bit/s",
    "1 kbit/s",
    "7.31 Mbit/s",
    "1 Gbit/s",
    "1 Gbit/s",
  ]);
  expect(sizeText(1500)).toBe("1.5 kB");
  expect(rateText(Number.POSITIVE_INFINITY)).toBe("unlimited");
});

test("times go down to nanoseconds", () => {
  expect([0, 4, 0.008, 2.5e-5, 3e-9].map(spanText)).toEqual(["0 s", "4 s", "8 ms", "25 µs", "3 ns"]);
});

test("errors have a sign, and those that nobody sees are none", () => {
  expect([0.0448, -0.5, 1e-7, -1e-7].map(errorText)).toEqual(["+4.48 %", "−50 %", "0 %", "0 %"]);
});

test("what is not there is a dash", () => {
  expect([rateText(null), sizeText(Number.NaN), spanText(undefined), errorText(Number.NaN), shareText(null)]).toEqual(
    Array(5).fill(NONE),
  );
});

test("a column has its unit in its name", () => {
  expect(textOf("granted_bps")(2e6)).toBe("2 Mbit/s");
  expect(textOf("window_bytes")(3000)).toBe("3 kB");
  expect(textOf("rtt_s")(0.01)).toBe("10 ms");
  expect(textOf("marked_share")(0.25)).toBe("25 %");
});

test("counts are whole, and prices have the unit of the utility", () => {
  expect([countText(3), countText(0.25), textOf("present")(1000), textOf("peak_packets")(40)]).toEqual([
    "3",
    "",
    "1000",
    "40 packets",
  ]);
  expect(priceText(1 / 6e6, 1)).toBe("167 per Gbit/s");
  expect(priceText(1 / 36e12, 2)).toBe("27800 per (Gbit/s)^2");
  expect(priceText(null, 1)).toBe("unlimited");
});
