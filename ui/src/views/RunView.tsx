/** One run: its network, its charts, its connections. */

import { useMemo } from "preact/hooks";
import type { ChartSpec, Range } from "../chart_spec";
import { type Inks, lookOf } from "../colours";
import type { Palette, Run } from "../data";
import type { Scales } from "../scales";
import { crossing, type Drawn, type State, type Update } from "../selection";
import { READ_MS, SEEN_MS, useSlow } from "../slow";
import { proofOf } from "../why";
import { Bottlenecks } from "./Bottlenecks";
import { Chart } from "./Chart";
import { ConnectionTable } from "./ConnectionTable";
import { Details } from "./Details";
import { LinkDetails } from "./LinkDetails";
import { NetworkMap } from "./NetworkMap";
import { WhyView } from "./WhyView";

interface Props {
  run: Run;
  charts: ChartSpec[];
  state: State;
  /** The part of the time that charts show. */
  span: Range;
  update: Update;
  palette: Palette;
  own: Inks;
  scales: Scales;
}

export function RunView({ run, charts, state, span, update, palette, own, scales }: Props) {
  const { header } = run;
  const now = run.sampleAt(state.time_s);
  const sample = useSlow(now, state.playing, SEEN_MS);
  const read = useSlow(now, state.playing, READ_MS);
  const connectionOf = useMemo(() => numbers(header.connections.name), [header]);
  const linkOf = useMemo(() => numbers(header.links.name), [header]);
  const chosen = connectionOf.get(state.chosen ?? "") ?? null;
  const link = linkOf.get(state.link ?? "") ?? null;
  const hovered = connectionOf.get(state.hovered ?? "") ?? chosen;
  const lit = useMemo(() => litBy(run, hovered, link), [run, hovered, link]);
  const colours = useMemo(() => new Map(charts[0]?.lines.map((line) => [line.label, line.colour])), [charts]);
  const colourOf = (connection: number) =>
    colours.get(header.connections.name[connection] ?? "") ?? lookOf(run, connection, own).colour;
  const onLine = (label: string | null) =>
    update({ hovered: label !== null && connectionOf.has(label) ? label : null });
  const onChoose = (label: string, of: ChartSpec["of"]) =>
    update(
      of === "links"
        ? { link: state.link === label ? null : label, chosen: null }
        : { chosen: state.chosen === label ? null : label, link: null },
    );
  const onLink = (number: number | null) => {
    const name = number === null ? null : (header.links.name[number] ?? null);
    if (name !== null || link !== null) update({ link: name === state.link ? null : name, chosen: null });
  };
  const table = useMemo(
    () => <ConnectionTable {...{ run, sample: read, filter: state.filter, chosen: state.chosen, lit, update, own }} />,
    [run, read, state.filter, state.chosen, lit, own],
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
  const details = useMemo(() => {
    if (link !== null) return <LinkDetails {...{ run, link, sample: read, update }} />;
    if (chosen === null) return header.kind === "run" ? null : <Bottlenecks {...{ run, update }} />;
    if (header.kind === "run") return <Details {...{ run, connection: chosen, sample: read, update }} />;
    return <WhyView {...{ run, connection: chosen, update }} />;
  }, [run, link, chosen, read]);
  return (
    <article class="run" aria-label={header.name}>
      <h2>{header.name}</h2>
      <p class="facts">{factsOf(run)}</p>
      {(header.warnings ?? []).map((warning) => (
        <p class="warning" key={warning}>
          {warning}
        </p>
      ))}
      <div class="pictures">
        <div>
          {map}
          {header.summary ? <p class="facts">{proofOf(header.summary)}</p> : null}
          {charts.length ? details : null}
        </div>
        <div>
          {charts.length ? null : details}
          {charts.map((chart) => (
            <Chart
              key={chart.kind.split(" ")[0] === "errors" ? chart.kind : chart.kind.split(" ")[0]}
              {...{ chart, span, own, onLine }}
              of={header.name}
              times={run.times}
              whole={state.whole}
              time_s={state.time_s}
              sample={read}
              onTime={(time_s) => update({ time_s, playing: false })}
              onSpan={(span) => update({ span })}
              onWhole={(whole) => update({ whole })}
              onDrawn={(drawn: Partial<Drawn>) => update({ drawn: { ...state.drawn, ...drawn } })}
              {...(chart.of ? { onChoose: (label: string) => onChoose(label, chart.of) } : {})}
            />
          ))}
        </div>
      </div>
      {table}
    </article>
  );
}

const numbers = (names: string[]): Map<string, number> => new Map(names.map((name, i) => [name, i]));

/** The connections to be lit: the one pointed at or chosen, else those over the chosen link. */
function litBy(run: Run, connection: number | null, link: number | null): number[] | null {
  if (connection !== null) return [connection];
  return link === null ? null : crossing(run, link);
}

function toldOf(run: Run, connection: number | null, link: number | null, lit: number[] | null): string | null {
  if (connection !== null) return `${run.header.connections.name[connection]}: its paths; bottlenecks have a rim`;
  if (link === null) return null;
  const count = lit?.length ?? 0;
  return `${run.header.links.name[link]}: ${count === 1 ? "one connection has" : `${count} connections have`} a path over it, lit`;
}

function factsOf({ header, times }: Run): string {
  const count = (number: number, what: string) => `${number} ${what}${number === 1 ? "" : "s"}`;
  const sizes = [
    count(header.nodes.name.length, "node"),
    count(header.links.name.length, "link"),
    count(header.connections.name.length, "connection"),
    ...(header.kind === "run" ? [count(times.length, "sample")] : [count(header.subflows.name.length, "subflow")]),
  ];
  return `${sizes.join(", ")}${header.finished === false ? " · stopped before its end" : ""}`;
}
