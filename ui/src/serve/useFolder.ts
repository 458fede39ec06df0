/** What is in the folder: jobs are looked at often, and runs when a job has ended, or now and then. */

import { useCallback, useEffect, useState } from "preact/hooks";

import { ask, isAborted, isOver, type JobFacts, type RunList, reasonOf, type Trashed } from "./server";

/** How often is looked: while a job goes on, and else. */
const SOON_MS = 1000;
const LATER_MS = 5000;

interface Folder {
  list: RunList | null;
  jobs: JobFacts[];
  trash: Trashed[];
  failed: string;
  /** Looks at the runs again at once. */
  again: () => void;
}

export function useFolder(): Folder {
  const [list, setList] = useState<RunList | null>(null);
  const [jobs, setJobs] = useState<JobFacts[]>([]);
  const [trash, setTrash] = useState<Trashed[]>([]);
  const [failed, setFailed] = useState("");
  const [turn, setTurn] = useState(0);
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
          setTrash((await ask<{ runs: Trashed[] }>("api/trash", ended.signal)).runs);
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
  }, [turn]);
  return { list, jobs, trash, failed, again: useCallback(() => setTurn((old) => old + 1), []) };
}
