/** What the address of the page keeps, so that a reload or a link shows the same: `#connection=a&time=1.5`. */

/** The values of an address by their keys. */
export function readHash(hash: string = location.hash): Map<string, string> {
  return new Map(new URLSearchParams(hash.replace(/^#/, "")));
}

/** The same address with other values; null takes a key out, and keys of others stay. */
export function changedHash(hash: string, changes: Record<string, string | null>): string {
  const values = new URLSearchParams(hash.replace(/^#/, ""));
  for (const [key, value] of Object.entries(changes)) {
    if (value === null) values.delete(key);
    else values.set(key, value);
  }
  const text = values.toString();
  return text ? `#${text}` : "";
}

/** Puts values into the address, without a new entry in the browser's history. */
export function writeHash(changes: Record<string, string | null>): void {
  const hash = changedHash(location.hash, changes);
  if (hash === location.hash) return;
  history.replaceState(history.state, "", hash || location.pathname + location.search);
}
