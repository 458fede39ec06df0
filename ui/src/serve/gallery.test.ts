import { expect, test } from "vitest";

import { groupsOf } from "./Gallery";
import type { ScenarioFacts } from "./server";

const file = (name: string, shipped: boolean): ScenarioFacts => ({
  id: name,
  file: name,
  title: "",
  description: "",
  shipped,
});

test("classics stand first, then what is the reader's own", () => {
  const files = [
    file("a.toml", true),
    file("classics/b.toml", true),
    file("mine.toml", false),
    file("deep-er/x.toml", false),
  ];
  expect(groupsOf(files).map(([name, own]) => [name, own.length])).toEqual([
    ["Classics", 1],
    ["Scenarios in your folder", 1],
    ["Examples", 1],
    ["Deep er", 1],
  ]);
  // One group needs no name.
  expect(groupsOf([file("a.toml", true)])[0]?.[0]).toBe("");
});
