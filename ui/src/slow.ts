/** Numbers that change slowly enough to be read, while pictures go on. */

import { useRef } from "preact/hooks";

/** How long numbers that are read stay while the page plays, and how long pictures do. */
export const READ_MS = 200;
export const SEEN_MS = 30;

/** The value, renewed only so often while the page plays. */
export function useSlow<T>(value: T, playing: boolean, stay_ms: number): T {
  const shown = useRef({ value, at: Number.NEGATIVE_INFINITY });
  const now = performance.now();
  if (!playing || now - shown.current.at >= stay_ms) shown.current = { value, at: now };
  return shown.current.value;
}
