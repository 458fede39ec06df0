/** The present state of an agent as a run, so that the views of runs can show it. */

import { type Header, type Links, type Look, type Nodes, type Place, Run, Table } from "../data";
import { type Known, limitsOf, titleOf } from "./agent";
import { LINES } from "./palette";
import { byLinks, onEarth } from "./place";

/** The rates of sessions at a time. */
export interface Sample {
  time_s: number;
  rates: Map<number, number>;
}

/** The looks of sessions, which follow each other; the views know them as those of protocols. */
const LOOKS: [string, Look][] = LINES.map((colour, number) => [`${number}`, { colour, marker: "circle" }]);

/** A run with its tables. */
class LiveRun extends Run {
  constructor(
    header: Header,
    private readonly known: Map<string, Table>,
  ) {
    super(header, new Uint8Array());
  }

  override table(of: string, name: string): Table | undefined {
    return this.known.get(`${of} ${name}`);
  }
}

/** The network: its names, its places, and what links can carry. */
export function networkOf({ topology }: Pick<Known, "topology">): { nodes: Nodes; links: Links } {
  const [network] = topology["ietf-network:networks"].network;
  const { node } = network;
  const link = network["ietf-network-topology:link"];
  const name = node.map((own) => own["node-id"]);
  const numbers = new Map(name.map((own, number) => [own, number]));
  const source = link.map((own) => numbers.get(own.source["source-node"]) ?? 0);
  const target = link.map((own) => numbers.get(own.destination["dest-node"]) ?? 0);
  const links = link.map((own) => own["link-id"]);
  const longitude = node.map((own) => own["anabranch:longitude"] ?? null);
  const latitude = node.map((own) => own["anabranch:latitude"] ?? null);
  const isPlaced = node.length > 0 && ![...longitude, ...latitude].includes(null);
  const places = isPlaced
    ? onEarth(longitude as number[], latitude as number[])
    : byLinks({ count: node.length, source, target });
  const twins = new Map(links.map((own, number) => [own, number]));
  return {
    nodes: { name, ...places, longitude },
    links: {
      name: links,
      source,
      target,
      capacity_bps: link.map((own) => {
        if (own["ietf-te-topology:te"]["oper-status"] === "down") return 0;
        const capacity = own["anabranch:capacity-bps"];
        return capacity === "Infinity" ? null : capacity;
      }),
      delay_s: link.map((own) => own["anabranch:delay-s"]),
      twin: link.map((own) => twins.get(own["anabranch:twin"]) ?? null),
    },
  };
}

/** The run of an agent: its sessions with the rates of the last minutes. */
export function runOf(known: Known, network: { nodes: Nodes; links: Links }, samples: Sample[]): Run {
  const { sessions, about } = known;
  const numbers = new Map(network.nodes.name.map((name, number) => [name, number]));
  const links = new Map(network.links.name.map((name, number) => [name, number]));
  const connection: number[] = [];
  const path: number[][] = [];
  const rates: number[] = [];
  sessions.forEach((session, row) => {
    for (const own of session.paths) {
      connection.push(row);
      path.push(own.links.flatMap((name) => links.get(name) ?? []));
      rates.push(own.works ? own.rate_bps : 0);
    }
  });
  const carried = new Float32Array(network.links.name.length);
  path.forEach((own, subflow) => {
    for (const link of own) carried[link] = (carried[link] as number) + (rates[subflow] as number);
  });
  const columns = samples.length;
  const over = (rows: number, value: (row: number) => number) => {
    // What stands beside the rates of the last minutes is the present, at each sample.
    const values = new Float32Array(rows * columns);
    for (let row = 0; row < rows; row++) values.fill(value(row), row * columns, (row + 1) * columns);
    return new Table(rows, columns, values);
  };
  const granted = new Float32Array(sessions.length * columns);
  sessions.forEach((session, row) => {
    samples.forEach(({ rates: at }, column) => {
      granted[row * columns + column] = at.get(session.number) ?? Number.NaN;
    });
  });
  const tables = new Map([
    ["connection granted_bps", new Table(sessions.length, columns, granted)],
    ["subflow granted_bps", over(rates.length, (row) => rates[row] ?? 0)],
    ["link granted_bps", over(carried.length, (row) => carried[row] ?? 0)],
  ]);
  const series = [...tables].map(([key, { rows }]): Place => {
    const [of = "", name = ""] = key.split(" ");
    return { of, name, rows, columns, start: 0 };
  });
  const header: Header = {
    kind: "run",
    name: about.node,
    title: `Agent of ${about.node}`,
    // From the present on, backwards.
    times_s: samples.map(({ time_s }) => time_s - (samples[columns - 1]?.time_s ?? 0)),
    ...network,
    connections: {
      name: sessions.map(titleOf),
      source: sessions.map(() => numbers.get(about.node) ?? null),
      target: sessions.map((session) => numbers.get(session.to) ?? 0),
      protocol: sessions.map((_, row) => `${row % LOOKS.length}`),
      demand_bps: sessions.map((session) => session.demand_bps ?? null),
      bottleneck: sessions.map((session) => limitsOf(session)[0] ?? null),
    },
    subflows: { name: rates.map((_, subflow) => `${subflow}`), connection, path },
    protocols: Object.fromEntries(LOOKS),
    series,
  };
  return new LiveRun(header, tables);
}
