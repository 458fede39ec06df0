import { expect, test } from "vitest";

import words from "../../docs/words.md?raw";
import { TERMS } from "./terms";

const sources = import.meta.glob<string>(["./**/*.ts", "./**/*.tsx", "!./terms*.ts"], {
  query: "?raw",
  import: "default",
  eager: true,
});

test("the page and the documentation give words one meaning", () => {
  const rows = [...words.matchAll(/^\| ([^|]+) \| ([^|]+) \|/gm)].map(([, word, means]) => [word, means] as const);
  const documented = new Map(rows);
  for (const { word, means } of Object.values(TERMS)) expect([word, documented.get(word)]).toEqual([word, means]);
});

test("every word is explained somewhere on the page", () => {
  const text = Object.values(sources).join("\n");
  expect(Object.keys(TERMS).filter((name) => !text.includes(`"${name}"`))).toEqual([]);
});
