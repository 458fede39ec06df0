/** What differs between two versions of a scenario, as edits of its text that leave everything else there. */

import { isTables } from "./schema";
import type { Edit, Tables, Value } from "./server";

/** The edits that lead from one version to another, in an order in which they can be made. */
export function editsBetween(before: Tables, after: Tables): Edit[] {
  return ofTables(before, after, []);
}

function ofTables(before: Tables, after: Tables, path: string[]): Edit[] {
  const gone = Object.keys(before).filter((key) => !(key in after));
  const removed = gone.map((key): Edit => ({ path: [...path, key], value: null }));
  return [...removed, ...Object.entries(after).flatMap(([key, value]) => ofValues(before[key], value, [...path, key]))];
}

function ofValues(before: Value | undefined, after: Value, path: string[]): Edit[] {
  if (same(before, after)) return [];
  if (isTables(before) && isTables(after) && Object.keys(after).length) return ofTables(before, after, path);
  if (areTables(before) && areTables(after) && after.length) return ofLists(before, after, path);
  // A new table gets headers, one of a list is written within it.
  if (before === undefined && isTables(after) && Object.keys(after).length && !path.some(isNumber)) {
    return ofTables({}, after, path);
  }
  if (!Array.isArray(before) && areTables(after)) {
    return after.map((value, i) => ({ path: [...path, String(i)], value }));
  }
  // An empty list of tables is none in the text.
  if (Array.isArray(after) && !after.length && areTables(before)) return [{ path, value: null }];
  return [{ path, value: after }];
}

/** Edits of a list of tables: entries that have gone are removed, the others changed one by one. */
function ofLists(before: Tables[], after: Tables[], path: string[]): Edit[] {
  const gone = before.length - after.length;
  const edits: Edit[] = [];
  let kept = before;
  for (let i = 0; i < gone; i++) {
    const at = kept.findIndex((table, j) => !same(table, after[j]));
    const place = at < 0 ? kept.length - 1 : at;
    edits.push({ path: [...path, String(place)], value: null });
    kept = kept.filter((_, j) => j !== place);
  }
  const changed = after.flatMap((table, i) => {
    const own = [...path, String(i)];
    const old = kept[i];
    return old === undefined ? [{ path: own, value: table }] : ofTables(old, table, own);
  });
  return [...edits, ...changed];
}

const isNumber = (key: string): boolean => /^\d+$/.test(key);

const areTables = (value: Value | undefined): value is Tables[] =>
  Array.isArray(value) && value.length > 0 && value.every(isTables);

function same(a: Value | undefined, b: Value | undefined): boolean {
  if (a === b) return true;
  if (Array.isArray(a) && Array.isArray(b)) return a.length === b.length && a.every((own, i) => same(own, b[i]));
  if (!isTables(a) || !isTables(b)) return false;
  const keys = Object.keys(a);
  return keys.length === Object.keys(b).length && keys.every((key) => key in b && same(a[key], b[key]));
}
