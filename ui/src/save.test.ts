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

test("what was sampled is saved with the digits that it has, instants with all", () => {
  // With 12 bits behind the first one 7 Mbit/s is 7,000,064 bit/s, and 8 Mbit/s is 7,999,488; 6,789 packets are exact.
  const lines = [{ label: "a", colour: "#000000", values: new Float32Array([7000064, 7999488, 6789, 0]) }];
  expect(chartCsv({ lines }, [1234.567, 1234.568, 1234.569, 1235], [0, 9999])).toBe(
    "time_s,a\r\n1234.567,7000000\r\n1234.568,8000000\r\n1234.569,6789\r\n1235,0\r\n",
  );
});

test("a file has a name without signs", () => {
  expect(fileName("Zürich: rates / all", "csv")).toBe("Zürich-rates-all.csv");
  expect(fileName("///", "png")).toBe("anabranch.png");
});
