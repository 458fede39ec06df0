import { expect, test } from "vitest";

import { chartCsv, csvText, fileName } from "./save";

test("a table as CSV quotes what needs it and leaves out what is not there", () => {
  expect(
    csvText(
      ["name", "rate_bps"],
      [
        ['a, "b"', 1.5],
        ["c", Number.NaN],
        ["d", null],
      ],
    ),
  ).toBe('name,rate_bps\r\n"a, ""b""",1.5\r\nc,\r\nd,\r\n');
});

test("a chart is saved as far as it is seen", () => {
  const lines = [{ label: "a", colour: "#000000", values: new Float32Array([1, 2, Number.NaN, 4]) }];
  expect(chartCsv({ lines }, [0, 1, 2, 3], [1, 2])).toBe("time_s,a\r\n1,2\r\n2,\r\n");
});

test("a file has a name without signs", () => {
  expect(fileName("Zürich: rates / all", "csv")).toBe("Zürich-rates-all.csv");
  expect(fileName("///", "png")).toBe("anabranch.png");
});
