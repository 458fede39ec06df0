/** What is changed most: protocols, duration and seed of a scenario, and the name of the run. */

import { appliedText } from "./defaults";
import { fieldOf, isTables, resolved, type Schema, shown, withKey } from "./schema";
import type { Tables, Value } from "./server";

/** The most connections whose protocols are chosen here. */
const MOST = 6;

/** Where a protocol is chosen: a path of keys, and what it is for. */
interface Slot {
  path: string[];
  label: string;
}

interface Props {
  schema: Schema;
  value: Tables;
  seed: string;
  seedFault: string | null;
  name: string;
  /** Whether nothing can be changed here, since the text is no TOML. */
  locked: boolean;
  onValue: (value: Tables) => void;
  onSeed: (seed: string) => void;
  onName: (name: string) => void;
}

export function Basics({ schema, value, seed, seedFault, name, locked, onValue, onSeed, onName }: Props) {
  const run = isTables(value.run) ? value.run : {};
  const more = Math.max(0, ownersOf(value).length - MOST);
  const durationSchema = resolved(schema.properties?.run ?? {}, schema).properties?.duration ?? {};
  return (
    <fieldset class="basics" disabled={locked}>
      {slotsOf(value).map((slot) => (
        <Protocol key={slot.path.join(".")} {...{ schema, value, slot, onValue }} />
      ))}
      {more ? (
        <p class="more">
          {more} more {more === 1 ? "connection has a protocol" : "connections have protocols"} under “connection” and
          “traffic” in all settings
        </p>
      ) : null}
      <label>
        <span>duration</span>
        <input
          value={shown(run.duration)}
          placeholder={appliedText("run.duration", durationSchema, schema, value)}
          onInput={(event) => {
            const text = event.currentTarget.value;
            onValue(withKey(value, "run", withKey(run, "duration", text || undefined)));
          }}
        />
      </label>
      <label>
        <span>seed</span>
        <input
          inputMode="numeric"
          value={seed}
          placeholder={run.seed === undefined ? "1 (default)" : `${shown(run.seed)}, of the scenario`}
          aria-invalid={seedFault !== null}
          onInput={(event) => onSeed(event.currentTarget.value)}
        />
      </label>
      <label>
        <span>name</span>
        <input
          value={name}
          maxLength={200}
          placeholder={shown(value.title) || "of the run's folder"}
          onInput={(event) => onName(event.currentTarget.value)}
        />
      </label>
    </fieldset>
  );
}

interface ProtocolProps {
  schema: Schema;
  value: Tables;
  slot: Slot;
  onValue: (value: Tables) => void;
}

function Protocol({ schema, value, slot, onValue }: ProtocolProps) {
  const own = at(value, slot.path);
  const named = isTables(own) ? `${Object.keys(own)[0]}, with parameters` : "";
  const path = slot.path.join(".");
  return (
    <label>
      <span>{slot.label}</span>
      <select
        value={named ? "" : shown(own)}
        onChange={(event) => onValue(put(value, slot.path, event.currentTarget.value || undefined))}
      >
        <option value="">{named || appliedText(path, protocolSchema(schema, slot), schema, value) || "not set"}</option>
        {protocolsOf(schema).map((protocol) => (
          <option key={protocol} value={protocol}>
            {protocol}
          </option>
        ))}
      </select>
    </label>
  );
}

/** Where protocols are chosen: for all connections without their own, and for the first ones that have one. */
export function slotsOf(value: Tables): Slot[] {
  const entries = entriesOf(value);
  const owners = ownersOf(value);
  const slots = owners.slice(0, MOST).map(({ list, entry, i }): Slot => {
    const name = isTables(entry) ? shown(entry.name) : "";
    return { path: [list, String(i), "protocol"], label: `protocol of ${name || `${list} ${i + 1}`}` };
  });
  if (owners.length === entries.length && owners.length) return slots;
  return [
    { path: ["defaults", "connection", "protocol"], label: owners.length ? "protocol of others" : "protocol" },
    ...slots,
  ];
}

/** All connections, and all kinds of traffic. */
const entriesOf = (value: Tables): { list: string; entry: Value; i: number }[] =>
  ["connection", "traffic"].flatMap((list) =>
    (Array.isArray(value[list]) ? (value[list] as Value[]) : []).map((entry, i) => ({ list, entry, i })),
  );

/** Those of them with a protocol of their own. */
export const ownersOf = (value: Tables) =>
  entriesOf(value).filter(({ entry }) => isTables(entry) && entry.protocol !== undefined);

function protocolSchema(schema: Schema, { path }: Slot): Schema {
  let own: Schema = schema;
  for (const key of path) {
    const parent = resolved(own, schema);
    own = (/^\d+$/.test(key) ? parent.items : parent.properties?.[key]) ?? {};
  }
  return own;
}

/** The names of all protocols. */
function protocolsOf(schema: Schema): string[] {
  const field = fieldOf(schema.$defs?.ProtocolChoice ?? {}, schema);
  const forms = field.kind === "forms" ? field.forms.map((form) => fieldOf(form.schema, schema)) : [field];
  return forms.flatMap((form) => (form.kind === "choice" ? form.choices.map((choice) => choice.value) : []));
}

function at(value: Value | undefined, path: string[]): Value | undefined {
  return path.reduce<Value | undefined>(
    (own, key) => (Array.isArray(own) ? own[Number(key)] : isTables(own) ? own[key] : undefined),
    value,
  );
}

/** The same tables with a value at a path, or without it. */
export function put(tables: Tables, path: string[], value: Value | undefined): Tables {
  const [key = "", ...rest] = path;
  if (!rest.length) return withKey(tables, key, value);
  const inner = tables[key];
  if (Array.isArray(inner)) {
    const [number = "", ...deeper] = rest;
    const changed = inner.map((entry, i) =>
      String(i) === number && isTables(entry) ? put(entry, deeper, value) : entry,
    );
    return withKey(tables, key, changed);
  }
  const changed = put(isTables(inner) ? inner : {}, rest, value);
  return withKey(tables, key, Object.keys(changed).length ? changed : undefined);
}
