/** What of the state the address keeps. */

import { useEffect } from "preact/hooks";

import { readHash, writeHash } from "./hash";
import type { State } from "./selection";

/** The address follows so long after a change. */
const AFTER_MS = 250;

/** What the address says of the state; what it does not say, or says wrong, is left out. */
export function keptState(values: Map<string, string> = readHash()): Partial<State> {
  const time_s = number(values.get("time"));
  const [from, to] = (values.get("span") ?? "").split("-").map(number);
  const link = values.get("link");
  const chosen = values.get("connection");
  const compared = values.get("compare");
  return {
    ...(time_s === undefined ? {} : { time_s }),
    ...(from !== undefined && to !== undefined && from < to ? { span: [from, to] as [number, number] } : {}),
    ...(link === undefined ? {} : { link }),
    ...(chosen === undefined ? {} : { chosen }),
    ...(compared === undefined ? {} : { compared: compared.split(",").map(decodeURIComponent).filter(Boolean) }),
    ...(values.has("filter") ? { filter: values.get("filter") as string } : {}),
  };
}

function number(text: string | undefined): number | undefined {
  const value = Number(text || Number.NaN);
  return Number.isFinite(value) ? value : undefined;
}

/** Values for the address: null for what is as it is without one. */
export function hashOf(state: State, opening_s: number): Record<string, string | null> {
  const short = (value: number) => String(Number(value.toPrecision(9)));
  return {
    connection: state.chosen,
    link: state.link,
    filter: state.filter || null,
    time: state.time_s === opening_s ? null : short(state.time_s),
    compare: state.compared?.map(encodeURIComponent).join(",") ?? null,
    span: state.span && `${short(state.span[0])}-${short(state.span[1])}`,
  };
}

/** Keeps the state in the address, while the page does not play. */
export function useKept(state: State, opening_s: number): void {
  const { chosen, link, filter, time_s, span, compared, playing } = state;
  useEffect(() => {
    if (playing) return;
    const later = setTimeout(() => writeHash(hashOf(state, opening_s)), AFTER_MS);
    return () => clearTimeout(later);
  }, [chosen, link, filter, time_s, span, compared, playing, opening_s]);
}
