/** The connections, the farthest from fair first; a chosen row opens and explains itself. */

import type { ComponentChildren } from "preact";
import { useEffect, useLayoutEffect, useMemo, useRef, useState } from "preact/hooks";
import type { Run } from "../data";
import { type Column, columnsOf, orderOf, rowsOf, tableRows } from "../rows";
import { csvText, fileName, saveText } from "../save";
import { type Update, unmatched } from "../selection";
import { columnsThatFit, HEIGHT, ROW, roomOf, windowOf } from "../table_window";
import { spanText } from "../units";
import { Marker } from "./Marker";
import { Term } from "./Term";

interface Props {
  run: Run;
  sample: number;
  playing: boolean;
  filter: string;
  chosen: string | null;
  /** Connections to be lit besides. */
  lit: number[] | null;
  update: Update;
  colourOf: (connection: number) => string;
  /** What is said of the chosen connection, below its row. */
  told: (connection: number) => ComponentChildren;
}

export function ConnectionTable({ run, sample, playing, filter, chosen, lit, update, colourOf, told }: Props) {
  const [top, setTop] = useState(0);
  const [extra, setExtra] = useState(0);
  const place = useRef<HTMLDivElement>(null);
  // What the filter leaves is shown from its beginning.
  useEffect(() => {
    if (place.current) place.current.scrollTop = 0;
  }, [filter]);
  const width = useWidth(place);
  const all = useMemo(() => columnsOf(run), [run]);
  const names = useMemo(() => widthOfNames(run.header.connections.name), [run]);
  const columns = useMemo(() => columnsThatFit(all, names, width || WIDE), [all, names, width]);
  const first_px = Math.max(Math.min(names, width - roomOf(columns)), SHARE * width);
  const { order, at } = useOrder(run, filter, sample, playing || chosen !== null);
  const { connections } = run.header;
  const opened = order.findIndex((c) => connections.name[c] === chosen);
  useShown(place, chosen, opened);
  if (!connections.name.length) return <p class="empty">There are no connections.</p>;
  const { first, end, above, below } = windowOf(order.length, top, opened, extra);
  const save = () => {
    const { names, rows } = tableRows(run, filter, sample);
    saveText(csvText(names, rows), fileName(`${run.header.name} connections`, "csv"));
  };
  return (
    <section class="table" aria-label="connections">
      <div class="above">
        <h3>
          {order.length === connections.name.length ? order.length : `${order.length} of ${connections.name.length}`}{" "}
          {connections.name.length === 1 ? "connection" : "connections"}
        </h3>
        <p class="facts">
          {run.header.kind === "run" ? `at ${spanText(run.times[sample])}, ` : ""}
          {orderOf(run)}
          {at !== sample && run.header.kind === "run" ? ` (as at ${spanText(run.times[at])})` : ""}; choose one to see
          why
        </p>
        <button type="button" class="plain" aria-label="save the connections as CSV" onClick={save}>
          CSV
        </button>
      </div>
      <div
        class="connections"
        ref={place}
        style={{ maxHeight: `${HEIGHT + (opened >= 0 ? extra : 0)}px` }}
        onScroll={(event) => setTop(event.currentTarget.scrollTop)}
      >
        <table class={run.header.kind} aria-rowcount={order.length + 1}>
          <Head columns={columns} first_px={first_px} />
          <tbody>
            {above ? <Gap height={above} columns={columns.length + 1} /> : null}
            {order.slice(first, end).map((c, i) => (
              <Row
                key={c}
                {...{ run, c, columns, sample, update, colourOf }}
                index={first + i}
                lit={lit?.includes(c) ?? false}
                isChosen={first + i === opened}
              >
                {first + i === opened ? (
                  <Opened columns={columns.length + 1} onHeight={setExtra} told={told(c)} />
                ) : null}
              </Row>
            ))}
            {below > 0 ? <Gap height={below} columns={columns.length + 1} /> : null}
          </tbody>
        </table>
        {order.length ? null : <p class="empty">{unmatched(filter)}</p>}
      </div>
    </section>
  );
}

/** The width of a table before it is known, and the share of it that names have at least. */
const WIDE = 1000;
const SHARE = 0.24;
/** The room of the signs before a name. */
const SIGNS = 46;
/** So many of the longest names are measured. */
const MEASURED = 20;

/** How wide the longest names are, with the signs before them, in pixels. */
function widthOfNames(names: string[]): number {
  const context = document.createElement("canvas").getContext("2d");
  if (!context) return 0;
  context.font = "600 14px system-ui, sans-serif";
  const longest = [...names].sort((a, b) => b.length - a.length).slice(0, MEASURED);
  return SIGNS + Math.ceil(Math.max(0, ...longest.map((name) => context.measureText(name).width)));
}

