/** A field that is no table: text, number, choice, words, list. */

import { useState } from "preact/hooks";

import { faultOfList, listOf, NO_NUMBER, TOO_LARGE, useFault } from "./faults";
import { type Field, type Schema, shown } from "./schema";
import type { Value } from "./server";

interface Props {
  name: string;
  schema: Schema;
  field: Field;
  required: boolean;
  value: Value | undefined;
  /** What applies while there is no value. */
  standard: string;
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
        <fieldset class="words-of" id={`field ${path}`} aria-label={name}>
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
      return <NumberInput {...props} field={field} />;
    case "text":
      if (name === "description") return <Paragraphs {...props} />;
      return (
        <>
          <input
            id={`field ${path}`}
            list={field.words.length ? `words ${path}` : undefined}
            required={required}
            placeholder={props.standard || exampleOf(props.schema)}
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

/** A text of several lines. */
function Paragraphs({ path, value, onChange }: Props) {
  return (
    <textarea
      id={`field ${path}`}
      rows={4}
      value={shown(value)}
      onInput={(event) => onChange(event.currentTarget.value || undefined)}
    />
  );
}

function Choice({
  choices,
  put,
  path,
  value,
  standard,
  required,
}: Props & { choices: string[]; put: (text: string) => void }) {
  return (
    <select
      id={`field ${path}`}
      required={required}
      value={shown(value)}
      onChange={(event) => put(event.currentTarget.value)}
    >
      <option value="">{standard || "not set"}</option>
      {choices.map((choice) => (
        <option key={choice} value={choice}>
          {choice}
        </option>
      ))}
    </select>
  );
}

/** A number; what is no number yet, or would not stay the one that is written, is not taken. */
function NumberInput({
  value,
  onChange,
  path,
  standard,
  field,
  required,
}: Props & { field: Field & { kind: "number" } }) {
  const [faulty, setFaulty] = useState<{ text: string; fault: string } | null>(null);
  useFault(path, faulty?.fault ?? null);
  const put = ({ value: text, valueAsNumber, validity }: HTMLInputElement) => {
    const isInexact = Number.isInteger(valueAsNumber) && !Number.isSafeInteger(valueAsNumber);
    const fault = validity.badInput ? NO_NUMBER : isInexact ? TOO_LARGE : null;
    setFaulty(fault && { text, fault });
    if (fault === null) onChange(text === "" ? undefined : valueAsNumber);
  };
  return (
    <input
      id={`field ${path}`}
      type="number"
      step={field.whole ? 1 : "any"}
      min={field.least}
      max={field.most}
      required={required}
      placeholder={standard}
      aria-invalid={faulty !== null}
      value={faulty?.text ?? shown(value)}
      onInput={(event) => put(event.currentTarget)}
    />
  );
}

/** A list as it stands in JSON: names of nodes, paths. */
function List({ value, onChange, path, standard }: Props) {
  const [text, setText] = useState<string | null>(null);
  const fault = text === null ? null : faultOfList(text);
  useFault(path, fault);
  // What was written counts while it is at fault, or says the value: this may be another table's field by now.
  const isOwn = text !== null && (fault !== null || shown(listOf(text) ?? undefined) === shown(value));
  const put = (text: string) => {
    // What is no list yet stays as it is written, and is told.
    setText(text.trim() ? text : null);
    if (faultOfList(text) === null) onChange(listOf(text) ?? undefined);
  };
  return (
    <input
      id={`field ${path}`}
      aria-invalid={fault !== null}
      placeholder={standard || '["a", "b"]'}
      value={isOwn ? text : shown(value)}
      onInput={(event) => put(event.currentTarget.value)}
    />
  );
}

const has = (value: Value | undefined, word: string): boolean => Array.isArray(value) && value.includes(word);

function toggled(value: Value | undefined, word: string): Value[] {
  const words = Array.isArray(value) ? value : [];
  return words.includes(word) ? words.filter((other) => other !== word) : [...words, word];
}

const exampleOf = (schema: Schema): string => (schema.examples?.length ? `such as ${shown(schema.examples[0])}` : "");
