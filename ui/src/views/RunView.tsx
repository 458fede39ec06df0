/** One run: its network and its rates first, then its connections, then its other charts. */

import { useMemo } from "preact/hooks";
import type { ChartSpec, Range } from "../chart_spec";
import { subflowChart } from "../charts";
import { type Inks, protocolColour } from "../colours";
import type { Palette, Run } from "../data";
import { factsOf } from "../facts";
import { looksOf } from "../looks";
import { hasRivals } from "../rival_charts";
import { rowsOf } from "../rows";
import type { Scales } from "../scales";
import { crossing, type Drawn, MOST_LINES, type State, type Update } from "../selection";
import { READ_MS, SEEN_MS, useSlow } from "../slow";
import { type Label, titleOf } from "../titles";
import { spanText } from "../units";
import { proofOf } from "../why";
import { Bottlenecks } from "./Bottlenecks";
import { Chart } from "./Chart";
import { Compared } from "./Compared";
import { ConnectionTable } from "./ConnectionTable";
import { Description } from "./Description";
import { Details } from "./Details";
import { LinkDetails } from "./LinkDetails";
import { NetworkMap } from "./NetworkMap";
import { Markers, Tiles } from "./Story";
import { Term } from "./Term";
import { WhyView } from "./WhyView";

interface Props {
  run: Run;
  label: Label;
  /** Whether it is alone on the page. */
  alone: boolean;
  charts: ChartSpec[];
  state: State;
  /** The part of the time that charts show. */
  span: Range;
  update: Update;
  palette: Palette;
  own: Inks;
  scales: Scales;
}

/** How high the chart of rates is. */
const TALL = 290;

export function RunView({ run, label, alone, charts, state, span, update, palette, own, scales }: Props) {
  const { header } = run;
  const now = run.sampleAt(state.time_s);
  const sample = useSlow(now, state.playing, SEEN_MS);
  const read = useSlow(now, state.playing, READ_MS);
  const connectionOf = useMemo(() => numbers(header.connections.name), [header]);
  const subflowOf = useMemo(() => numbers(header.subflows.name), [header]);
  const linkOf = useMemo(() => numbers(header.links.name), [header]);
  const chosen = connectionOf.get(state.chosen ?? "") ?? null;
  const link = linkOf.get(state.link ?? "") ?? null;
  const hovered = connectionOf.get(state.hovered ?? "") ?? chosen;
  const lit = useMemo(() => litBy(run, hovered, link), [run, hovered, link]);
  const colours = useMemo(() => coloursOf(run, charts, own), [run, charts, own]);
  const colourOf = (connection: number) =>
    colours.get(header.connections.name[connection] ?? "") ?? protocolColour(run, connection, own);
  /** The connection of a line: its own, or that of its subflow. */
  const lineOf = (line: string): string | null => {
    const subflow = subflowOf.get(line);
    if (connectionOf.has(line) || subflow === undefined) return connectionOf.has(line) ? line : null;
    return header.connections.name[header.subflows.connection[subflow] as number] ?? null;
  };
  const onChoose = (line: string, of: ChartSpec["of"]) => {
    const name = of === "links" ? line : lineOf(line);
    if (of === "links") update({ link: state.link === name ? null : name });
    else update({ chosen: state.chosen === name ? null : name, link: null });
  };
  const onLink = (number: number | null) => {
    const name = number === null ? null : (header.links.name[number] ?? null);
    if (name !== null || link !== null) update({ link: name === state.link ? null : name, chosen: null });
  };
  const chart = (spec: ChartSpec, height?: number) => (
    <Chart
      key={spec.kind.split(" ")[0] === "errors" ? spec.kind : spec.kind.split(" ")[0]}
      {...{ chart: spec, span, own }}
      {...(height ? { height } : {})}
      of={alone ? titleOf(header) : label.text}
      times={run.times}
      whole={state.whole}
      time_s={state.time_s}
      sample={read}
      onLine={(line) => update({ hovered: line === null ? null : lineOf(line) })}
      onTime={(time_s) => update({ time_s, playing: false })}
      onSpan={(shown) => update({ span: shown })}
      onWhole={(whole) => update({ whole })}
      onDrawn={(drawn: Partial<Drawn>) => update({ drawn: { ...state.drawn, ...drawn } })}
      {...(spec.of ? { onChoose: (line: string) => onChoose(line, spec.of) } : {})}
    />
  );
  const told = (connection: number) => {
    if (header.kind === "allocation") return <WhyView {...{ run, connection, update }} />;
    const making = { run, shown: state, palette, own };
    return (
      <Details {...{ run, connection, sample: read, update }}>
        {run.times.length > 1 ? chart(subflowChart(making, connection)) : null}
      </Details>
    );
  };
  const table = useMemo(
    () => (
      <ConnectionTable
        {...{ run, sample: read, lit, update, colourOf, told }}
        playing={state.playing}
        filter={state.filter}
        chosen={state.chosen}
      />
    ),
    [run, read, state.playing, state.filter, state.chosen, state.drawn, state.span, state.time_s, lit, charts, own],
  );
  const map = useMemo(
    () => (
      <NetworkMap
        {...{ run, sample, lit, link, colourOf, onLink, palette, own, scales }}
        told={toldOf(run, hovered, link, lit)}
      />
    ),
    [run, sample, lit, hovered, link, colours, palette, own, scales],
  );
  const [first, ...others] = charts;
  const rivals = others.findIndex((spec) => spec.kind === "window_bytes" || spec.kind === "rtt_s");
  return (
    <article class={`run ${header.kind === "allocation" ? "allocation" : ""}`} aria-label={label.text}>
      <Head {...{ run, label, alone, own }} />
      <div class="network">{map}</div>
      <div class="first">
        {first?.kind === "rates" ? chart(first, TALL) : null}
        {header.kind === "allocation" ? <Lead {...{ run, update }} /> : null}
      </div>
      <div class="rows">{table}</div>
      {(first?.kind === "rates" ? others : charts).map((spec, i) => (
        <div
          class={`cell ${i === others.length - 1 && i % 2 === 0 ? "whole" : ""}`}
          key={spec.kind.split(" ")[0] === "errors" ? spec.kind : spec.kind.split(" ")[0]}
        >
          {i === rivals && hasRivals(run) ? <Compared {...{ run, state, update, colourOf }} /> : null}
          {chart(spec)}
        </div>
      ))}
      {link === null ? null : (
        <div class="below">
          <LinkDetails {...{ run, link, sample: read, update }} />
        </div>
      )}
    </article>
  );
}

