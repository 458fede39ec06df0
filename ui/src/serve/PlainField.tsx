/** A field that is no table: text, number, choice, words, list. */

import { useState } from "preact/hooks";

import { type Field, type Schema, shown } from "./schema";
import type { Value } from "./server";

interface Props {
  name: string;
  schema: Schema;
  field: Field;
  required: boolean;
  value: Value | undefined;
  path: string;
  onChange: (value: Value | undefined) => void;
}

export function Plain(props: Props) {
  const { field, name, value, onChange, required, path } = props;
  switch (field.kind) {
    case "boolean":
      return (
        <Choice {...props} choices={["true", "false"]} put={(text) => onChange(text ? text === "true" : undefined)} />
      );
    case "choice":
      return (
        <Choice {...props} choices={field.choices.map((c) => c.value)} put={(text) => onChange(text || undefined)} />
      );
    case "words":
      return (
        <fieldset class="words" id={`field ${path}`} aria-label={name}>
          {field.choices.map((choice) => (
            <label key={choice.value} title={choice.help}>
              <input
                type="checkbox"
                checked={has(value ?? props.schema.default, choice.value)}
                onChange={() => onChange(toggled(value ?? props.schema.default, choice.value))}
              />{" "}
              {choice.value}
            </label>
          ))}
        </fieldset>
      );
    case "number":
      return (
        <input
          id={`field ${path}`}
          type="number"
          step={field.whole ? 1 : "any"}
          min={field.least}
          max={field.most}
          required={required}
          placeholder={shown(props.schema.default)}
          value={value === undefined ? "" : shown(value)}
          onInput={(event) =>
            onChange(event.currentTarget.value === "" ? undefined : event.currentTarget.valueAsNumber)
          }
        />
      );
    case "text":
      return (
        <>
          <input
            id={`field ${path}`}
            list={field.words.length ? `words ${path}` : undefined}
            required={required}
            placeholder={shown(props.schema.default) || exampleOf(props.schema)}
            value={shown(value)}
            onInput={(event) => onChange(event.currentTarget.value || (required ? "" : undefined))}
          />
          {field.words.length ? (
            <datalist id={`words ${path}`}>
              {field.words.map((word) => (
                <option key={word} value={word} />
              ))}
            </datalist>
          ) : null}
        </>
      );
    default:
      return <List {...props} />;
  }
}

function Choice({
  choices,
  put,
  path,
  value,
  schema,
  required,
}: Props & { choices: string[]; put: (text: string) => void }) {
  const standard = shown(schema.default);
  return (
    <select
      id={`field ${path}`}
      required={required}
      value={shown(value)}
      onChange={(event) => put(event.currentTarget.value)}
    >
      <option value="">{standard ? `${standard} (if not said)` : "not said"}</option>
      {choices.map((choice) => (
        <option key={choice} value={choice}>
          {choice}
        </option>
      ))}
    </select>
  );
}

/** A list as it stands in JSON: names of nodes, paths. */
function List({ value, onChange, path, schema }: Props) {
  const [text, setText] = useState<string | null>(null);
  const put = (text: string) => {
    if (!text.trim()) {
      setText(null);
      return onChange(undefined);
    }
    const list = listOf(text);
    // What is no list yet stays as it is written, and says nothing.
    setText(text);
    if (list) onChange(list);
  };
  const wrong = text !== null && text.trim() !== "" && listOf(text) === null;
  return (
    <>
      <input
        id={`field ${path}`}
        aria-invalid={wrong}
        placeholder={shown(schema.default) || '["a", "b"]'}
        value={text ?? shown(value)}
        onInput={(event) => put(event.currentTarget.value)}
      />
      {wrong ? <p class="failed">this is no list yet; write it like ["a", "b"]</p> : null}
    </>
  );
}

function listOf(text: string): Value[] | null {
  try {
    const value = JSON.parse(text) as Value;
    return Array.isArray(value) ? value : null;
  } catch {
    return null;
  }
}

const has = (value: Value | undefined, word: string): boolean => Array.isArray(value) && value.includes(word);

function toggled(value: Value | undefined, word: string): Value[] {
  const words = Array.isArray(value) ? value : [];
  return words.includes(word) ? words.filter((other) => other !== word) : [...words, word];
}

const exampleOf = (schema: Schema): string => (schema.examples?.length ? `such as ${shown(schema.examples[0])}` : "");
