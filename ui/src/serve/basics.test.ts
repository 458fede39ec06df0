import { expect, test } from "vitest";

import { ownersOf, put, slotsOf } from "./Basics";

test("a protocol is chosen where the scenario has it", () => {
  const paths = (value: Parameters<typeof slotsOf>[0]) => slotsOf(value).map((slot) => slot.path.join("."));
  expect(paths({})).toEqual(["defaults.connection.protocol"]);
  expect(paths({ connection: [{ name: "a" }, { name: "b" }] })).toEqual(["defaults.connection.protocol"]);
  expect(paths({ connection: [{ protocol: "lia" }, { name: "b" }] })).toEqual([
    "defaults.connection.protocol",
    "connection.0.protocol",
  ]);
  expect(paths({ connection: [{ protocol: "lia" }], traffic: [{ protocol: { reno: {} } }] })).toEqual([
    "connection.0.protocol",
    "traffic.0.protocol",
  ]);
  expect(slotsOf({ connection: [{ name: "phone", protocol: "lia" }] })[0]?.label).toBe("protocol of phone");
});

test("of many protocols the first ones are chosen here, and all are counted", () => {
  const connection = ["a", "b", "c", "d", "e", "f", "g"].map((name) => ({ name, protocol: "reno" }));
  expect(slotsOf({ connection }).length).toBe(6);
  expect(ownersOf({ connection: [...connection, { name: "h" }] }).length).toBe(7);
});

test("a value is put at its place, and empty tables go", () => {
  expect(put({}, ["defaults", "connection", "protocol"], "lia")).toEqual({
    defaults: { connection: { protocol: "lia" } },
  });
  expect(
    put({ defaults: { connection: { protocol: "lia" } } }, ["defaults", "connection", "protocol"], undefined),
  ).toEqual({});
  const two = { connection: [{ name: "a" }, { name: "b" }] };
  expect(put(two, ["connection", "1", "protocol"], "reno")).toEqual({
    connection: [{ name: "a" }, { name: "b", protocol: "reno" }],
  });
});
