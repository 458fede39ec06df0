/** All runs of the folder as cards, with the jobs that go on above them. */

import { useState } from "preact/hooks";

import type { Palette } from "../data";
import { useTheme } from "../theme";
import { Delete, Rename } from "./Ask";
import { hasText, ORDERS, orderNamed, sorted } from "./glance";
import { JobCard } from "./JobCard";
import { RunCard } from "./RunCard";
import { hashOf, type Route } from "./route";
import { isOver, type RunFacts, type RunList, restoreRun, type Trashed } from "./server";
import { Trash } from "./Trash";
import { useFolder } from "./useFolder";

/** So many cards are shown at once. */
const MOST_SHOWN = 60;

interface Props {
  route: Route & { at: "home" };
  replace: (hash: string) => void;
  palette: Palette;
}

/** What is asked before something is done with a run. */
type Question = { of: "rename" | "delete"; run: RunFacts } | null;

export function Home({ route, replace, palette }: Props) {
  const { list, jobs, trash, failed, again } = useFolder();
  const { own } = useTheme();
  const [question, setQuestion] = useState<Question>(null);
  const [gone, setGone] = useState<Trashed | null>(null);
  const [most, setMost] = useState(MOST_SHOWN);
  const runs = list?.runs ?? [];
  const there = new Set(runs.map((run) => run.id));
  const chosen = route.chosen.filter((id) => there.has(id));
  const shown = sorted(
    runs.filter((run) => hasText(run, route.filter)),
    orderNamed(route.order),
  );
  const active = jobs.filter((job) => !isOver(job) || job.state === "failed");
  const choose = (id: string, on: boolean) =>
    replace(hashOf({ ...route, chosen: on ? [...chosen, id] : chosen.filter((other) => other !== id) }));

  return (
    <main class="home">
      <Heading {...{ list, route, replace }} chosen={chosen} />
      {failed ? <p class="failed">{failed}</p> : null}
      {gone ? <Gone {...{ gone }} close={() => setGone(null)} changed={again} /> : null}
      {active.length ? (
        <div class="jobs">
          {active.map((job) => (
            <JobCard key={job.id} job={job} linked />
          ))}
        </div>
      ) : null}
      {list && !runs.length ? <Nothing /> : null}
      {runs.length && !shown.length ? <p class="empty">No run has “{route.filter}” on its card.</p> : null}
      <div class="cards">
        {shown.slice(0, most).map((run) => (
          <RunCard
            key={run.id}
            {...{ run, palette, own }}
            chosen={chosen.includes(run.id)}
            choose={(on) => choose(run.id, on)}
            rename={() => setQuestion({ of: "rename", run })}
            remove={() => setQuestion({ of: "delete", run })}
          />
        ))}
      </div>
      {shown.length > most ? (
        <button type="button" onClick={() => setMost(most + 4 * MOST_SHOWN)}>
          show more of {shown.length} runs
        </button>
      ) : null}
      {question?.of === "rename" ? (
        <Rename run={question.run} onDone={again} onClose={() => setQuestion(null)} />
      ) : null}
      {question?.of === "delete" ? (
        <Delete
          run={question.run}
          onDone={(trashed) => {
            setGone(trashed);
            again();
          }}
          onClose={() => setQuestion(null)}
        />
      ) : null}
      {list ? <Rest list={list} /> : null}
      <Trash runs={trash} changed={again} />
    </main>
  );
}

interface HeadingProps {
  list: RunList | null;
  route: Route & { at: "home" };
  chosen: string[];
  replace: (hash: string) => void;
}

function Heading({ list, route, chosen, replace }: HeadingProps) {
  return (
    <header>
      <h1>Runs{list ? <span class="where"> in {list.folder}</span> : null}</h1>
      <div class="tools">
        <input
          type="search"
          aria-label="filter"
          placeholder="filter by title, folder, protocol"
          value={route.filter}
          onInput={(event) => replace(hashOf({ ...route, filter: event.currentTarget.value }))}
        />
        <select
          aria-label="order"
          value={orderNamed(route.order)}
          onChange={(event) => replace(hashOf({ ...route, order: event.currentTarget.value }))}
        >
          {Object.entries(ORDERS).map(([name, words]) => (
            <option key={name} value={name}>
              {words}
            </option>
          ))}
        </select>
        {chosen.length ? (
          <>
            <a class="button primary" href={hashOf({ at: "runs", ids: chosen })}>
              {chosen.length === 1 ? "view the chosen run" : `compare ${chosen.length} side by side`}
            </a>
            <button type="button" class="plain" onClick={() => replace(hashOf({ ...route, chosen: [] }))}>
              clear the choice
            </button>
          </>
        ) : null}
      </div>
    </header>
  );
}

/** What was just deleted, and the way back. */
function Gone({ gone, close, changed }: { gone: Trashed; close: () => void; changed: () => void }) {
  const back = () => {
    restoreRun(gone.id).then(changed, changed);
    close();
  };
  return (
    <p class="gone" role="status">
      <b>{gone.folder}</b> is in the trash.{" "}
      <button type="button" class="plain" onClick={back}>
        undo
      </button>{" "}
      <button type="button" class="plain" aria-label="close this message" onClick={close}>
        ×
      </button>
    </p>
  );
}

function Nothing() {
  return (
    <div class="nothing">
      <p>There is no run in this folder yet.</p>
      <p>
        <a class="button primary" href={hashOf({ at: "new", origin: "" })}>
          start with an example
        </a>{" "}
        or run <code>anabranch run scenario.toml --out runs/first</code>
      </p>
    </div>
  );
}

/** What cannot be shown, and why. */
function Rest({ list }: { list: RunList }) {
  const count = list.unreadable.length;
  return (
    <>
      {list.whole ? null : <p class="warning">There are more folders than the server searches; serve a subfolder.</p>}
      {count ? (
        <details class="unreadable">
          <summary>
            {count} {count === 1 ? "folder" : "folders"} cannot be shown
          </summary>
          <ul>
            {list.unreadable.map(({ folder, reason }) => (
              <li key={folder}>
                <b>{folder}</b>: {reason}
              </li>
            ))}
          </ul>
        </details>
      ) : null}
    </>
  );
}
