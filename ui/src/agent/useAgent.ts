/** Follows an agent: asks for its state, takes in its events, and begins anew after a gap. */

import { useEffect, useState } from "preact/hooks";

import { type About, type Change, changed, type Entry, type Known, measuredOf, type Session } from "./agent";
import type { Sample } from "./live_run";

/** The most sessions that the page shows; of more, those with the lowest numbers. */
export const MOST_SESSIONS = 1000;

/** The page draws anew no more often than this. */
const DRAW_MS = 150;
/** Rates are sampled as often as this, and so many samples are kept. */
const SAMPLE_MS = 1000;
export const MOST_SAMPLES = 300;
/** Sums, what is measured, and the network as others tell of it are asked for as often as this: no event tells of them. */
const AGAIN_MS = 2000;
/** After a gap the state is asked for no sooner than this. */
const RETRY_MS = 1000;

export interface Followed {
  known: Known | null;
  samples: Sample[];
  /** Whether events come in. */
  isLive: boolean;
}

export async function ask<T>(path: string): Promise<T> {
  const answer = await fetch(path);
  if (!answer.ok) throw new Error(`${path}: ${answer.status}`);
  return (await answer.json()) as T;
}

/** Asks for the state, without sessions or with them. */
async function state(): Promise<Omit<Known, "sessions">> {
  const [about, { neighbours }, { links }, topology] = await Promise.all([
    ask<About>("api/v1/agent"),
    ask<Pick<Known, "neighbours">>("api/v1/neighbours"),
    ask<{ links: Known["sums"] }>("api/v1/links"),
    ask<Known["topology"]>("api/v1/topology"),
  ]);
  return { about, neighbours, sums: links, topology };
}

const askSessions = () => ask<{ sessions: Session[] }>(`api/v1/sessions?limit=${MOST_SESSIONS}`);

const ratesOf = (sessions: Session[]): Map<number, number> =>
  new Map(sessions.map((session) => [session.number, session.rate_bps]));

/** The state of an agent as time goes. It is kept apart from the page, which draws it from time to time. */
class Following {
  known: Known | null = null;
  samples: Sample[] = [];
  isLive = false;
  private stream: EventSource | null = null;
  /** What came in, and is not in the state yet. */
  private waiting: Change[] = [];
  /** Whether the state is being asked for. */
  private isLoading = false;
  private timers: number[] = [];
  private isOver = false;

  constructor(private readonly tell: () => void) {}

  begin(): void {
    this.stream = new EventSource("api/v1/events");
    this.stream.addEventListener("begin", () => void this.load());
    this.stream.addEventListener("missed", () => void this.load());
    this.stream.addEventListener("change", (event: MessageEvent<string>) => {
      const change = JSON.parse(event.data) as Change;
      this.waiting.push(change);
      this.tell();
    });
    this.stream.onopen = () => this.become(true);
    this.stream.onerror = () => {
      this.become(false);
      // The browser tries again by itself, unless the answer was no stream.
      if (this.stream?.readyState === EventSource.CLOSED && !this.isOver) {
        this.timers.push(window.setTimeout(() => this.begin(), RETRY_MS));
      }
    };
  }

  /** What no event tells of. */
  regularly(): void {
    this.timers.push(window.setInterval(() => this.sample(), SAMPLE_MS));
    this.timers.push(window.setInterval(() => void this.again(), AGAIN_MS));
  }

  end(): void {
    this.isOver = true;
    this.stream?.close();
    this.timers.forEach(clearInterval);
  }

  private become(isLive: boolean): void {
    this.isLive = isLive;
    this.tell();
  }

  /** Takes in what has come, before the page is drawn. */
  take(): void {
    if (!this.known || this.isLoading || !this.waiting.length) return;
    this.known = changed(this.known, this.waiting, MOST_SESSIONS);
    const told = this.waiting.filter(({ event }) => event === "changed" || event === "begun" || event === "ended");
    this.waiting = [];
    const last = told[told.length - 1];
    if (last) this.keep(last.time_s);
  }

  private async load(): Promise<void> {
    // What came before is in the state that is asked for; what comes meanwhile is taken after it.
    this.waiting = [];
    this.isLoading = true;
    try {
      const since_s = Date.now() / 1000 - MOST_SAMPLES;
      const [rest, { sessions }, { entries }] = await Promise.all([
        state(),
        askSessions(),
        ask<{ entries: Entry[] }>(`api/v1/history?since=${since_s}&limit=${MOST_SAMPLES}`),
      ]);
      this.isLoading = false;
      this.known = { ...rest, sessions };
      this.samples = entries.map(({ time_s, rates_bps }) => ({ time_s, rates: new Map(rates_bps) }));
      this.sample();
    } catch {
      this.become(false);
      if (!this.isOver) this.timers.push(window.setTimeout(() => void this.load(), RETRY_MS));
    }
  }

  private async again(): Promise<void> {
    if (document.hidden || !this.isLive || !this.known) return;
    try {
      const isMeasured = this.known.sessions.some((session) => measuredOf(session) !== null);
      const [rest, { sessions }] = await Promise.all([state(), isMeasured ? askSessions() : this.known]);
      this.known = { ...this.known, ...rest, ...(isMeasured ? { sessions } : {}) };
      this.tell();
    } catch {
      // The stream of events tells that the agent has gone.
    }
  }

  private sample(): void {
    this.take();
    if (this.isLive) this.keep(Date.now() / 1000);
    this.tell();
  }

  /** Keeps the present rates; samples at about the same time are one. */
  private keep(time_s: number): void {
    if (!this.known) return;
    const last = this.samples[this.samples.length - 1];
    const rates = ratesOf(this.known.sessions);
    if (last && time_s - last.time_s < 0.05) last.rates = rates;
    else this.samples = [...this.samples, { time_s, rates }].slice(-MOST_SAMPLES);
  }
}

export function useAgent(): Followed {
  const [followed, setFollowed] = useState<Followed>({ known: null, samples: [], isLive: false });
  useEffect(() => {
    let timer = 0;
    const draw = () => {
      timer = 0;
      following.take();
      const { known, samples, isLive } = following;
      setFollowed({ known, samples, isLive });
    };
    const following = new Following(() => {
      timer ||= window.setTimeout(draw, DRAW_MS);
    });
    following.begin();
    following.regularly();
    return () => {
      following.end();
      clearTimeout(timer);
    };
  }, []);
  return followed;
}
