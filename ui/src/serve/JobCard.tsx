/** How far a job is, and a button that stops it. */

import { useState } from "preact/hooks";

import { digits, spanText } from "../units";
import { hashOf } from "./route";
import { isOver, type JobFacts, reasonOf, stopJob } from "./server";

interface Props {
  job: JobFacts;
  /** Whether there is a way to its view. */
  linked: boolean;
}

export function JobCard({ job, linked }: Props) {
  const [failed, setFailed] = useState("");
  const [stopping, setStopping] = useState(false);
  const stop = () => {
    setStopping(true);
    stopJob(job.id).catch((error) => {
      setStopping(false);
      setFailed(reasonOf(error));
    });
  };
  return (
    <section class={`job ${job.state}`} aria-label={`job ${job.name}`}>
      <div class="name">
        {linked ? <a href={hashOf({ at: "job", id: job.id })}>{job.name}</a> : <strong>{job.name}</strong>}
        <span class="state">{stopping && !isOver(job) ? "stopping" : job.state}</span>
      </div>
      <progress max={job.duration_s} value={job.time_s} aria-label={`progress of ${job.name}`} />
      <span class="facts">{progressText(job)}</span>
      {isOver(job) ? null : (
        <button type="button" disabled={stopping} onClick={stop}>
          stop
        </button>
      )}
      {failed || job.error ? <p class="failed">{failed || job.error}</p> : null}
    </section>
  );
}

/** Progress in words: time, rate of events, time left. */
export function progressText(job: JobFacts): string {
  if (job.state === "waiting") return "waits for another job to end";
  const parts = [`${spanText(job.time_s)} of ${spanText(job.duration_s)}`];
  if (job.events_per_s > 0) parts.push(`${roughText(job.events_per_s)} events/s`);
  if (job.left_s !== null) parts.push(`${leftText(job.left_s)} left`);
  return parts.join(" · ");
}

export function roughText(count: number): string {
  if (count >= 1e6) return `${digits(count / 1e6)} million`;
  return count >= 1e3 ? `${digits(count / 1e3)} thousand` : digits(count);
}

/** A time that people wait, in whole seconds, minutes, hours. */
export function leftText(seconds: number): string {
  const whole = Math.ceil(seconds);
  if (whole < 100) return `${whole} s`;
  const minutes = Math.round(whole / 60);
  return minutes < 100 ? `${minutes} min` : `${digits(minutes / 60, 2)} h`;
}
