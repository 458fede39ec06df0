/** One run: its network, its charts, its connections. */

import { useMemo } from "preact/hooks";
import type { ChartSpec } from "../charts";
import type { Inks } from "../colours";
import type { Palette, Run } from "../data";
import type { State, Update } from "../selection";
import { Chart } from "./Chart";
import { ConnectionTable } from "./ConnectionTable";
import { Details } from "./Details";
import { NetworkMap } from "./NetworkMap";

interface Props {
  run: Run;
  charts: ChartSpec[];
  state: State;
  update: Update;
  palette: Palette;
  several: boolean;
  own: Inks;
}

export function RunView({ run, charts, state, update, palette, several, own }: Props) {
  const { header } = run;
  const sample = run.sampleAt(state.time_s);
  const number = useMemo(() => new Map(header.connections.name.map((name, i) => [name, i])), [header]);
  const chosen = number.get(state.chosen ?? "") ?? null;
  const lit = number.get(state.hovered ?? "") ?? chosen;
  const onChoose = (label: string) => update({ chosen: state.chosen === label ? null : label });
  const onLine = (label: string | null) => update({ hovered: label !== null && number.has(label) ? label : null });
  const details = chosen !== null ? <Details run={run} connection={chosen} sample={sample} /> : null;
  return (
    <article class="run">
      <h2>{header.name}</h2>
      <p class="facts">
        {header.nodes.name.length} nodes, {header.links.name.length} links, {header.connections.name.length} connections
        {header.finished === false ? " · stopped before its end" : ""}
      </p>
      {(header.warnings ?? []).map((warning) => (
        <p class="warning" key={warning}>
          {warning}
        </p>
      ))}
      <div class="pictures">
        <div>
          <NetworkMap {...{ run, sample, lit, palette, several, own }} />
          {header.summary ? <Proof summary={header.summary} /> : null}
          {charts.length ? details : null}
        </div>
        <div>
          {charts.length ? null : (details ?? <p class="empty">choose a connection to see why it gets no more</p>)}
          {charts.map((chart) => (
            <Chart
              key={chart.title.split(" ")[0]}
              {...chart}
              times={run.times}
              time_s={state.time_s}
              sample={sample}
              onTime={(time_s) => update({ time_s, playing: false })}
              {...(chart.ofConnections ? { onLine, onChoose } : {})}
              own={own}
            />
          ))}
        </div>
      </div>
      <ConnectionTable {...{ run, sample, state, update, own }} />
    </article>
  );
}

/** The certificate of an allocation, in a sentence. */
function Proof({ summary }: { summary: Record<string, unknown> }) {
  const residual = Number(summary.residual);
  return (
    <p class="facts">
      {String(summary.fairness)} by {String(summary.method)};{" "}
      {summary.certified
        ? `certified: every subflow has a bottleneck to ${String(summary.tolerance)}`
        : `not certified: the residual is ${residual.toPrecision(3)}`}
    </p>
  );
}
