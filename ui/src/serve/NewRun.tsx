/** A new run: a scenario in a form or as text, checked as it is written, and started. */

import { useCallback, useEffect, useState } from "preact/hooks";

import { spanText } from "../units";
import { type Faults, FaultsTold, faultOfSeed, inexactKey, type TellFault, withFault } from "./faults";
import { hashOf } from "./route";
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
  type ScenarioFacts,
  type ScenarioText,
  type Source,
  send,
  type Tables,
} from "./server";

/** So long after the last change the scenario is checked. */
const REST_MS = 500;

/** What is being written: values in the form, or text. */
type Draft = { as: "form"; value: Tables } | { as: "text"; text: string };

export function NewRun({ origin }: { origin: string }) {
  const [schema, setSchema] = useState<Schema | null>(null);
  const [files, setFiles] = useState<ScenarioFacts[]>([]);
  const [draft, setDraft] = useState<Draft | null>(null);
  const [name, setName] = useState("");
  const [seed, setSeed] = useState("");
  const [failed, setFailed] = useState<Problem | null>(null);
  const [starting, setStarting] = useState(false);
  const [faults, setFaults] = useState<Faults>({});
  const tellFault = useCallback<TellFault>((path, fault) => setFaults((old) => withFault(old, path, fault)), []);
  const source = draft && sourceOf(draft, seed, origin);
  const { answer, checking } = useCheck(source);
  const faulty = Object.keys(faults)[0];
  const seedFault = faultOfSeed(seed);
  const problem =
    faulty !== undefined ? { error: faults[faulty] ?? "", key: faulty } : (failed ?? answer?.problem ?? null);
  const isWhole = faulty === undefined && seedFault === null;
  const inexact = draft?.as === "text" && answer?.value ? inexactKey(answer.value) : null;

  useEffect(() => {
    const ended = new AbortController();
    const begin = async () => {
      const [schema, files] = await Promise.all([
        ask<Schema>("api/schema", ended.signal),
        ask<ScenarioFacts[]>("api/scenarios", ended.signal),
      ]);
      setSchema(schema);
      setFiles(files);
      if (!origin) return setDraft({ as: "form", value: {} });
      const own = await ask<ScenarioText>(`api/scenarios/${encodeURIComponent(origin)}`, ended.signal);
      setDraft(
        own.value && inexactKey(own.value) === null ? { as: "form", value: own.value } : { as: "text", text: own.text },
      );
    };
    begin().catch((error) => isAborted(error) || setFailed({ error: reasonOf(error) }));
    return () => ended.abort();
  }, [origin]);

  const change = (draft: Draft) => {
    setFailed(null);
    setDraft(draft);
  };
  const start = async () => {
    setStarting(true);
    try {
      const job = await send<JobFacts>("api/jobs", { ...source, ...(name.trim() ? { name: name.trim() } : {}) });
      location.hash = hashOf({ at: "job", id: job.id });
    } catch (error) {
      setFailed(error instanceof RefusedError ? error.problem : { error: reasonOf(error) });
      setStarting(false);
    }
  };
  const change_as = (as: Draft["as"]) => {
    if (!draft || as === draft.as || !answer) return;
    if (as === "text" && answer.text !== null) change({ as, text: answer.text });
    if (as === "form" && answer.value !== null && inexact === null) change({ as, value: answer.value });
  };

  return (
    <main class="new">
      <header>
        <h1>New run</h1>
        <label>
          begin from{" "}
          <select
            value={origin}
            onChange={(event) => {
              location.hash = hashOf({ at: "new", origin: event.currentTarget.value });
            }}
          >
            <option value="">an empty scenario</option>
            {files.map((file) => (
              <option key={file.id} value={file.id}>
                {file.title ? `${file.title} (${file.file})` : file.file}
              </option>
            ))}
          </select>
        </label>
      </header>
      <form
        onSubmit={(event) => {
          event.preventDefault();
          void start();
        }}
      >
        <div class="start">
          <label>
            name{" "}
            <input
              value={name}
              maxLength={200}
              placeholder="of the folder; default: the title"
              onInput={(e) => setName(e.currentTarget.value)}
            />
          </label>
          <label>
            seed{" "}
            <input
              inputMode="numeric"
              value={seed}
              placeholder="default: of the scenario"
              aria-invalid={seedFault !== null}
              onInput={(e) => setSeed(e.currentTarget.value)}
            />
          </label>
          <button type="submit" disabled={!draft || starting || checking || !isWhole || !answer?.right}>
            start
          </button>
          <span class="verdict" role="status">
            {!isWhole ? "not valid yet" : checking || !answer ? "checking …" : verdictText(answer)}
          </span>
        </div>
        {seedFault ? <p class="failed">{seedFault}</p> : null}
        {problem ? <p class="failed">{faulty === undefined ? problem.error : `${faulty}: ${problem.error}`}</p> : null}
        <div class="tabs" role="tablist">
          {(["form", "text"] as const).map((as) => (
            <button
              key={as}
              type="button"
              role="tab"
              aria-selected={draft?.as === as}
              disabled={
                checking ||
                (as === "text" ? faulty !== undefined : draft?.as === "text" && (!answer?.value || inexact !== null))
              }
              onClick={() => change_as(as)}
            >
              {as === "form" ? "form" : "text (TOML)"}
            </button>
          ))}
        </div>
        {inexact === null ? null : (
          <p class="warning">
            <code>{inexact}</code> is beyond 2^53, which the form cannot hold exactly: it is changed here, as text.
          </p>
        )}
        {draft?.as === "text" ? (
          <textarea
            aria-label="scenario as TOML"
            spellcheck={false}
            value={draft.text}
            onInput={(event) => change({ as: "text", text: event.currentTarget.value })}
          />
        ) : null}
        {draft?.as === "form" && schema ? (
          <FaultsTold.Provider value={tellFault}>
            <SchemaForm
              schema={schema}
              value={draft.value}
              problem={problem}
              onChange={(value) => change({ as: "form", value })}
            />
          </FaultsTold.Provider>
        ) : null}
      </form>
    </main>
  );
}