/** What a run is called beside others, what it is about, and what it warns of. */
function Head({ run, label, alone, own }: Pick<Props, "run" | "label" | "alone" | "own">) {
  const { header } = run;
  const isOther = !alone && label.group.length === 1;
  return (
    <div class="head">
      {alone ? null : (
        <h2>
          <Markers run={run} own={own} /> {label.text}
        </h2>
      )}
      {isOther && header.description ? <Description text={header.description} /> : null}
      {isOther ? <Tiles header={header} /> : null}
      {alone ? null : <p class="facts">{factsOf(run)}</p>}
      {header.summary ? <Proof summary={header.summary} /> : null}
      {header.late_s ? (
        <p class="facts">
          Real packets: late by {spanText(header.late_s.p50)} in the median, by {spanText(header.late_s.p99)} at the
          99th percentile, by {spanText(header.late_s.max)} at most.
        </p>
      ) : null}
      {(header.faults ?? []).map((fault) => (
        <p class="warning" key={fault}>
          Not valid: {fault}
        </p>
      ))}
      {(header.warnings ?? []).map((warning) => (
        <p class="warning" key={warning}>
          {warning}
        </p>
      ))}
    </div>
  );
}

/** What the rates of an allocation are, and what its certificate says. */
function Proof({ summary }: { summary: Record<string, unknown> }) {
  return (
    <p class="proof">
      {unbroken(proofOf(summary))} That is what the <Term of="certificate" /> says.
    </p>
  );
}

/** A text in which no line ends within a number such as 1e-6. */
const unbroken = (text: string): string => text.replace(/(\de)-(?=\d)/g, "$1\u2011");

/** Why the connection that is worst off in an allocation gets no more, and which links hold others back. */
function Lead({ run, update }: { run: Run; update: Update }) {
  const worst = useMemo(() => rowsOf(run, "", 0)[0], [run]);
  return (
    <>
      {worst === undefined ? null : <WhyView {...{ run, connection: worst, update }} label="the worst-off" brief />}
      <Bottlenecks {...{ run, update }} />
    </>
  );
}

/** The colours of connections by name: of few all, of many those that are drawn. */
function coloursOf(run: Run, charts: ChartSpec[], own: Inks): Map<string, string> {
  const { name } = run.header.connections;
  if (name.length > MOST_LINES) return new Map(charts[0]?.lines.map((line) => [line.label, line.colour]));
  const looks = looksOf(
    { run, own },
    name.map((_, row) => row),
  );
  return new Map(name.map((one, row) => [one, looks.get(row)?.colour ?? own.ink]));
}

const numbers = (names: string[]): Map<string, number> => new Map(names.map((name, i) => [name, i]));

/** The connections to be lit: the one pointed at or chosen, else those over the chosen link. */
function litBy(run: Run, connection: number | null, link: number | null): number[] | null {
  if (connection !== null) return [connection];
  return link === null ? null : crossing(run, link);
}

function toldOf(run: Run, connection: number | null, link: number | null, lit: number[] | null): string | null {
  if (connection !== null) return `The paths of ${run.header.connections.name[connection]}; a rim marks a bottleneck.`;
  if (link === null) return null;
  const count = lit?.length ?? 0;
  return `${run.header.links.name[link]}: the paths of ${count === 1 ? "the connection" : `the ${count} connections`} over it are lit.`;
}
