/** A new run: a scenario in a form or as text, checked as it is written, and started. */

import { useCallback, useEffect, useRef, useState } from "preact/hooks";

import { spanText } from "../units";
import { Basics } from "./Basics";
import { type Draft, draftOf, useCheck } from "./draft";
import { type Faults, FaultsTold, faultOfSeed, inexactKey, type TellFault, withFault } from "./faults";
import { EMPTY, hashOf } from "./route";
import { SchemaForm } from "./SchemaForm";
import type { Schema } from "./schema";
import {
  ask,
  type CheckAnswer,
  isAborted,
  type JobFacts,
  type Problem,
  RefusedError,
  reasonOf,
  type ScenarioText,
  send,
} from "./server";
import { TextBox } from "./TextBox";

export function NewRun({ origin }: { origin: string }) {
  const from = origin === EMPTY ? "" : origin;
  const { schema, draft, title, failed: unread, update } = useDraft(from);
  const [name, setName] = useState("");
  const [seed, setSeed] = useState("");
  const [touched, setTouched] = useState(false);
  const [failed, setFailed] = useState<Problem | null>(null);
  const [starting, setStarting] = useState(false);
  const [faults, setFaults] = useState<Faults>({});
  const tellFault = useCallback<TellFault>((path, fault) => setFaults((old) => withFault(old, path, fault)), []);
  const faulty = Object.keys(faults)[0];
  const seedFault = faultOfSeed(seed);
  const digits = seed.trim() && seedFault === null ? String(BigInt(seed)) : "";
  const { answer, checking } = useCheck(draft, { origin: from, seed: digits }, update);
  const problem =
    faulty !== undefined ? { error: faults[faulty] ?? "", key: faulty } : (failed ?? answer?.problem ?? null);
  // Nothing is wrong yet with what nobody has touched.
  const isQuiet = !touched && !from;
  const isWhole = faulty === undefined && seedFault === null;
  const canStart = draft && !starting && !checking && isWhole && answer?.right;

  const change = (next: Partial<Draft>) => {
    setFailed(null);
    setTouched(true);
    update((old) => ({ ...old, ...next }));
  };
  const start = async () => {
    if (!draft) return;
    setStarting(true);
    try {
      const job = await send<JobFacts>("api/jobs", {
        scenario: draft.text,
        ...(digits ? { seed: digits } : {}),
        ...(from ? { origin: from } : {}),
        ...(name.trim() ? { name: name.trim() } : {}),
      });
      location.hash = hashOf({ at: "job", id: job.id });
    } catch (error) {
      setFailed(error instanceof RefusedError ? error.problem : { error: reasonOf(error) });
      setStarting(false);
    }
  };

  return (
    <main class="new">
      <header>
        <h1>{title || (from ? "New run" : "An empty scenario")}</h1>
        <a class="plain" href={hashOf({ at: "new", origin: "" })}>
          {from ? "begin with another example" : "begin with an example"}
        </a>
      </header>
      {unread ? <p class="failed">{unread}</p> : null}
      <form
        onSubmit={(event) => {
          event.preventDefault();
          void start();
        }}
      >
        {draft?.value && schema ? (
          <Basics
            {...{ schema, seed, seedFault, name }}
            value={draft.value}
            locked={draft.known === null}
            onValue={(value) => change({ value })}
            onSeed={setSeed}
            onName={setName}
          />
        ) : null}
        {seedFault ? <p class="failed">{seedFault}</p> : null}
        <div class="start">
          <button type="submit" class="primary" disabled={!canStart}>
            start
          </button>
          <Verdict {...{ answer, checking, isWhole }} problem={isQuiet ? null : problem} as={draft?.as ?? "form"} />
        </div>
        {draft && schema ? (
          <FaultsTold.Provider value={tellFault}>
            <Editor
              {...{ draft, schema, checking, change }}
              problem={isQuiet ? null : problem}
              locked={faulty !== undefined}
            />
          </FaultsTold.Provider>
        ) : null}
      </form>
    </main>
  );
}

interface EditorProps {
  draft: Draft;
  schema: Schema;
  problem: Problem | null;
  checking: boolean;
  /** Whether a field holds what cannot be sent. */
  locked: boolean;
  change: (next: Partial<Draft>) => void;
}

