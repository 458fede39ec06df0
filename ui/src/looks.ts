/** How the lines of connections look in all charts and on the map: by protocol, and apart from each other. */

import type { Making } from "./chart_spec";
import { lookOf, type Shade } from "./colours";
import { MOST_LINES } from "./selection";

/** The look of each of some connections: a shade of the colour of its protocol, by its rank among those. */
export function looksOf({ run, own }: Pick<Making, "run" | "own">, rows: number[]): Map<number, Shade> {
  const { name, protocol } = run.header.connections;
  // Of few connections each keeps its look, whatever is chosen.
  const ranked = name.length > MOST_LINES ? rows : name.map((_, row) => row);
  const ranks = ranksOf(ranked, protocol);
  return new Map(rows.map((row) => [row, lookOf(run, row, own, ranks.get(row))]));
}

/** The rank of each row among those of its protocol. */
function ranksOf(rows: number[], protocol: string[]): Map<number, number> {
  const counts = new Map<string, number>();
  return new Map(
    rows.map((row) => {
      const own = protocol[row] ?? "";
      const rank = counts.get(own) ?? 0;
      counts.set(own, rank + 1);
      return [row, rank];
    }),
  );
}
