/** How far connections are from fair, by the rate that says what they get. */

import type { Run } from "./data";

/**
 * The rate that counts: the delivered one where windows were recorded, otherwise the granted one.
 *
 * The rate that a window grants is the window by the round trip. A connection that has little to send never uses it.
 */
export function countedRate(run: Run): "granted_bps" | "delivered_bps" {
  const recorded = run.variables("connection");
  const hasBoth = recorded.includes("delivered_bps") && recorded.includes("fair_bps");
  return hasBoth && run.variables("subflow").includes("window_bytes") ? "delivered_bps" : "granted_bps";
}

/** Whether anything is known of how far connections are from fair. */
export const hasDistances = (run: Run): boolean =>
  countedRate(run) === "delivered_bps" || run.table("connection", "error") !== undefined;

/** The distance of a connection from its fair rate at a sample, relative to that; NaN while it is not there. */
export function distanceAt(run: Run, connection: number, sample: number): number {
  if (countedRate(run) === "granted_bps") {
    return run.table("connection", "error")?.at(connection, sample) ?? Number.NaN;
  }
  const fair = run.table("connection", "fair_bps")?.at(connection, sample) ?? Number.NaN;
  const rate = run.table("connection", "delivered_bps")?.at(connection, sample) ?? Number.NaN;
  return fair > 0 ? rate / fair - 1 : Number.NaN;
}

/** The distances of a connection at all samples. */
export const distancesOf = (run: Run, connection: number): Float32Array =>
  Float32Array.from(run.times, (_, sample) => distanceAt(run, connection, sample));
