/** What a run is, in one line. */

import type { Run } from "./data";
import { spanText } from "./units";

/** How large a run is, and how far it came. */
export function factsOf({ header, times }: Run): string {
  const count = (number: number, what: string) => `${number} ${what}${number === 1 ? "" : "s"}`;
  const sizes = [
    count(header.nodes.name.length, "node"),
    count(header.links.name.length, "link"),
    count(header.connections.name.length, "connection"),
    ...(header.kind === "run" ? [count(times.length, "sample")] : [count(header.subflows.name.length, "subflow")]),
    ...(header.duration_s === undefined ? [] : [spanText(header.reached_s ?? header.duration_s)]),
    ...(header.seed === undefined ? [] : [`seed ${header.seed}`]),
  ];
  return `${sizes.join(", ")}${header.finished === false ? "; stopped before its end" : ""}`;
}
