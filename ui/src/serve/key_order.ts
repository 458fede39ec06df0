/** In which order the keys of a table stand in the form: what is used most comes first. */

/** The keys that are used most, over all tables. */
const FIRST = [
  "title",
  "description",
  "network",
  "node",
  "link",
  "connection",
  "traffic",
  "demands",
  "defaults",
  "run",
  "name",
  "source",
  "target",
  "capacity",
  "delay",
  "queue",
  "discipline",
  "protocol",
  "paths",
  "start",
  "stop",
  "amount",
  "weight",
  "duration",
  "seed",
  "record",
  "sample",
  "warm_up",
];

/** Fewer keys than this are not folded away. */
const FEW = 3;

/** The keys of a table in order; those that are neither used often nor there already stand apart. */
export function sortedKeys(keys: string[], there: string[]): { main: string[]; more: string[] } {
  const rank = (key: string) => (FIRST.indexOf(key) + 1 || FIRST.length + 1) + (there.includes(key) ? 0 : 0.5);
  const inOrder = [...keys].sort((a, b) => Math.floor(rank(a)) - Math.floor(rank(b)) || rank(a) - rank(b));
  const isMain = (key: string) => FIRST.includes(key) || there.includes(key);
  const main = inOrder.filter(isMain);
  const more = inOrder.filter((key) => !isMain(key));
  return more.length < FEW || !main.length ? { main: inOrder, more: [] } : { main, more };
}