function sourceOf(draft: Draft, seed: string, origin: string): Source {
  return {
    scenario: draft.as === "form" ? draft.value : draft.text,
    ...(seed.trim() && faultOfSeed(seed) === null ? { seed: String(BigInt(seed)) } : {}),
    ...(origin ? { origin } : {}),
  };
}

function verdictText(answer: CheckAnswer): string {
  if (!answer.right) return "not valid yet";
  const facts = answer.facts;
  if (!facts) return "right";
  return `valid: ${facts.nodes} nodes, ${facts.links} links, ${facts.connections} connections, ${spanText(facts.duration_s)}`;
}

/** Asks whether a scenario is right, a moment after the last change. */
function useCheck(source: Source | null): { answer: CheckAnswer | null; checking: boolean } {
  const [checked, setChecked] = useState<{ text: string; answer: CheckAnswer } | null>(null);
  const text = source ? JSON.stringify(source) : "";
  useEffect(() => {
    if (!text) return;
    const ended = new AbortController();
    const timer = window.setTimeout(() => {
      send<CheckAnswer>("api/check", JSON.parse(text), ended.signal).then(
        (answer) => setChecked({ text, answer }),
        (error) => {
          if (isAborted(error)) return;
          const problem = error instanceof RefusedError ? error.problem : { error: reasonOf(error) };
          setChecked({ text, answer: { right: false, facts: null, problem, text: null, value: null } });
        },
      );
    }, REST_MS);
    return () => {
      window.clearTimeout(timer);
      ended.abort();
    };
  }, [text]);
  return { answer: checked?.answer ?? null, checking: checked?.text !== text };
}