function useWidth(place: { current: HTMLElement | null }): number {
  const [width, setWidth] = useState(0);
  useLayoutEffect(() => {
    const element = place.current;
    if (!element) return;
    const look = () => setWidth(element.clientWidth);
    const watch = new ResizeObserver(look);
    watch.observe(element);
    look();
    return () => watch.disconnect();
  }, []);
  return width;
}

/** The order of the rows and its sample: it stays while `still`, so that no row runs away from a reader. */
function useOrder(run: Run, filter: string, sample: number, still: boolean): { order: number[]; at: number } {
  const kept = useRef<{ order: number[]; at: number; filter: string; count: number } | null>(null);
  const count = run.header.connections.name.length;
  const isOld = !kept.current || kept.current.filter !== filter || kept.current.count !== count;
  const at = still && kept.current ? kept.current.at : sample;
  if (isOld || kept.current?.at !== at) {
    kept.current = { order: rowsOf(run, filter, at), at, filter, count };
  }
  return kept.current as { order: number[]; at: number };
}

/** Brings a row that is chosen elsewhere into sight: within its table, and on the page where it was chosen here. */
function useShown(place: { current: HTMLDivElement | null }, chosen: string | null, opened: number): void {
  const before = useRef<string | null>(null);
  useLayoutEffect(() => {
    const element = place.current;
    const isNew = chosen !== null && chosen !== before.current;
    before.current = chosen;
    if (!isNew || !element || opened < 0) return;
    const row = opened * ROW;
    if (row < element.scrollTop || row > element.scrollTop + HEIGHT - 3 * ROW)
      element.scrollTop = Math.max(row - ROW, 0);
    const isHere = element.closest("article")?.contains(document.activeElement) ?? false;
    if (isHere) {
      requestAnimationFrame(() => element.querySelector("tr.chosen")?.scrollIntoView({ block: "nearest" }));
    }
  }, [chosen, opened]);
}

function Head({ columns, first_px }: { columns: Column[]; first_px: number }) {
  return (
    <thead>
      <tr>
        <th scope="col" style={{ width: `${first_px}px` }}>
          <Term of="connection" />
        </th>
        {columns.map(({ heading, term, unit, name }) => (
          <th scope="col" class={unit ? "number" : ""} key={name}>
            {term ? <Term of={term}>{heading}</Term> : heading}
            {unit?.name ? <span class="unit"> {unit.name}</span> : null}
          </th>
        ))}
      </tr>
    </thead>
  );
}

interface RowProps {
  run: Run;
  c: number;
  index: number;
  columns: Column[];
  sample: number;
  lit: boolean;
  isChosen: boolean;
  update: Update;
  colourOf: (connection: number) => string;
  children: ComponentChildren;
}

function Row({ run, c, index, columns, sample, lit, isChosen, update, colourOf, children }: RowProps) {
  const { connections, protocols } = run.header;
  const name = connections.name[c] ?? "";
  const look = run.header.kind === "run" ? protocols[connections.protocol[c] ?? ""] : undefined;
  return (
    <>
      <tr
        class={`${isChosen ? "chosen" : ""} ${lit ? "lit" : ""}`}
        aria-rowindex={index + 2}
        onMouseEnter={() => update({ hovered: name })}
        onMouseLeave={() => update({ hovered: null })}
        onClick={() => update({ chosen: isChosen ? null : name, link: null })}
      >
        <th scope="row" title={name}>
          <button type="button" class="plain" aria-expanded={isChosen}>
            <span class="turn" aria-hidden="true">
              {isChosen ? "▾" : "▸"}
            </span>
            {look ? <Marker shape={look.marker} colour={colourOf(c)} /> : null} {name}
          </button>
        </th>
        {columns.map((column) => {
          const text = column.text(c, sample);
          return (
            <td class={column.unit ? "number" : ""} title={column.unit ? undefined : text} key={column.name}>
              {text}
            </td>
          );
        })}
      </tr>
      {children}
    </>
  );
}

/** What is said of a connection, below its row; tells how high it is. */
function Opened(props: { columns: number; onHeight: (height: number) => void; told: ComponentChildren }) {
  const row = useRef<HTMLTableRowElement>(null);
  const { onHeight } = props;
  useLayoutEffect(() => {
    const element = row.current;
    if (!element) return;
    const watch = new ResizeObserver(() => onHeight(element.offsetHeight));
    watch.observe(element);
    onHeight(element.offsetHeight);
    return () => {
      watch.disconnect();
      onHeight(0);
    };
  }, [onHeight]);
  return (
    <tr ref={row} class="opened">
      <td colSpan={props.columns}>
        <div class="inside">{props.told}</div>
      </td>
    </tr>
  );
}

/** The room of rows that are not there. */
function Gap({ height, columns }: { height: number; columns: number }) {
  return (
    <tr class="gap">
      <td colSpan={columns} style={{ height: `${height}px` }} />
    </tr>
  );
}
