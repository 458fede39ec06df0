/** The names of lines, beside their ends, with their values at an instant: each can be pointed at and chosen. */

import type { Line } from "../chart_spec";
import type { Unit } from "../scaled";

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
/** The room of a value beside a name: of "1000" and a space. */
const VALUE = 30;
/** Of more lines the names would hide the lines. */
const MOST = 10;

let measure: CanvasRenderingContext2D | null | undefined;

/** The names of lines and the room that they take, 0 for those that have none. */
export function labelTexts(lines: Line[], unit: Unit, withValues: boolean, most: number): { width: number }[] {
  measure ??= document.createElement("canvas").getContext("2d");
  const named = lines.filter((line) => !line.dashed && line.width !== 0);
  if (named.length > MOST) return lines.map(() => ({ width: 0 }));
  if (measure) measure.font = FONT;
  return lines.map((line) => {
    if (line.dashed || line.width === 0) return { width: 0 };
    const text = measure?.measureText(nameOf(line)).width ?? 0;
    return {
      width: Math.min(Math.ceil(text) + 10, Math.max(most, 40)) + (withValues ? VALUE + 2 * unit.text(0).length : 0),
    };
  });
}

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
