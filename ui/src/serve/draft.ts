/** A scenario that is being written: its text, and the values of a form that is ahead of it by some edits. */

import { useEffect, useRef, useState } from "preact/hooks";

import { editsBetween } from "./edits";
import { type CheckAnswer, isAborted, RefusedError, reasonOf, type Source, send, type Tables } from "./server";

/** So long after the last change the scenario is checked. */
const REST_MS = 500;

/** What is written: in a form, whose values the text follows; or as text. */
export interface Draft {
  as: "form" | "text";
  text: string;
  /** The values that the text has; null while it is no TOML. */
  known: Tables | null;
  /** The values in the form: those of the text, but for what was changed since. */
  value: Tables | null;
}

export const draftOf = (text: string, value: Tables | null, as: Draft["as"]): Draft => ({
  as,
  text,
  known: value,
  value,
});

/** What goes with a scenario: the file that it began with, and a seed in digits; empty for none. */
export interface Given {
  origin: string;
  seed: string;
}

/** What the server is asked about a draft. */
export function sourceOf({ text, known, value }: Draft, { origin, seed }: Given): Source {
  const edits = known && value ? editsBetween(known, value) : [];
  return {
    scenario: text,
    ...(edits.length ? { edits } : {}),
    ...(seed ? { seed } : {}),
    ...(origin ? { origin } : {}),
  };
}

/** The draft once the server has answered about it: the text has the edits of the form by then. */
export function answered(draft: Draft, asked: Draft, answer: CheckAnswer): Draft {
  if (draft.text !== asked.text) return draft;
  if (asked.value !== asked.known) {
    return answer.text === null ? draft : { ...draft, text: answer.text, known: asked.value };
  }
  if (asked.as === "form") return draft;
  // What was changed in fields meanwhile stays; of a text that is no TOML the fields stay as they were.
  const isSame = draft.value === asked.value;
  return { ...draft, known: answer.value, value: isSame ? (answer.value ?? draft.value) : draft.value };
}

interface Checked {
  answer: CheckAnswer | null;
  checking: boolean;
}

/** Asks whether a draft is right, a moment after its last change, and puts the edits of the form into its text. */
export function useCheck(draft: Draft | null, given: Given, update: (next: (old: Draft) => Draft) => void): Checked {
  const [checked, setChecked] = useState<{ source: string; answer: CheckAnswer } | null>(null);
  const latest = useRef(draft);
  latest.current = draft;
  const source = draft ? JSON.stringify(sourceOf(draft, given)) : "";
  const isKnown = checked?.source === source;
  useEffect(() => {
    const asked = latest.current;
    if (!asked || isKnown) return;
    const ended = new AbortController();
    const timer = window.setTimeout(() => {
      send<CheckAnswer>("api/check", JSON.parse(source), ended.signal).then(
        (answer) => {
          update((old) => answered(old, asked, answer));
          // Without a new question: the text that came back is the one that was checked.
          setChecked({ source: JSON.stringify(sourceOf(answered(asked, asked, answer), given)), answer });
        },
        (error) => {
          if (isAborted(error)) return;
          const problem = error instanceof RefusedError ? error.problem : { error: reasonOf(error) };
          setChecked({ source, answer: { right: false, facts: null, problem, text: null, value: null } });
        },
      );
    }, REST_MS);
    return () => {
      window.clearTimeout(timer);
      ended.abort();
    };
  }, [source, isKnown]);
  return { answer: checked?.answer ?? null, checking: !isKnown };
}