/** The scenario in all its keys, or as text. */
function Editor({ draft, schema, problem, checking, locked, change }: EditorProps) {
  const inexact = draft.value ? inexactKey(draft.value) : null;
  const canSwitch = { form: draft.known !== null && inexact === null, text: !locked };
  return (
    <>
      <div class="tabs" role="tablist">
        {(["form", "text"] as const).map((as) => (
          <button
            key={as}
            type="button"
            role="tab"
            aria-selected={draft.as === as}
            disabled={draft.as !== as && (checking || !canSwitch[as])}
            onClick={() => change({ as })}
          >
            {as === "form" ? "all settings" : "text (TOML)"}
          </button>
        ))}
      </div>
      {inexact === null ? null : (
        <p class="warning">
          <code>{inexact}</code> is beyond 2^53, which the form cannot hold exactly: it is changed here, as text.
        </p>
      )}
      {draft.as === "text" ? (
        <TextBox text={draft.text} problem={problem} onChange={(text) => change({ text, known: draft.value })} />
      ) : null}
      {draft.as === "form" && draft.value ? (
        <SchemaForm schema={schema} value={draft.value} problem={problem} onChange={(value) => change({ value })} />
      ) : null}
    </>
  );
}

interface VerdictProps {
  answer: CheckAnswer | null;
  problem: Problem | null;
  checking: boolean;
  isWhole: boolean;
  as: Draft["as"];
}

/** Whether the scenario can be started, and what is wrong with it if not. */
function Verdict({ answer, problem, checking, isWhole, as }: VerdictProps) {
  if (problem && (!checking || !isWhole)) {
    return (
      <p class="verdict failed" role="status">
        {problemText(problem, as)}
      </p>
    );
  }
  const words = !isWhole ? "not valid yet" : checking || !answer ? "checking …" : validText(answer);
  return (
    <p class="verdict" role="status">
      {words}
    </p>
  );
}

/** A mistake with where it is: a line of the text, or a key of the form. */
export function problemText({ error, line, key }: Problem, as: Draft["as"]): string {
  const reason = error.replace(/^line \d+, column \d+: /, "");
  if (as === "text" && line) return `line ${line}: ${reason}`;
  return key && !reason.startsWith(key) ? `${key}: ${reason}` : reason;
}

function validText({ right, facts }: CheckAnswer): string {
  if (!right || !facts) return right ? "valid" : "add links and connections";
  const count = (number: number, what: string) => `${number} ${what}${number === 1 ? "" : "s"}`;
  const parts = [count(facts.nodes, "node"), count(facts.links, "link"), count(facts.connections, "connection")];
  return `valid: ${parts.join(", ")}, ${spanText(facts.duration_s)}`;
}

interface Begun {
  schema: Schema | null;
  draft: Draft | null;
  /** The title of the file that it began with. */
  title: string;
  failed: string;
  update: (next: (old: Draft) => Draft) => void;
}

/** The draft that a scenario file begins, or an empty one. */
function useDraft(from: string): Begun {
  const [schema, setSchema] = useState<Schema | null>(null);
  const [draft, setDraft] = useState<Draft | null>(null);
  const [title, setTitle] = useState("");
  const [failed, setFailed] = useState("");
  const update = useRef((next: (old: Draft) => Draft) => setDraft((old) => (old ? next(old) : old)));
  useEffect(() => {
    const ended = new AbortController();
    const begin = async () => {
      setSchema(await ask<Schema>("api/schema", ended.signal));
      if (!from) return setDraft(draftOf("", {}, "form"));
      const file = await ask<ScenarioText>(`api/scenarios/${encodeURIComponent(from)}`, ended.signal);
      setTitle(file.title || file.file);
      const isForm = file.value !== null && inexactKey(file.value) === null;
      setDraft(draftOf(file.text, file.value, isForm ? "form" : "text"));
    };
    begin().catch((error) => isAborted(error) || setFailed(reasonOf(error)));
    return () => ended.abort();
  }, [from]);
  return { schema, draft, title, failed, update: update.current };
}
