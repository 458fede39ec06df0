import { expect, test } from "vitest";

import scenario from "../../../crates/scenario/scenario.schema.json";
import { emptyOf, type Field, fieldOf, formOf, resolved, type Schema, withKey } from "./schema";
import type { Value } from "./server";

const root = scenario as unknown as Schema;

/** The field at a path of the scenario's schema. */
function field(path: string): Field {
  let schema = root;
  for (const key of path.split(".")) {
    const own = fieldOf(schema, root);
    schema =
      (own.kind === "tables" ? resolved(own.item, root).properties : own.kind === "table" ? own.properties : {})?.[
        key
      ] ?? {};
  }
  return fieldOf(schema, root);
}

const labels = (own: Field): string[] => (own.kind === "forms" ? own.forms.map((form) => form.label) : []);

test("keys of the scenario have the fields that their values need", () => {
  expect(field("title").kind).toBe("text");
  expect(field("run").kind).toBe("table");
  expect(field("link").kind).toBe("tables");
  expect(field("run.data").kind).toBe("boolean");
  expect(field("run.seed")).toMatchObject({ kind: "number", whole: true, least: 0 });
  expect(field("run.control_share")).toMatchObject({ kind: "number", whole: false, most: 1 });
  expect(field("run.fairness")).toMatchObject({ kind: "choice" });
  expect(field("run.record").kind).toBe("words");
  // A rate, or the word that there is no limit: one text, with the word to choose.
  expect(field("link.capacity")).toEqual({ kind: "text", words: ["unlimited"] });
  expect(field("connection.relays").kind).toBe("list");
});

test("a choice among choices is one choice", () => {
  const own = field("connection.protocol");
  expect(labels(own)).toContain("by its name");
  expect(labels(own)).toContain("reno");
  expect(labels(field("network.generate"))).toContain("fat-tree");
});

test("a value is shown in the form that it has", () => {
  const own = field("connection.protocol");
  if (own.kind !== "forms") throw new Error("no forms");
  const label = (value: Value) => own.forms[formOf(own.forms, value, root)]?.label;
  expect(label("reno")).toBe("by its name");
  expect(label({ "d-slen": { variant: "paper" } })).toBe("d-slen");
});

test("what a new form begins with has that form", () => {
  for (const path of [
    "connection.protocol",
    "network.generate",
    "connection.amount",
    "connection.paths",
    "link.trace",
  ]) {
    const own = field(path);
    if (own.kind !== "forms") throw new Error(`${path} has no forms`);
    for (const [i, form] of own.forms.entries()) {
      expect(formOf(own.forms, emptyOf(form.schema, root), root), `${path} ${form.label}`).toBe(i);
    }
  }
});

test("no field of the scenario is without a kind", () => {
  const seen = new Set<string>();
  const look = (schema: Schema, path: string, depth: number): void => {
    const own = fieldOf(schema, root);
    seen.add(own.kind);
    if (depth > 8) return;
    if (own.kind === "table")
      for (const [key, inner] of Object.entries(own.properties)) look(inner, `${path}.${key}`, depth + 1);
    if (own.kind === "tables" || own.kind === "list") look(own.item, `${path}[]`, depth + 1);
    if (own.kind === "forms") {
      expect(new Set(labels(own)).size, path).toBe(own.forms.length);
      for (const form of own.forms) look(form.schema, `${path}(${form.label})`, depth + 1);
    }
  };
  look(root, "", 0);
  expect([...seen].sort()).toEqual([
    "boolean",
    "choice",
    "forms",
    "list",
    "number",
    "table",
    "tables",
    "text",
    "words",
  ]);
});

test("a key is set in its place, and taken out", () => {
  expect(Object.keys(withKey({ a: 1, b: 2 }, "a", 3))).toEqual(["a", "b"]);
  expect(withKey({ a: 1, b: 2 }, "a", undefined)).toEqual({ b: 2 });
  expect(withKey({}, "c", false)).toEqual({ c: false });
});
