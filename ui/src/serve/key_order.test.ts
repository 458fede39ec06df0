import { expect, test } from "vitest";

import { sortedKeys } from "./key_order";

test("what is used most comes first, and the rest is folded", () => {
  const keys = ["after", "amount", "links", "loops", "name", "protocol", "qos", "source", "target"];
  expect(sortedKeys(keys, [])).toEqual({
    main: ["name", "source", "target", "protocol", "amount"],
    more: ["after", "links", "loops", "qos"],
  });
});

test("what is there already is never folded, nor is a small table", () => {
  const { main, more } = sortedKeys(["after", "links", "loops", "name", "qos", "relays"], ["qos"]);
  expect(main).toEqual(["name", "qos"]);
  expect(more).toEqual(["after", "links", "loops", "relays"]);
  expect(sortedKeys(["variant", "tie"], [])).toEqual({ main: ["variant", "tie"], more: [] });
  expect(sortedKeys(["a", "b", "c", "d"], [])).toEqual({ main: ["a", "b", "c", "d"], more: [] });
});
