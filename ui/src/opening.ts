/** Where the page opens: at an instant at which many connections are there and something goes on. */

import type { Run } from "./data";

/** Rates of less than this share of the greatest sum count as nothing going on. */
const BUSY = 0.5;

/** Whether some run goes on: only its end tells whether it was finished. */
export const isGrowing = (runs: Run[]): boolean =>
  runs.some(({ header }) => header.kind === "run" && header.finished === undefined);

/** The time at which a page of these runs opens; the last sample while a run still grows. */
export function openingTime(runs: Run[]): number {
  const last = Math.max(...runs.map((run) => run.times[run.times.length - 1] ?? 0));
  const own = runs.filter((run) => run.header.kind === "run" && run.times.length > 1);
  if (!own.length || isGrowing(own)) return last;
  const counts = own.map(presentOf);
  const times = (own[0] as Run).times;
  const scores = times.map((time) =>
    own.reduce(
      (sum, run, i) => sum + ((counts[i] as Counts).at[run.sampleAt(time)] ?? 0) / (counts[i] as Counts).most,
      0,
    ),
  );
  return times[middleOfBest(scores)] ?? last;
}

interface Counts {
  at: number[];
  most: number;
}

/**
 * The rates that charts begin with: delivered ones where windows were recorded.
 *
 * The rate that a window grants is the window by the round trip at the instant, which jumps at each loss.
 */
export const openingRates = (runs: Run[]): string =>
  runs.some((run) => run.variables("subflow").includes("window_bytes")) ? "delivered_bps" : "granted_bps";

/** How many connections are there at each sample, and count: not before their rates have risen. */
function presentOf(run: Run): Counts {
  const table = run.table("connection", "delivered_bps") ?? run.table("connection", "granted_bps");
  const present = run.table("run", "present");
  const sums = run.times.map((_, sample) => {
    let sum = 0;
    for (let row = 0; row < (table?.rows ?? 0); row++) sum += table?.at(row, sample) || 0;
    return sum;
  });
  const greatest = Math.max(0, ...sums);
  const at = run.times.map((_, sample) => {
    if (greatest > 0 && (sums[sample] as number) < BUSY * greatest) return 0;
    return present ? present.at(0, sample) || 0 : sending(run, sample);
  });
  return { at, most: Math.max(1, ...at) };
}

/** How many connections have a rate at a sample. */
function sending(run: Run, sample: number): number {
  const table = run.table("connection", "granted_bps") ?? run.table("connection", "delivered_bps");
  let count = 0;
  for (let row = 0; row < (table?.rows ?? 0); row++) if ((table?.at(row, sample) ?? 0) > 0) count++;
  return count;
}

/** The middle of the longest stretch of the greatest scores. */
function middleOfBest(scores: number[]): number {
  const best = Math.max(...scores) - 1e-9;
  let [from, length, start] = [0, 0, -1];
  for (let i = 0; i <= scores.length; i++) {
    const isBest = i < scores.length && (scores[i] as number) >= best;
    if (isBest && start < 0) start = i;
    if (isBest || start < 0) continue;
    if (i - start > length) [from, length] = [start, i - start];
    start = -1;
  }
  return from + (length >> 1);
}
