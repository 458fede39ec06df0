/** All runs of the folder, with the jobs that go on above them. */

import { useEffect, useState } from "preact/hooks";

import { spanText } from "../units";
import { JobCard, roughText } from "./JobCard";
import { hashOf, type Route } from "./route";
import { ask, isAborted, isOver, type JobFacts, type RunFacts, type RunList, reasonOf } from "./server";

/** How often is looked: while a job goes on, and else. */
const SOON_MS = 1000;
const LATER_MS = 5000;

interface Props {
  route: Route & { at: "home" };
  replace: (hash: string) => void;
}

export function Home({ route, replace }: Props) {
  const { list, jobs, failed } = useFolder();
  const { filter } = route;
  const runs = list?.runs ?? [];
  const there = new Set(runs.map((run) => run.id));
  const chosen = route.chosen.filter((id) => there.has(id));
  const shown = runs.filter((run) => hasText(run, filter));
  const active = jobs.filter((job) => !isOver(job) || job.state === "failed");
  const choose = (id: string, on: boolean) =>
    replace(hashOf({ ...route, chosen: on ? [...chosen, id] : chosen.filter((other) => other !== id) }));

  return (
    <main class="home">
      <header>
        <h1>Runs{list ? <span class="where"> in {list.folder}</span> : null}</h1>
        <label class="filter">
          <span>filter</span>
          <input
            type="search"
            placeholder="title, folder or protocol"
            value={filter}
            onInput={(event) => replace(hashOf({ ...route, filter: event.currentTarget.value }))}
          />
        </label>
        {chosen.length ? (
          <a class="button" href={hashOf({ at: "runs", ids: chosen })}>
            {chosen.length === 1 ? "view the chosen run" : `view ${chosen.length} side by side`}
          </a>
        ) : null}
      </header>
      {failed ? <p class="failed">{failed}</p> : null}
      {active.length ? (
        <div class="jobs">
          {active.map((job) => (
            <JobCard key={job.id} job={job} linked />
          ))}
        </div>
      ) : null}
      {list && !runs.length ? <Nothing /> : null}
      {runs.length && !shown.length ? (
        <p class="empty">no run has “{filter}” in its title, folder or protocols</p>
      ) : null}
      {shown.length ? <RunTable runs={shown} chosen={chosen} choose={choose} /> : null}
      {list && !list.whole ? (
        <p class="warning">There are more folders than the server searches; serve a subfolder.</p>
      ) : null}
      {list?.unreadable.length ? (
        <details class="unreadable">
          <summary>{foldersText(list.unreadable.length)} cannot be shown</summary>
          <ul>
            {list.unreadable.map(({ folder, reason }) => (
              <li key={folder}>
                <b>{folder}</b>: {reason}
              </li>
            ))}
          </ul>
        </details>
      ) : null}
    </main>
  );
}

function Nothing() {
  return (
    <div class="nothing">
      <p>There is no run in this folder yet.</p>
      <p>
        <a class="button" href={hashOf({ at: "new", origin: "" })}>
          start one here
        </a>{" "}
        or run <code>anabranch run scenario.toml --out runs/first</code>
      </p>
    </div>
  );
}

interface TableProps {
  runs: RunFacts[];
  chosen: string[];
  choose: (id: string, on: boolean) => void;
}

function RunTable({ runs, chosen, choose }: TableProps) {
  return (
    <div class="list">
      <table>
        <thead>
          <tr>
            <th>
              <span class="unseen">chosen</span>
            </th>
            <th>title</th>
            <th>folder</th>
            <th>protocols</th>
            <th class="number">connections</th>
            <th class="number">seed</th>
            <th class="number">duration</th>
            <th class="number">events</th>
            <th>state</th>
            <th>when</th>
          </tr>
        </thead>
        <tbody>
          {runs.map((run) => (
            <tr key={run.id} class={chosen.includes(run.id) ? "chosen" : ""}>
              <td>
                <input
                  type="checkbox"
                  aria-label={`choose ${run.folder}`}
                  checked={chosen.includes(run.id)}
                  onChange={(event) => choose(run.id, event.currentTarget.checked)}
                />
              </td>
              <th scope="row">
                <a href={hashOf({ at: "runs", ids: [run.id] })}>{run.title || run.folder}</a>
              </th>
              <td>{run.folder}</td>
              <td>{protocolsText(run.protocols)}</td>
              <td class="number">{run.connections}</td>
              <td class="number">{run.seed}</td>
              <td class="number">{run.duration_s === null ? "" : spanText(run.duration_s)}</td>
              <td class="number">{run.events === null ? "" : roughText(run.events)}</td>
              <td>{stateText(run)}</td>
              <td>{new Date(run.written * 1000).toLocaleString()}</td>
            </tr>
          ))}
        </tbody>
      </table>
    </div>
  );
}

/** The first names, and how many more there are. */
function protocolsText(protocols: string[]): string {
  const more = protocols.length - 3;
  return protocols.slice(0, 3).join(", ") + (more > 0 ? ` and ${more} more` : "");
}

function stateText(run: RunFacts): string {
  if (run.kind === "allocation") return run.warnings ? "not certified" : "certified";
  const state = run.finished ? "finished" : `stopped at ${spanText(run.reached_s ?? 0)}`;
  return run.warnings ? `${state}, ${run.warnings} ${run.warnings === 1 ? "warning" : "warnings"}` : state;
}

const foldersText = (count: number): string => `${count} ${count === 1 ? "folder" : "folders"}`;

function hasText(run: RunFacts, filter: string): boolean {
  const text = filter.trim().toLowerCase();
  return [run.title, run.folder, ...run.protocols].some((own) => own.toLowerCase().includes(text));
}

/** Looks at jobs often, and at runs when a job has ended, or now and then. */
function useFolder(): { list: RunList | null; jobs: JobFacts[]; failed: string } {
  const [list, setList] = useState<RunList | null>(null);
  const [jobs, setJobs] = useState<JobFacts[]>([]);
  const [failed, setFailed] = useState("");
  useEffect(() => {
    const ended = new AbortController();
    let timer = 0;
    let over = -1;
    let looked = 0;
    const look = async () => {
      let wait = LATER_MS;
      try {
        const { jobs } = await ask<{ jobs: JobFacts[] }>("api/jobs", ended.signal);
        setJobs(jobs);
        const nowOver = jobs.filter(isOver).length;
        if (jobs.length > nowOver) wait = SOON_MS;
        if (nowOver !== over || performance.now() - looked >= LATER_MS - SOON_MS / 2) {
          setList(await ask<RunList>("api/runs", ended.signal));
          [over, looked] = [nowOver, performance.now()];
        }
        setFailed("");
      } catch (error) {
        if (isAborted(error)) return;
        setFailed(reasonOf(error));
      }
      if (!ended.signal.aborted) timer = window.setTimeout(look, document.hidden ? LATER_MS : wait);
    };
    void look();
    return () => {
      ended.abort();
      window.clearTimeout(timer);
    };
  }, []);
  return { list, jobs, failed };
}
