/** A form made from a JSON schema: a section for each table, a field for each key, with the schema's own words. */

import { createContext } from "preact";
import { useContext, useState } from "preact/hooks";
import { Pieces } from "../views/Description";

import { appliedText } from "./defaults";
import { sortedKeys } from "./key_order";
import { Plain } from "./PlainField";
import { emptyOf, type Field, fieldOf, formOf, isTables, resolved, type Schema, shown, withKey } from "./schema";
import type { Problem, Tables, Value } from "./server";

interface Context {
  root: Schema;
  /** The whole scenario. */
  scenario: Tables;
  problem: Problem | null;
}

const Shared = createContext<Context>({ root: {}, scenario: {}, problem: null });

/** So many tables of a list are shown at once. */
const MOST_SHOWN = 20;

interface FormProps {
  schema: Schema;
  value: Tables;
  problem: Problem | null;
  onChange: (value: Tables) => void;
}

export function SchemaForm({ schema, value, problem, onChange }: FormProps) {
  const properties = schema.properties ?? {};
  return (
    <Shared.Provider value={{ root: schema, scenario: value, problem }}>
      <div class="form">
        <Keys properties={properties} required={[]} value={value} path="" onChange={onChange} />
      </div>
    </Shared.Provider>
  );
}

interface KeysProps {
  properties: Record<string, Schema>;
  required: string[];
  value: Tables;
  path: string;
  onChange: (value: Tables) => void;
}

/** All keys of a table, those that are used most first; of many keys the others are folded. */
function Keys({ properties, required, value, path, onChange }: KeysProps) {
  const { problem } = useContext(Shared);
  // By what there was when it was opened, so that no field moves under one's hands.
  const [{ main, more }] = useState(() => sortedKeys(Object.keys(properties), [...required, ...Object.keys(value)]));
  const strange = Object.keys(value).filter((key) => !(key in properties));
  const pathOf = (key: string) => (path ? `${path}.${key}` : key);
  const field = (key: string) => (
    <KeyField
      key={key}
      name={key}
      schema={properties[key] ?? {}}
      required={required.includes(key)}
      value={value[key]}
      path={pathOf(key)}
      onChange={(own) => onChange(withKey(value, key, own))}
    />
  );
  const isWrong = more.some((key) => problem?.key === pathOf(key) || problem?.key?.startsWith(`${pathOf(key)}.`));
  return (
    <>
      {main.map(field)}
      {more.length ? (
        <Fold kind="more" isWrong={isWrong} begin={false} summary={`${more.length} more settings`}>
          {more.map(field)}
        </Fold>
      ) : null}
      {strange.map((key) => (
        <p key={key} class="failed">
          There is no key <code>{key}</code> here.{" "}
          <button type="button" onClick={() => onChange(withKey(value, key, undefined))}>
            remove
          </button>
        </p>
      ))}
    </>
  );
}

interface FieldProps {
  name: string;
  schema: Schema;
  required: boolean;
  value: Value | undefined;
  path: string;
  onChange: (value: Value | undefined) => void;
}

function KeyField(props: FieldProps) {
  const { name, schema, value, path, required } = props;
  const { root, scenario } = useContext(Shared);
  const own = resolved(schema, root);
  const field = fieldOf(schema, root);
  const standard = appliedText(path, schema, root, scenario);
  const help = <Help text={own.description} />;
  if (field.kind === "table") {
    return (
      <Section name={name} path={path} there={value !== undefined || required} help={help} onChange={props.onChange}>
        <Table {...props} field={field} />
      </Section>
    );
  }
  if (field.kind === "tables") {
    const count = Array.isArray(value) ? value.length : 0;
    return (
      <Section name={name} path={path} there={count > 0} count={count} help={help} onChange={props.onChange}>
        <TableList {...props} item={field.item} />
      </Section>
    );
  }
  return (
    <Labelled name={name} path={path} required={required} help={help}>
      {field.kind === "forms" ? (
        <Forms {...props} {...{ field, standard }} />
      ) : (
        <Plain {...props} {...{ field, standard }} schema={own} />
      )}
    </Labelled>
  );
}

/** A table within a table, its keys shown once it is opened. */
function Table({ field, value, path, onChange }: FieldProps & { field: Field & { kind: "table" } }) {
  return (
    <Keys
      properties={field.properties}
      required={field.required}
      value={isTables(value) ? value : {}}
      path={path}
      onChange={onChange}
    />
  );
}

interface SectionProps {
  name: string;
  path: string;
  there: boolean;
  count?: number;
  help: preact.ComponentChildren;
  children: preact.ComponentChildren;
  onChange: (value: Value | undefined) => void;
}

/** A key with keys below it. */
function Section({ name, path, there, count, help, children, onChange }: SectionProps) {
  const problem = useProblem(path);
  const summary = (
    <>
      <code>{name}</code>
      {count ? <span class="count"> {count}</span> : null} {help}
    </>
  );
  return (
    <Fold kind="section" isWrong={problem !== null} begin={false} summary={summary}>
      <div class="inner">
        {children}
        {there && count === undefined ? (
          <button type="button" class="remove" onClick={() => onChange(undefined)}>
            remove {name}
          </button>
        ) : null}
      </div>
    </Fold>
  );
}

interface FoldProps {
  kind: "section" | "item" | "more";
  /** Whether the mistake that was found is in it: then it is open. */
  isWrong: boolean;
  /** Whether it is open at first. */
  begin: boolean;
  summary: preact.ComponentChildren;
  children: preact.ComponentChildren;
}

