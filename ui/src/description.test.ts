import { expect, test } from "vitest";

import { blocksOf, piecesOf } from "./description";

test("paragraphs end at empty lines, and drawings keep their spaces", () => {
  const text = `Three connections
come and go.

  west --- middle
     '------ east

"through" has both paths.
`;
  expect(blocksOf(text)).toEqual([
    { kind: "paragraph", text: "Three connections come and go." },
    { kind: "drawing", text: "west --- middle\n   '------ east" },
    { kind: "paragraph", text: '"through" has both paths.' },
  ]);
});

test("a drawing may have empty lines within, and lists have items", () => {
  expect(blocksOf("  a\n\n  b\n\nSee:\n- one\n  more of it\n- two\n\nEnd")).toEqual([
    { kind: "drawing", text: "a\n\nb" },
    { kind: "paragraph", text: "See:" },
    { kind: "list", items: ["one more of it", "two"] },
    { kind: "paragraph", text: "End" },
  ]);
  expect(blocksOf("")).toEqual([]);
});

test("code stands between backquotes, and signs stay signs", () => {
  expect(piecesOf("set `--set x=1` or <b>")).toEqual([
    { code: false, text: "set " },
    { code: true, text: "--set x=1" },
    { code: false, text: " or <b>" },
  ]);
  expect(piecesOf("a ` b")).toEqual([{ code: false, text: "a ` b" }]);
});
