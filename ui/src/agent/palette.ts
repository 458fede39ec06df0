/** The colours of the page of an agent, which is sent without what reports have of them. */

import { mixed } from "../colours";
import type { Palette } from "../data";

export const LINES = ["#0072b2", "#d55e00", "#009e73", "#cc79a7", "#e69f00", "#56b4e9", "#1b2430"];
export const UTILISATION = ["#c6cfda", "#eac567", "#ec9a3c", "#d4502e", "#7f1842"];
export const UTILISATION_DARK = ["#3b4653", "#8a4a70", "#dd5f4b", "#f5a142", "#ffe69a"];

const STEPS = 64;

/** Colours from the first to the last, through those between. */
function ramp(stops: string[]): string[] {
  return Array.from({ length: STEPS + 1 }, (_, step) => {
    const place = (step / STEPS) * (stops.length - 1);
    const before = Math.min(Math.floor(place), stops.length - 2);
    return mixed(stops[before] as string, stops[before + 1] as string, place - before);
  });
}

export const PALETTE: Palette = {
  lines: LINES,
  utilisation: ramp(UTILISATION),
  utilisation_dark: ramp(UTILISATION_DARK),
};
