/** Faults of fields: what stands there but cannot be sent, so that what is checked is never less than what is seen. */

import { createContext } from "preact";
import { useContext, useLayoutEffect } from "preact/hooks";

import type { Value } from "./server";

/** What is wrong with each faulty field, by its key. */
export type Faults = Record<string, string>;

export type TellFault = (path: string, fault: string | null) => void;

/** To whom fields tell their faults. */
export const FaultsTold = createContext<TellFault>(() => undefined);

/** Tells the fault of a field, until it is mended or the field is gone. */
export function useFault(path: string, fault: string | null): void {
  const tell = useContext(FaultsTold);
  useLayoutEffect(() => {
    tell(path, fault);
    return () => tell(path, null);
  }, [tell, path, fault]);
}

export function withFault(faults: Faults, path: string, fault: string | null): Faults {
  if ((faults[path] ?? null) === fault) return faults;
  const { [path]: _, ...rest } = faults;
  return fault === null ? rest : { ...rest, [path]: fault };
}

export const NO_LIST = 'this is no list yet; write it like ["a", "b"]';
export const NO_NUMBER = "this is not a number yet";
export const TOO_LARGE = "the form cannot hold whole numbers beyond 2^53 exactly; write it as text (TOML)";

/** What is wrong with a list as it is written; what is empty is left out. */
export function faultOfList(text: string): string | null {
  const list = listOf(text);
  if (list === null) return text.trim() ? NO_LIST : null;
  return inexactKey(list) === null ? null : TOO_LARGE;
}

export function listOf(text: string): Value[] | null {
  try {
    const value = JSON.parse(text) as Value;
    return Array.isArray(value) ? value : null;
  } catch {
    return null;
  }
}

const MOST_SEED = 2n ** 63n - 1n;

/** What is wrong with a seed as it is written; an empty one is that of the scenario. */
export function faultOfSeed(text: string): string | null {
  const seed = text.trim();
  if (!seed || (/^\d+$/.test(seed) && BigInt(seed) <= MOST_SEED)) return null;
  return "a seed is a whole number from 0 to 2^63 - 1 (9223372036854775807)";
}

/** The key of the first whole number that is too large to be exact here; "" if it is the value itself. */
export function inexactKey(value: Value): string | null {
  if (typeof value === "number") return Number.isInteger(value) && !Number.isSafeInteger(value) ? "" : null;
  if (typeof value !== "object" || value === null) return null;
  for (const [key, own] of Object.entries(value)) {
    const within = inexactKey(own);
    if (within !== null) return within ? `${key}.${within}` : key;
  }
  return null;
}
