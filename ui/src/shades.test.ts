import { expect, test } from "vitest";

import held from "../../tests/data/shades.json";
import { inks, shadesOf } from "./colours";

test("shades are those of the figures", () => {
  for (const [colour, shades] of Object.entries(held)) {
    expect(shadesOf(colour, inks(false)).map((shade) => shade.colour)).toEqual(shades);
  }
});
