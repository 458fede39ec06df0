/** What applies where a scenario says nothing: a value of `[defaults]`, or the default of the schema. */

import { isTables, resolved, type Schema, shown } from "./schema";
import type { Tables, Value } from "./server";

/** The tables of `[defaults]` by the lists whose entries they are for. */
const DEFAULTS_OF: Record<string, string> = { connection: "connection", traffic: "connection", link: "link" };
/** How descriptions of the schema name a default that depends on others. */
const LEFT_OUT = /(?:^|[;,.]\s*)([^;,.]*?(?:\d\.\d[^;,.]*)?) if left out\b/;

/** What applies at a path without a value, in words: "lia, from [defaults]", "10 s (default)"; empty if nothing does. */
export function appliedText(path: string, schema: Schema, root: Schema, scenario: Tables): string {
  const [list = "", number = "", key = "", ...deeper] = path.split(".");
  const table = DEFAULTS_OF[list];
  const isEntry = table !== undefined && /^\d+$/.test(number) && key && !deeper.length;
  if (isEntry) {
    const value = tableAt(scenario, "defaults", table)?.[key];
    if (value !== undefined) return `${shown(value)}, from [defaults]`;
  }
  const own = defaultText(schema, root);
  if (own || !isEntry) return own;
  // What is said once, where the defaults are.
  const of = schemaAt(root, ["defaults", table, key]);
  return of ? defaultText(of, root) : "";
}

function defaultText(schema: Schema, root: Schema): string {
  const { default: value, description = "" } = resolved(schema, root);
  if (value !== undefined && !isTables(value)) return value === "" ? "" : `${shown(value)} (default)`;
  const words = LEFT_OUT.exec(schema.description ?? description)?.[1]?.trim();
  return words ? `${words} (default)` : "";
}

function tableAt(scenario: Tables, ...path: string[]): Tables | undefined {
  let value: Value | undefined = scenario;
  for (const key of path) value = isTables(value) ? value[key] : undefined;
  return isTables(value) ? value : undefined;
}

function schemaAt(root: Schema, path: string[]): Schema | undefined {
  let schema: Schema | undefined = root;
  for (const key of path) {
    const parent: Schema = resolved(schema ?? {}, root);
    schema = parent.properties?.[key];
  }
  return schema;
}
