/** A job: while it runs, the growing run; after its end, the kept run. */

import { useEffect, useRef, useState } from "preact/hooks";

import type { Header, Palette, Run } from "../data";
import { changedHash, readHash } from "../hash";
import { App } from "../views/App";
import { JobCard } from "./JobCard";
import { GrowingRun } from "./live";
import { hashOf } from "./route";
import { ask, askBytes, isAborted, isOver, type JobFacts, reasonOf } from "./server";

/** Pictures are drawn anew no more often, so that there is time for other things. */
const REST_MS = 400;

interface Props {
  id: string;
  palette: Palette;
  replace: (hash: string) => void;
}

export function JobView({ id, palette, replace }: Props) {
  const { job, run, failed } = useJob(id);
  useEffect(() => {
    if (job)
      document.title = `${isOver(job) ? job.state : `${Math.floor((100 * job.time_s) / job.duration_s)} %`} · ${job.name}`;
    // What is chosen stays so.
    const chosen = Object.fromEntries(readHash());
    if (job?.run && isOver(job)) replace(changedHash(hashOf({ at: "runs", ids: [job.run] }), chosen));
  }, [job]);

  if (failed) return <p class="failed">This job cannot be followed: {failed}</p>;
  if (!job) return <p class="empty waiting">reading …</p>;
  return (
    <>
      <div class="jobs">
        <JobCard job={job} linked={false} />
      </div>
      {run && run.times.length > 1 ? (
        <App runs={[run]} palette={palette} />
      ) : (
        <p class="empty waiting">{isOver(job) ? "The job left no run." : "No sample yet …"}</p>
      )}
    </>
  );
}

interface Details {
  job: JobFacts;
  header: Header | null;
}

/** Follows a job by its events, and asks for the samples that these speak of. */
function useJob(id: string): { job: JobFacts | null; run: Run | null; failed: string } {
  const [job, setJob] = useState<JobFacts | null>(null);
  const [run, setRun] = useState<Run | null>(null);
  const [failed, setFailed] = useState("");
  const known = useRef(0);
  useEffect(() => {
    const ended = new AbortController();
    let stream: EventSource | null = null;
    let asking = false;

    const follow = async (growing: GrowingRun) => {
      if (asking) return;
      asking = true;
      try {
        while (growing.count < known.current && !ended.signal.aborted) {
          const range = `first=${growing.count}&count=${known.current}`;
          const part = await askBytes(`api/jobs/${id}/data?${range}`, ended.signal);
          // The job may be over before its samples are asked for: then its run has them.
          if (!part.length) return;
          growing.add(part);
          setRun(growing.run());
          await new Promise((rest) => setTimeout(rest, REST_MS));
        }
      } catch (error) {
        if (!isAborted(error)) setFailed(reasonOf(error));
      } finally {
        asking = false;
      }
    };

    const begin = async () => {
      const details = await ask<Details>(`api/jobs/${id}`, ended.signal);
      setJob(details.job);
      if (!details.header) return;
      const growing = new GrowingRun(details.header);
      stream = new EventSource(`api/jobs/${id}/events`);
      const told = (event: MessageEvent<string>) => setJob(JSON.parse(event.data) as JobFacts);
      const over = (event: MessageEvent<string>) => {
        stream?.close();
        told(event);
      };
      stream.addEventListener("progress", told);
      stream.addEventListener("done", over);
      stream.addEventListener("failed", over);
      stream.addEventListener("samples", (event: MessageEvent<string>) => {
        known.current = (JSON.parse(event.data) as { count: number }).count;
        void follow(growing);
      });
      stream.onerror = () => {
        // The browser tries again by itself, unless the server says that there is nothing to follow.
        if (stream?.readyState === EventSource.CLOSED)
          setFailed("the server does not know this job; look at the list of runs");
      };
    };

    begin().catch((error) => isAborted(error) || setFailed(reasonOf(error)));
    return () => {
      ended.abort();
      stream?.close();
    };
  }, [id]);
  return { job, run, failed };
}
