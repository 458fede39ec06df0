/** The names of lines, beside their ends, with their values at an instant: each can be pointed at and chosen. */

import type { Line } from "../chart_spec";
import { extremesOf, type Unit } from "../scaled";
import { widthOfText } from "../text_width";

/** Where the name of a line stands: its left edge and its middle, in pixels of the chart. */
export interface Placed {
  number: number;
  x: number;
  y: number;
}

interface Props {
  lines: Line[];
  placed: Placed[];
  sample: number;
  unit: Unit;
  withValues: boolean;
  onLine: (label: string | null) => void;
  onChoose: ((label: string) => void) | undefined;
}

const FONT = "12px system-ui, sans-serif";
/** The room between a name and its value, and behind that. */
const GAP = 8;
/** Of more lines the names would hide the lines. */
const MOST = 10;

/** The names of lines and the room that they take, 0 for those that have none. */
export function labelTexts(lines: Line[], unit: Unit, withValues: boolean, most: number): { width: number }[] {
  const named = lines.filter((line) => !line.dashed && line.width !== 0);
  if (named.length > MOST) return lines.map(() => ({ width: 0 }));
  return lines.map((line) => {
    if (line.dashed || line.width === 0) return { width: 0 };
    const name = Math.min(Math.ceil(widthOfText(nameOf(line), FONT)) + 10, Math.max(most, 40));
    return { width: name + (withValues ? GAP + Math.ceil(widestValue(line.values, unit)) : 0) };
  });
}

/** How wide the widest value of a line is: of its greatest and its least. */
function widestValue(values: Float32Array, unit: Unit): number {
  let ends = known.get(values);
  if (!ends) {
    ends = extremesOf(values);
    known.set(values, ends);
  }
  return Math.max(...ends.map((value) => widthOfText(unit.text(value), FONT)));
}

/** Charts are made anew with each sample that is played, and their lines are the same ones. */
const known = new WeakMap<Float32Array, [number, number]>();

const nameOf = (line: Line): string => line.name ?? line.label;

export function Ends({ lines, placed, sample, unit, withValues, onLine, onChoose }: Props) {
  return (
    <ul class="ends" aria-label="lines">
      {placed.map(({ number, x, y }) => {
        const line = lines[number];
        if (!line) return null;
        const text = (
          <>
            <b style={{ borderColor: line.colour }}>{nameOf(line)}</b>
            {withValues ? <span class="value">{unit.text(line.values[sample])}</span> : null}
          </>
        );
        return (
          <li
            key={line.label}
            style={{ transform: `translate(${x}px, ${y}px)` }}
            onMouseEnter={() => onLine(line.label)}
            onMouseLeave={() => onLine(null)}
          >
            {onChoose ? (
              <button type="button" class="plain" onClick={() => onChoose(line.label)}>
                {text}
              </button>
            ) : (
              text
            )}
          </li>
        );
      })}
    </ul>
  );
}
