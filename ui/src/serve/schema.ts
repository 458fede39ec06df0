/** What a form needs to know of a JSON schema: which kind of field a value has, and what it may be. */

import type { Tables, Value } from "./server";

export interface Schema {
  $ref?: string;
  $defs?: Record<string, Schema>;
  type?: string;
  description?: string;
  default?: Value;
  examples?: Value[];
  const?: Value;
  enum?: Value[];
  properties?: Record<string, Schema>;
  required?: string[];
  items?: Schema;
  anyOf?: Schema[];
  oneOf?: Schema[];
  minimum?: number;
  maximum?: number;
  exclusiveMinimum?: number;
  exclusiveMaximum?: number;
}

/** One of several words. */
export interface Choice {
  value: string;
  help: string;
}

/** One of several forms that a value may have. */
export interface Form {
  label: string;
  schema: Schema;
}

export type Field =
  | { kind: "table"; properties: Record<string, Schema>; required: string[] }
  | { kind: "tables"; item: Schema }
  | { kind: "words"; choices: Choice[] }
  | { kind: "list"; item: Schema }
  | { kind: "choice"; choices: Choice[] }
  | { kind: "text"; words: string[] }
  | { kind: "number"; least?: number; most?: number; whole: boolean }
  | { kind: "boolean" }
  | { kind: "forms"; forms: Form[] };

/** A schema with what it refers to put in; its own words go before those. */
export function resolved(schema: Schema, root: Schema): Schema {
  if (!schema.$ref) return schema;
  const found = root.$defs?.[schema.$ref.replace("#/$defs/", "")] ?? {};
  const { $ref: _, ...own } = schema;
  return { ...resolved(found, root), ...own };
}

/** What kind of field a value of a schema has. */
export function fieldOf(schema: Schema, root: Schema): Field {
  const own = resolved(schema, root);
  const parts = (own.anyOf ?? own.oneOf)?.map((part) => resolved(part, root));
  if (parts) return fieldOfParts(parts, root);
  if (own.enum) return { kind: "choice", choices: own.enum.map((value) => ({ value: String(value), help: "" })) };
  switch (own.type) {
    case "object":
      return { kind: "table", properties: own.properties ?? {}, required: own.required ?? [] };
    case "array":
      return fieldOfArray(own.items ?? {}, root);
    case "boolean":
      return { kind: "boolean" };
    case "number":
    case "integer":
      return numberField(own);
    default:
      return { kind: "text", words: own.const === undefined ? [] : [String(own.const)] };
  }
}

function numberField(own: Schema): Field {
  const least = own.minimum ?? own.exclusiveMinimum;
  const most = own.maximum ?? own.exclusiveMaximum;
  const whole = own.type === "integer";
  return { kind: "number", whole, ...(least === undefined ? {} : { least }), ...(most === undefined ? {} : { most }) };
}

function fieldOfArray(item: Schema, root: Schema): Field {
  const field = fieldOf(item, root);
  if (field.kind === "table") return { kind: "tables", item };
  return field.kind === "choice" ? { kind: "words", choices: field.choices } : { kind: "list", item };
}

function fieldOfParts(parts: Schema[], root: Schema): Field {
  if (parts.every((part) => typeof part.const === "string")) {
    return {
      kind: "choice",
      choices: parts.map((part) => ({ value: String(part.const), help: part.description ?? "" })),
    };
  }
  const fields = parts.map((part) => fieldOf(part, root));
  if (fields.every((field) => field.kind === "text" || field.kind === "choice")) {
    const words = fields.flatMap((f) =>
      f.kind === "choice" ? f.choices.map((c) => c.value) : f.kind === "text" ? f.words : [],
    );
    return { kind: "text", words };
  }
  const forms = parts.flatMap((part, i) => {
    const field = fields[i] as Field;
    // A choice among choices is one choice.
    return field.kind === "forms" ? field.forms : [{ label: labelOf(field), schema: part }];
  });
  return { kind: "forms", forms };
}

/** What one of several forms is called: the only key that it may have, or what kind of value it is. */
function labelOf(field: Field): string {
  const tag = field.kind === "table" && Object.keys(field.properties).find((key) => isTag(key, field));
  if (tag) return tag;
  const kinds: Record<Field["kind"], string> = {
    table: "with parameters",
    tables: "list of tables",
    words: "list of words",
    list: "list",
    choice: "by its name",
    text: "as text",
    number: "a number",
    boolean: "yes or no",
    forms: "otherwise",
  };
  return kinds[field.kind];
}

/** Which of several forms a value has; the first if it has none. */
export function formOf(forms: Form[], value: Value | undefined, root: Schema): number {
  return Math.max(
    forms.findIndex((form) => fits(resolved(form.schema, root), value, root)),
    0,
  );
}

function fits(schema: Schema, value: Value | undefined, root: Schema): boolean {
  if (value === undefined) return false;
  const field = fieldOf(schema, root);
  switch (field.kind) {
    case "table":
      return (
        isTables(value) &&
        known(value, field.properties) &&
        Object.keys(field.properties).every((key) => key in value || !isTag(key, field))
      );
    case "tables":
    case "list":
    case "words":
      return Array.isArray(value);
    case "choice":
      return field.choices.some((choice) => choice.value === value);
    case "text":
      return typeof value === "string";
    case "number":
      return typeof value === "number";
    case "boolean":
      return typeof value === "boolean";
    case "forms":
      return field.forms.some((form) => fits(resolved(form.schema, root), value, root));
  }
}

const known = (value: Tables, properties: Record<string, Schema>) =>
  Object.keys(value).every((key) => key in properties);

/** Something to begin from, for a form that is newly chosen. */
export function emptyOf(schema: Schema, root: Schema): Value {
  const field = fieldOf(schema, root);
  switch (field.kind) {
    case "table":
      return Object.fromEntries(
        field.required
          .filter((key) => isTag(key, field) || needsSomething(fieldOf(field.properties[key] ?? {}, root)))
          .map((key) => [key, emptyOf(field.properties[key] ?? {}, root)]),
      );
    case "tables":
    case "list":
    case "words":
      return [];
    case "choice":
      return field.choices[0]?.value ?? "";
    case "number":
      return field.least ?? 0;
    case "boolean":
      return true;
    case "text":
      return field.words[0] ?? "";
    case "forms":
      return emptyOf(field.forms[0]?.schema ?? {}, root);
  }
}

/** Whether a key is the only one that a table may have, and must: then it says of which form the table is. */
const isTag = (key: string, field: { properties: Record<string, Schema>; required: string[] }): boolean =>
  Object.keys(field.properties).length === 1 && field.required.includes(key);

/** Whether a key that must be there is shown only if it is: a table within a table. */
const needsSomething = (field: Field): boolean => field.kind === "table" || field.kind === "forms";

export const isTables = (value: Value | undefined): value is Tables =>
  typeof value === "object" && value !== null && !Array.isArray(value);

/** A value as it stands in a file, for what is shown in an empty field. */
export function shown(value: Value | undefined): string {
  if (value === undefined || value === null) return "";
  return typeof value === "string" ? value : JSON.stringify(value);
}

/** The same table with a key set, or without it. */
export function withKey(table: Tables, key: string, value: Value | undefined): Tables {
  const { [key]: _, ...rest } = table;
  if (value === undefined) return rest;
  return key in table
    ? Object.fromEntries(Object.entries(table).map(([k, v]) => [k, k === key ? value : v]))
    : { ...rest, [key]: value };
}
