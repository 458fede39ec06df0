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
  /** The first sentence of what the scenario shows. */
  description: string;
  bytes: number;
}

export interface Settling {
  changes: number;
  settled: number;
  median_s: number | null;
  worst_s: number | null;
}

/** The numbers that say how a run went; null where they have no meaning or were not recorded. */
export interface Headline {
  jain: number | null;
  fair_jain: number | null;
  fair_distance: number | null;
  joins: Settling | null;
  queue_packets: number | null;
  queue_s: number | null;
  queue_link: string | null;
  utilisation: number | null;
  busiest_link: string | null;
  bottleneck_utilisation: number | null;
  lost_share: number | null;
}

/** What an allocation says of itself. */
export interface Summary {
  connections: number;
  links: number;
  saturated_links: number;
  certified: boolean;
  total_rate_bps: number;
  least_rate_bps: number;
}

/** Rates over time: of each line the means of some bins, by their numbers. */
export interface RatesPicture {
  kind: "rates";
  bins: number;
  most: number;
  end_s: number;
  lines: { name: string; colour: string; points: [number, number][] }[];
}

/** A network in a square of side 1, y upwards: its nodes, and cables with utilisation and number of parallel links. */
export interface MapPicture {
  kind: "map";
  nodes: [number, number][];
  cables: [number, number, number, number][];
}

export type Picture = RatesPicture | MapPicture;

export interface RunCard {
  headline?: Headline;
  summary?: Summary;
  picture: Picture | null;
}

export interface ScenarioCard {
  facts: ScenarioNumbers & { protocols: Record<string, number> };
  picture: Picture | null;
}

export interface Trashed {
  id: string;
  folder: string;
  bytes: number;
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
  /** The first sentence of what it shows. */
  description: string;
  /** Whether it came with anabranch. */
  shipped: boolean;
}

/** What a scenario has. */
export interface ScenarioNumbers {
  connections: number;
  subflows: number;
  links: number;
  nodes: number;
  duration_s: number;
}

/** A value of a scenario, as JSON has it. */
export type Value = string | number | boolean | null | Value[] | { [key: string]: Value };
export type Tables = { [key: string]: Value };

export interface ScenarioText extends ScenarioFacts {
  text: string;
  value: Tables | null;
}

/** A change of a scenario's text: a value that is set at a place, or null for what is removed there. */
export interface Edit {
  path: string[];
  value: Value;
}

export interface Source {
  scenario: string;
  edits?: Edit[];
  /** Digits, since numbers are exact to 2^53 only. */
  seed?: string;
  origin?: string;
}

export interface CheckAnswer {
  right: boolean;
  facts: ScenarioNumbers | null;
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

export async function changeRun(id: string, changes: { title?: string; folder?: string }): Promise<RunFacts> {
  return send<RunFacts>(`api/runs/${encodeURIComponent(id)}`, changes);
}

export async function deleteRun(id: string): Promise<Trashed> {
  return (await (await request(`api/runs/${encodeURIComponent(id)}`, { method: "DELETE" })).json()) as Trashed;
}

export async function restoreRun(id: string): Promise<RunFacts> {
  return send<RunFacts>(`api/trash/${id}`, {});
}

export async function emptyTrash(): Promise<void> {
  await request("api/trash", { method: "DELETE" });
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
