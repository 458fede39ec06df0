import { expect, test } from "vitest";

import scenario from "../../../crates/scenario/scenario.schema.json";
import { appliedText } from "./defaults";
import { resolved, type Schema } from "./schema";
import type { Tables } from "./server";

const root = scenario as unknown as Schema;

/** What applies at a path of the scenario's schema. */
function applied(path: string, own: Tables = {}): string {
  let schema: Schema = root;
  for (const key of path.split(".")) {
    const parent = resolved(schema, root);
    schema = (/^\d+$/.test(key) ? parent.items : parent.properties?.[key]) ?? {};
  }
  return appliedText(path, schema, root, own);
}

test("a value of [defaults] applies to every entry without its own", () => {
  const own = { defaults: { connection: { protocol: "lia", paths: 2 }, link: { delay: "5 ms" } } };
  expect(applied("connection.0.protocol", own)).toBe("lia, from [defaults]");
  expect(applied("traffic.3.paths", own)).toBe("2, from [defaults]");
  expect(applied("link.1.delay", own)).toBe("5 ms, from [defaults]");
  expect(applied("run.duration", own)).toBe("10 s (default)");
});

test("else the default of the schema applies, also one that is said in words", () => {
  expect(applied("connection.0.weight")).toBe("1 (default)");
  expect(applied("connection.0.packet")).toBe("1000 B (default)");
  expect(applied("run.sample")).toBe("a 500th of the duration (default)");
  expect(applied("connection.0.target")).toBe("");
});
