/** A new run: a scenario in a form or as text, checked as it is written, and started. */

import { useEffect, useState } from "preact/hooks";

import { spanText } from "../units";
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
  const source = draft && sourceOf(draft, seed, origin);
  const { answer, checking } = useCheck(source);
  const problem = failed ?? answer?.problem ?? null;

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
      setDraft(own.value ? { as: "form", value: own.value } : { as: "text", text: own.text });
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
    if (as === "form" && answer.value !== null) change({ as, value: answer.value });
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
              placeholder="of its folder; the title"
              onInput={(e) => setName(e.currentTarget.value)}
            />
          </label>
          <label>
            seed{" "}
            <input
              inputMode="numeric"
              pattern="[0-9]*"
              value={seed}
              placeholder="of the scenario"
              onInput={(e) => setSeed(e.currentTarget.value)}
            />
          </label>
          <button type="submit" disabled={!draft || starting || checking || !answer?.right}>
            start
          </button>
          <span class="verdict" role="status">
            {checking || !answer ? "checking …" : answer.right ? factsText(answer) : "not right yet"}
          </span>
        </div>
        {problem ? <p class="failed">{problem.error}</p> : null}
        <div class="tabs" role="tablist">
          {(["form", "text"] as const).map((as) => (
            <button
              key={as}
              type="button"
              role="tab"
              aria-selected={draft?.as === as}
              disabled={checking || (as === "form" && draft?.as === "text" && !answer?.value)}
              onClick={() => change_as(as)}
            >
              {as === "form" ? "form" : "text (TOML)"}
            </button>
          ))}
        </div>
        {draft?.as === "text" ? (
          <textarea
            aria-label="scenario as TOML"
            spellcheck={false}
            value={draft.text}
            onInput={(event) => change({ as: "text", text: event.currentTarget.value })}
          />
        ) : null}
        {draft?.as === "form" && schema ? (
          <SchemaForm
            schema={schema}
            value={draft.value}
            problem={problem}
            onChange={(value) => change({ as: "form", value })}
          />
        ) : null}
      </form>
    </main>
  );
}

function sourceOf(draft: Draft, seed: string, origin: string): Source {
  return {
    scenario: draft.as === "form" ? draft.value : draft.text,
    ...(/^\d+$/.test(seed) ? { seed: Number(seed) } : {}),
    ...(origin ? { origin } : {}),
  };
}

function factsText(answer: CheckAnswer): string {
  const facts = answer.facts;
  if (!facts) return "right";
  return `right: ${facts.nodes} nodes, ${facts.links} links, ${facts.connections} connections, ${spanText(facts.duration_s)}`;
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
