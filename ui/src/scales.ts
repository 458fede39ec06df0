/** What sizes on the map mean: the same in all runs of the page, so that these can be compared. */

import type { Run } from "./data";

export interface Scales {
  /** The longest queue of all, which is the largest disc; 0 where none waits. */
  backlog_bytes: number;
  /** The least and the greatest capacity, which are the widths of links. */
  capacity_bps: [number, number];
}

export function scalesOf(runs: Run[]): Scales {
  let [low, high] = [Number.POSITIVE_INFINITY, 0];
  for (const run of runs) {
    for (const capacity of run.header.links.capacity_bps) {
      if (capacity === null || !(capacity > 0)) continue;
      low = Math.min(low, capacity);
      high = Math.max(high, capacity);
    }
  }
  return { backlog_bytes: Math.max(0, ...runs.map(longestQueue)), capacity_bps: [low, high] };
}

const known = new WeakMap<Run, number>();

function longestQueue(run: Run): number {
  let most = known.get(run);
  if (most !== undefined) return most;
  most = 0;
  for (const value of run.table("link", "backlog_bytes")?.values ?? []) if (value > most) most = value;
  known.set(run, most);
  return most;
}
