/** What the lines of a chart are, and their values at an instant. */

import type { Line } from "../chart_spec";
import { Marker } from "./Marker";

interface Props {
  lines: Line[];
  sample: number;
  text: (value: number | null | undefined) => string;
  /** A line is pointed at, or none. */
  onLine: (label: string | null) => void;
  onChoose: ((label: string) => void) | undefined;
}

export function Keys({ lines, sample, text, onLine, onChoose }: Props) {
  return (
    <ul class="keys">
      {lines
        .filter((line) => !line.dashed)
        .map((line) => {
          const key = (
            <>
              {line.marker ? (
                <Marker shape={line.marker} colour={line.colour} />
              ) : (
                <span class="swatch" style={{ background: line.colour }} />
              )}{" "}
              {line.label} <span class="value">{text(line.values[sample])}</span>
            </>
          );
          return onChoose ? (
            <li key={line.label} onMouseEnter={() => onLine(line.label)} onMouseLeave={() => onLine(null)}>
              <button type="button" class="plain" onClick={() => onChoose(line.label)}>
                {key}
              </button>
            </li>
          ) : (
            <li key={line.label}>{key}</li>
          );
        })}
    </ul>
  );
}
