import { expect, test } from "vitest";

import { editsBetween } from "./edits";
import type { Edit, Tables, Value } from "./server";

const BEFORE: Tables = {
  title: "Two",
  run: { duration: "4 s", record: ["links"] },
  link: [{ source: "a" }, { source: "b" }, { source: "c" }],
};

const written = (after: Tables, before = BEFORE) =>
  editsBetween(before, after).map(({ path, value }) => `${path.join(".")} = ${JSON.stringify(value)}`);

test("only what differs is edited", () => {
  expect(written(BEFORE)).toEqual([]);
  expect(written({ ...BEFORE, run: { duration: "5 s", record: ["links"], seed: 1 } })).toEqual([
    'run.duration = "5 s"',
    "run.seed = 1",
  ]);
  expect(written({ ...BEFORE, run: { record: ["grants", "links"] } })).toEqual([
    "run.duration = null",
    'run.record = ["grants","links"]',
  ]);
});

test("tables of lists are added, changed and removed one by one", () => {
  const [a, b, c] = BEFORE.link as Tables[];
  expect(written({ ...BEFORE, link: [a, b, c, { source: "d" }] as Value })).toEqual(['link.3 = {"source":"d"}']);
  expect(written({ ...BEFORE, link: [a, c] as Value })).toEqual(["link.1 = null"]);
  expect(written({ ...BEFORE, link: [a, b] as Value })).toEqual(["link.2 = null"]);
  expect(written({ ...BEFORE, link: [a, { source: "b", target: "x" }, c] as Value })).toEqual(['link.1.target = "x"']);
  const { link: _, ...none } = BEFORE;
  expect(written(none)).toEqual(["link = null"]);
  expect(written({ ...BEFORE, node: [{ name: "n" }] })).toEqual(['node.0 = {"name":"n"}']);
});

test("a new table is written key by key, so that it gets a header", () => {
  expect(written({ ...BEFORE, defaults: { connection: { protocol: "lia" } } })).toEqual([
    'defaults.connection.protocol = "lia"',
  ]);
  expect(written({ ...BEFORE, defaults: { connection: { protocol: { reno: {} } } } })).toEqual([
    "defaults.connection.protocol.reno = {}",
  ]);
});

test("edits made in their order give the version after them", () => {
  const versions: Tables[] = [
    BEFORE,
    {},
    { title: "x", link: [{ source: "c" }] },
    { run: { duration: { drawn: 1 } }, link: [{ source: "z", x: [1] }, { source: "a" }, {}, { y: 1 }] },
    { run: "odd", node: [{ name: "n" }, { name: "m" }] },
    { run: { transport: { ecn: true }, odd: {} }, link: [{ source: "b" }, { source: "c" }] },
  ];
  for (const before of versions)
    for (const after of versions) expect(made(before, editsBetween(before, after))).toEqual(after);
});

/** Makes edits as the server does. */
function made(before: Tables, edits: Edit[]): Tables {
  const own = structuredClone(before);
  for (const { path, value } of edits) {
    const last = path[path.length - 1] as string;
    let holder: Value = own;
    for (const [i, key] of path.slice(0, -1).entries()) {
      const table = holder as Tables;
      if (table[key] === undefined) table[key] = /^\d+$/.test(path[i + 1] as string) ? [] : {};
      holder = table[key] as Value;
    }
    if (Array.isArray(holder)) {
      if (value === null) holder.splice(Number(last), 1);
      else holder[Number(last)] = value;
    } else if (value === null) delete (holder as Tables)[last];
    else (holder as Tables)[last] = value;
  }
  return own;
}
