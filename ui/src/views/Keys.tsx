/** What the lines of a chart are, and their values at an instant. */

import { keysOf, type Line, swatchHeight } from "../chart_spec";
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
      {keysOf(lines).map((key) => {
        const { label, colour, marker } = key;
        const shown = (
          <>
            {marker ? <Marker shape={marker} colour={colour} /> : null}{" "}
            <span class="swatch" style={{ background: colour, height: `${swatchHeight(key)}px` }} /> {label}{" "}
            <span class="value">{key.lines.map((line) => text(line.values[sample])).join(", ")}</span>
          </>
        );
        return onChoose ? (
          <li key={label} onMouseEnter={() => onLine(label)} onMouseLeave={() => onLine(null)}>
            <button type="button" class="plain" onClick={() => onChoose(label)}>
              {shown}
            </button>
          </li>
        ) : (
          <li key={label}>{shown}</li>
        );
      })}
    </ul>
  );
}