/** A part that opens; closed ones make nothing, so that forms of thousands of fields stay quick. */
function Fold({ kind, isWrong, begin, summary, children }: FoldProps) {
  const [open, setOpen] = useState(begin);
  return (
    <details
      class={isWrong ? `${kind} wrong` : kind}
      open={open || isWrong}
      onToggle={(event) => setOpen(event.currentTarget.open)}
    >
      <summary>{summary}</summary>
      {open || isWrong ? children : null}
    </details>
  );
}

function TableList({ name, item, value, path, onChange }: FieldProps & { item: Schema }) {
  const { root } = useContext(Shared);
  const [most, setMost] = useState(MOST_SHOWN);
  const items = Array.isArray(value) ? value : [];
  const put = (items: Value[]) => onChange(items.length ? items : undefined);
  return (
    <>
      {items.slice(0, most).map((own, i) => (
        <Item
          // Tables have no name that stays; those that are added come last.
          key={i}
          number={i}
          item={item}
          value={own}
          path={`${path}.${i}`}
          onChange={(next) => put(items.map((old, j) => (j === i ? next : old)))}
          onRemove={() => put(items.filter((_, j) => j !== i))}
        />
      ))}
      {items.length > most ? (
        <button type="button" onClick={() => setMost(most + 10 * MOST_SHOWN)}>
          show more of {items.length}
        </button>
      ) : null}
      <button
        type="button"
        class="add"
        onClick={() => {
          put([...items, emptyOf(item, root)]);
          setMost(Math.max(most, items.length + 1));
        }}
      >
        add a {name}
      </button>
    </>
  );
}

interface ItemProps {
  number: number;
  item: Schema;
  value: Value;
  path: string;
  onChange: (value: Value) => void;
  onRemove: () => void;
}

function Item({ number, item, value, path, onChange, onRemove }: ItemProps) {
  const { root } = useContext(Shared);
  const problem = useProblem(path);
  const field = fieldOf(item, root);
  const isNew = isTables(value) && Object.keys(value).length === 0;
  return (
    <Fold kind="item" isWrong={problem !== null} begin={isNew} summary={`${number + 1}: ${titleOf(value)}`}>
      {field.kind === "table" ? (
        <div class="inner">
          {problem?.key === path ? <p class="failed">{problem.error}</p> : null}
          <Keys
            properties={field.properties}
            required={field.required}
            value={isTables(value) ? value : {}}
            path={path}
            onChange={onChange}
          />
          <button type="button" class="remove" onClick={onRemove}>
            remove
          </button>
        </div>
      ) : null}
    </Fold>
  );
}

/** What a table of a list is called: its name, or its ends, or what it has. */
function titleOf(value: Value): string {
  if (!isTables(value)) return shown(value);
  const { name, source, target } = value;
  if (typeof name === "string" && name) return name;
  if (source !== undefined && target !== undefined) return `${shown(source)} → ${shown(target)}`;
  return shown(value).slice(0, 60);
}

/** A value of one of several forms: first which one, then its field. */
function Forms({
  field,
  value,
  path,
  onChange,
  name,
  standard,
}: FieldProps & { field: Field & { kind: "forms" }; standard: string }) {
  const { root } = useContext(Shared);
  const number = value === undefined ? -1 : formOf(field.forms, value, root);
  const form = field.forms[number];
  const own = form && resolved(form.schema, root);
  const inner = form && fieldOf(form.schema, root);
  const choose = (index: number) => onChange(index < 0 ? undefined : emptyOf(field.forms[index]?.schema ?? {}, root));
  return (
    <div class="forms">
      <select
        aria-label={`form of ${name}`}
        value={number}
        onChange={(event) => choose(Number(event.currentTarget.value))}
      >
        <option value={-1}>{standard || "not set"}</option>
        {field.forms.map((form, i) => (
          <option key={form.label + i} value={i} title={form.schema.description}>
            {form.label}
          </option>
        ))}
      </select>
      {own && inner && inner.kind === "table" ? (
        <div class="inner">
          <Table {...{ name, schema: own, required: false, value, path, onChange }} field={inner} />
        </div>
      ) : null}
      {own && inner && inner.kind === "tables" ? (
        <TableList {...{ name, schema: own, required: false, value, path, onChange }} item={inner.item} />
      ) : null}
      {own && inner && inner.kind !== "table" && inner.kind !== "tables" && inner.kind !== "forms" ? (
        <Plain {...{ name, required: true, value, path, onChange }} standard="" field={inner} schema={own} />
      ) : null}
    </div>
  );
}

interface LabelledProps {
  name: string;
  path: string;
  required: boolean;
  help: preact.ComponentChildren;
  children: preact.ComponentChildren;
}

function Labelled({ name, path, required, help, children }: LabelledProps) {
  const problem = useProblem(path);
  return (
    <div class={problem ? "field wrong" : "field"} data-key={path}>
      <label for={`field ${path}`}>
        <code>{name}</code>
        {required ? <span title="required"> *</span> : null}
      </label>
      <div class="value">
        {children}
        {problem ? (
          <p class="failed" id={`problem ${path}`}>
            {problem.error}
          </p>
        ) : null}
        {help}
      </div>
    </div>
  );
}

function Help({ text }: { text: string | undefined }) {
  return text ? (
    <small>
      <Pieces text={text} />
    </small>
  ) : null;
}

/** The problem, if it is of this key or of one within it. */
function useProblem(path: string): Problem | null {
  const { problem } = useContext(Shared);
  const key = problem?.key ?? "";
  return key === path || key.startsWith(`${path}.`) ? problem : null;
}
