/** What the server is asked, and what it answers. */

export interface Problem {
  error: string;
  line?: number | null;
  column?: number | null;
  /** The key of the scenario at fault: `link.0.capacity`. */
  key?: string | null;
}

export interface RunFacts {
  id: string;
  /** An allocation has neither seed nor time. */
  kind: "run" | "allocation";
  folder: string;
  title: string;
  protocols: string[];
  connections: number;
  seed: number | null;
  duration_s: number | null;
  reached_s: number | null;
  finished: boolean;
  events: number | null;
  warnings: number;
  /** Seconds since 1970. */
  written: number;
}

export interface RunList {
  folder: string;
  runs: RunFacts[];
  unreadable: { folder: string; reason: string }[];
  whole: boolean;
}

export interface JobFacts {
  id: string;
  name: string;
  title: string;
  state: "waiting" | "running" | "done" | "stopped" | "failed";
  time_s: number;
  duration_s: number;
  events: number;
  events_per_s: number;
  wall_s: number;
  left_s: number | null;
  samples: number;
  run: string | null;
  error: string | null;
}

export interface ScenarioFacts {
  id: string;
  file: string;
  title: string;
}

/** A value of a scenario, as JSON has it. */
export type Value = string | number | boolean | null | Value[] | { [key: string]: Value };
export type Tables = { [key: string]: Value };

export interface ScenarioText extends ScenarioFacts {
  text: string;
  value: Tables | null;
}

export interface Source {
  scenario: string | Tables;
  /** Digits, since numbers are exact to 2^53 only. */
  seed?: string;
  origin?: string;
}

export interface CheckAnswer {
  right: boolean;
  facts: { connections: number; subflows: number; links: number; nodes: number; duration_s: number } | null;
  problem: Problem | null;
  text: string | null;
  value: Tables | null;
}

/** What the server has refused, with its reason. */
export class RefusedError extends Error {
  constructor(
    readonly status: number,
    readonly problem: Problem,
  ) {
    super(problem.error);
  }
}

export const isOver = (job: JobFacts): boolean => !["waiting", "running"].includes(job.state);

/** Asks for JSON. */
export async function ask<T>(path: string, signal?: AbortSignal): Promise<T> {
  return (await (await request(path, { signal: signal ?? null })).json()) as T;
}

/** Asks for bytes. */
export async function askBytes(path: string, signal?: AbortSignal): Promise<Uint8Array> {
  return new Uint8Array(await (await request(path, { signal: signal ?? null })).arrayBuffer());
}

/** Sends JSON, and gives the answer. */
export async function send<T>(path: string, body: unknown, signal?: AbortSignal): Promise<T> {
  const headers = { "content-type": "application/json" };
  const answer = await request(path, { method: "POST", body: JSON.stringify(body), headers, signal: signal ?? null });
  return (await answer.json()) as T;
}

export async function stopJob(id: string): Promise<JobFacts> {
  return (await (await request(`api/jobs/${id}`, { method: "DELETE" })).json()) as JobFacts;
}

async function request(path: string, options: RequestInit): Promise<Response> {
  let answer: Response;
  try {
    answer = await fetch(path, options);
  } catch (error) {
    if (error instanceof DOMException && error.name === "AbortError") throw error;
    throw new Error("the server cannot be reached; is `anabranch serve` still running?");
  }
  if (answer.ok) return answer;
  const problem = (await answer.json().catch(() => ({ error: `the server answered ${answer.status}` }))) as Problem;
  throw new RefusedError(answer.status, problem);
}

/** What is told to people of an error. */
export const reasonOf = (error: unknown): string => (error instanceof Error ? error.message : String(error));

/** Whether an error only says that nobody waits for the answer any more. */
export const isAborted = (error: unknown): boolean => error instanceof DOMException && error.name === "AbortError";
