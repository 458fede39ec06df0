/**
 * What the address of the page keeps, so that a reload or a link shows the same: `#connection=a&time=1.5`, and on the
 * page of a server behind a place: `#/runs/one,two?connection=a&time=1.5`.
 */

/** The place in an address, with `#`, and its values by their keys. */
function parted(hash: string): { place: string; values: URLSearchParams } {
  if (!hash.startsWith("#/")) return { place: "", values: new URLSearchParams(hash.replace(/^#/, "")) };
  const [place = "", ...query] = hash.split("?");
  return { place, values: new URLSearchParams(query.join("?")) };
}

/** The values of an address by their keys. */
export function readHash(hash: string = location.hash): Map<string, string> {
  return new Map(parted(hash).values);
}

/** The same address with other values; null takes a key out, and place and keys of others stay. */
export function changedHash(hash: string, changes: Record<string, string | null>): string {
  const { place, values } = parted(hash);
  for (const [key, value] of Object.entries(changes)) {
    if (value === null) values.delete(key);
    else values.set(key, value);
  }
  const text = values.toString();
  if (place) return text ? `${place}?${text}` : place;
  return text ? `#${text}` : "";
}

/** Puts values into the address, without a new entry in the browser's history. */
export function writeHash(changes: Record<string, string | null>): void {
  const hash = changedHash(location.hash, changes);
  if (hash === location.hash) return;
  history.replaceState(history.state, "", hash || location.pathname + location.search);
}
