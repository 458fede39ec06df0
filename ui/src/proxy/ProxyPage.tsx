/** The page of a proxy or an exit: its lines with their rates, and the flows over them, as they are now. */

import { useEffect, useMemo } from "preact/hooks";

import { TOLD } from "../agent/AgentPage";
import { Tile } from "../agent/Facts";
import { LiveHead } from "../agent/LiveHead";
import { LINES } from "../agent/palette";
import type { ChartSpec } from "../chart_spec";
import { seen } from "../colours";
import { useTheme } from "../theme";
import { rateText, sizeText } from "../units";
import { Chart } from "../views/Chart";
import { Clients } from "./Clients";
import { Flows } from "./Flows";
import { Lines } from "./Lines";
import { counted, keyOfLine, keyOfPeer, type Rates, type Sample, type Status } from "./proxy";
import { type Followed, useProxy } from "./useProxy";

const TITLES = { proxy: "Proxy to", relay: "Relay at", exit: "Exit at" };

/** The most lines of a chart: those that are up first. */
const MOST_LINES = 7;

export function ProxyPage() {
  const followed = useProxy();
  const { status, isLive } = followed;
  const kind = status?.kind ?? "proxy";
  useEffect(() => {
    document.title = `anabranch ${kind}`;
  }, [kind]);
  return (
    <main class="agent">
      <LiveHead what={kind} isLive={isLive} isKnown={status !== null} />
      {status ? <Shown followed={followed} status={status} /> : null}
    </main>
  );
}

function Shown({ followed, status }: { followed: Followed; status: Status }) {
  const { samples, flows } = followed;
  const { own } = useTheme();
  const last = samples[samples.length - 1];
  const sums = sumsOf(status, last);
  const lines = status.peers.flatMap((peer) => peer.lines);
  const up = lines.filter((line) => line.state === "up").length;
  const open = counted(status).reduce((sum, peer) => sum + peer.open_flows, 0);
  const charts = useMemo(() => chartsOf(status, samples, (colour) => seen(colour, own)), [status, samples, own]);
  // Before the present.
  const times = samples.map((sample) => sample.time_s - (last?.time_s ?? 0));
  const [start = 0, end = 0] = [times[0], times[times.length - 1]];
  return (
    <>
      <h1>
        {TITLES[status.kind]} {status.url}
      </h1>
      <dl class="tiles">
        <Tile name="control" value={status.control} />
        <Tile name="lines" value={`${up} of ${lines.length} up`} isBad={status.kind !== "exit" && up < lines.length} />
        <Tile name="flows" value={String(open)} />
        <Tile name="to targets" value={rateText(sums.out_bps)} />
        <Tile name="from targets" value={rateText(sums.in_bps)} />
        <Tile name="waiting" value={sizeText(status.waiting_bytes)} />
      </dl>
      {samples.length > 2 ? (
        <div class="pair">
          {charts.map((chart) => (
            <section key={chart.kind} aria-label={chart.title}>
              <Chart
                {...{ chart, own, times }}
                of={status.kind}
                sample={times.length - 1}
                span={[start, Math.max(end, start + 1)]}
                whole={true}
                time_s={end}
                height={200}
                onWhole={() => {}}
                onDrawn={() => {}}
                {...TOLD}
              />
            </section>
          ))}
        </div>
      ) : null}
      <Lines status={status} rates={last?.rates ?? new Map()} />
      <Clients status={status} />
      {flows ? <Flows flows={flows} status={status} /> : null}
      <footer>
        For programs: <a href="metrics">figures for Prometheus</a>, <a href="openapi.json">the interface in JSON</a>.
        Version {status.version}.
      </footer>
    </>
  );
}

/** The name of a path or a peer where there is little room: its near end, or its host. */
const nearEnd = (name: string): string => name.split(" - ")[0]?.replace(/^anabranch:\/\/|\/$/g, "") ?? name;

/** The rates of all peers together. */
function sumsOf(status: Status, sample: Sample | undefined): Rates {
  const all = counted(status).map((peer) => sample?.rates.get(keyOfPeer(peer)));
  const sum = (of: keyof Rates) => all.reduce((total, rates) => total + (rates?.[of] ?? 0), 0);
  return { out_bps: sum("out_bps"), in_bps: sum("in_bps") };
}

/** A chart of what lines send, and one of what they receive. */
function chartsOf(status: Status, samples: Sample[], shade: (colour: string) => string): ChartSpec[] {
  const isOne = status.peers.length === 1;
  const named = status.peers.flatMap((peer) =>
    peer.lines.map((line) => ({
      key: keyOfLine(peer, line),
      label: isOne ? nearEnd(line.path) : `${nearEnd(peer.peer)}, line ${line.line}`,
      isUp: line.state !== "down",
    })),
  );
  const shown = [...named].sort((one, other) => Number(other.isUp) - Number(one.isUp)).slice(0, MOST_LINES);
  return (["in_bps", "out_bps"] as const).map((of) => {
    const lines = shown.map(({ key, label }, place) => ({
      label,
      colour: shade(LINES[place % LINES.length] as string),
      values: Float32Array.from(samples, (sample) => sample.rates.get(key)?.[of] ?? Number.NaN),
    }));
    const most = Math.max(1, ...lines.flatMap((line) => [...line.values].filter(Number.isFinite)));
    const range: [number, number] = [0, 1.05 * most];
    return {
      kind: of,
      title: of === "in_bps" ? "Received over each line" : "Sent over each line",
      note:
        named.length > shown.length
          ? `${shown.length} of ${named.length} lines`
          : "with headers, and what is sent again",
      column: of,
      lines,
      range,
      whole: range,
      peaks: range,
      text: rateText,
    };
  });
}
