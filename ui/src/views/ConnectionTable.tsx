/** The connections, the farthest from fair first; of a long table only the rows that are seen are there. */

import { useEffect, useMemo, useRef, useState } from "preact/hooks";
import { type Inks, seen } from "../colours";
import type { Run } from "../data";
import { columnsOf, orderOf, rowsOf, tableRows } from "../rows";
import { csvText, fileName, saveText } from "../save";
import { type Update, unmatched } from "../selection";
import { spanText } from "../units";
import { Marker } from "./Marker";

interface Props {
  run: Run;
  sample: number;
  filter: string;
  chosen: string | null;
  /** Connections to be lit besides. */
  lit: number[] | null;
  update: Update;
  own: Inks;
}

/** The height of a row, and of the part of the table that is seen, in pixels; the style has the same. */
const ROW = 28;
const HEIGHT = 420;
/** Rows that are there beyond those that are seen. */
const MARGIN = 6;

export function ConnectionTable({ run, sample, filter, chosen, lit, update, own }: Props) {
  const [top, setTop] = useState(0);
  const latest = useRef(chosen);
  latest.current = chosen;
  const place = useRef<HTMLDivElement>(null);
  // What the filter leaves is shown from its beginning.
  useEffect(() => {
    if (place.current) place.current.scrollTop = 0;
  }, [filter]);
  const columns = useMemo(() => columnsOf(run), [run]);
  const order = rowsOf(run, filter, sample);
  const { connections, protocols } = run.header;
  const isRun = run.header.kind === "run";
  if (!connections.name.length) return <p class="empty">there are no connections</p>;
  const first = Math.min(Math.max(Math.floor(top / ROW) - MARGIN, 0), Math.max(order.length - 1, 0));
  const shown = order.slice(first, first + Math.ceil(HEIGHT / ROW) + 2 * MARGIN);
  const below = order.length - first - shown.length;
  const choose = (name: string) => update({ chosen: latest.current === name ? null : name, link: null });
  const save = () => {
    const { names, rows } = tableRows(run, filter, sample);
    saveText(csvText(names, rows), fileName(`${run.header.name} connections`, "csv"));
  };
  return (
    <section aria-label="connections">
      <p class="facts above">
        {order.length === connections.name.length ? order.length : `${order.length} of ${connections.name.length}`}{" "}
        connections
        {isRun ? ` at ${spanText(run.times[sample])}` : ""}, {orderOf(run)}
        <button type="button" class="plain" aria-label="save the connections as CSV" onClick={save}>
          CSV
        </button>
      </p>
      <div class="connections" ref={place} onScroll={(event) => setTop(event.currentTarget.scrollTop)}>
        <table class={run.header.kind} aria-rowcount={order.length + 1}>
          <thead>
            <tr>
              <th scope="col">connection</th>
              {isRun ? <th scope="col">protocol</th> : null}
              {columns.map((column) => (
                <th scope="col" class={column.name === "held_by" ? "" : "number"} key={column.name}>
                  {column.heading}
                </th>
              ))}
            </tr>
          </thead>
          <tbody>
            {first ? <Gap rows={first} /> : null}
            {shown.map((c, i) => {
              const name = connections.name[c] ?? "";
              const protocol = connections.protocol[c] ?? "";
              const look = protocols[protocol];
              const classes = `${chosen === name ? "chosen" : ""} ${lit?.includes(c) ? "lit" : ""}`;
              return (
                <tr
                  key={c}
                  class={classes}
                  aria-rowindex={first + i + 2}
                  onMouseEnter={() => update({ hovered: name })}
                  onMouseLeave={() => update({ hovered: null })}
                  onClick={() => choose(name)}
                >
                  <th scope="row" title={name}>
                    <button type="button" class="plain" aria-pressed={chosen === name}>
                      {name}
                    </button>
                  </th>
                  {isRun ? (
                    <td title={protocol}>
                      {look ? <Marker shape={look.marker} colour={seen(look.colour, own)} /> : null} {protocol}
                    </td>
                  ) : null}
                  {columns.map((column) => (
                    <td
                      class={column.name === "held_by" ? "" : "number"}
                      title={column.name === "held_by" ? column.text(c, sample) : undefined}
                      key={column.name}
                    >
                      {column.text(c, sample)}
                    </td>
                  ))}
                </tr>
              );
            })}
            {below > 0 ? <Gap rows={below} /> : null}
          </tbody>
        </table>
        {order.length ? null : <p class="empty">{unmatched(filter)}</p>}
      </div>
    </section>
  );
}

/** The room of rows that are not there. */
function Gap({ rows }: { rows: number }) {
  return (
    <tr>
      <td class="gap" style={{ height: `${rows * ROW}px` }} />
    </tr>
  );
}
