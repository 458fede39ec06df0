/** What an agent answers, and what its events change. */

export interface Neighbour {
  node: string;
  state: "up" | "waiting" | "given-up" | "held-off";
  waiting: number;
}

export type Limit = "demand" | { link: string };

export interface Path {
  links: string[];
  works: boolean;
  rate_bps: number;
  limit?: Limit;
  /** What was sent in the last second, where traffic is kept to rates. */
  measured?: { rate_bps: number };
}

export interface Session {
  number: number;
  /** Of the agent's own sessions. */
  name?: string;
  /** Of others: who asked for it. */
  application?: string;
  to: string;
  state: "active" | "waiting" | "leaving";
  weight: number;
  reserved_bps?: number;
  demand_bps?: number;
  rate_bps: number;
  paths: Path[];
}

/** The sums at a link of the agent. */
export interface Sums {
  link: string;
  to: string;
  capacity_bps?: number;
  claims: number;
  claims_limited_here: number;
  reserved_bps?: number;
}

export interface About {
  node: string;
  protocol: string;
  version: string;
  time_s: number;
  last: string;
  is_draining: boolean;
  certificate_until_s: number;
  sessions: number;
  rate_bps: number;
}

interface Te {
  "oper-status"?: "up" | "down";
}

export interface TopologyNode {
  "node-id": string;
  "ietf-te-topology:te"?: Te;
  "anabranch:longitude"?: number;
  "anabranch:latitude"?: number;
}

export interface TopologyLink {
  "link-id": string;
  source: { "source-node": string };
  destination: { "dest-node": string };
  "ietf-te-topology:te": Te;
  "anabranch:capacity-bps": number | "Infinity";
  "anabranch:delay-s": number;
  "anabranch:twin": string;
}

/** The network as RFC 8345 has it. */
export interface Topology {
  "ietf-network:networks": { network: [{ node: TopologyNode[]; "ietf-network-topology:link": TopologyLink[] }] };
}

/** The rates at a time. */
export interface Entry {
  time_s: number;
  rates_bps: [number, number][];
}

/** All that is known of an agent. */
export interface Known {
  about: About;
  neighbours: Neighbour[];
  sessions: Session[];
  sums: Sums[];
  topology: Topology;
}

/** A change as an event tells it; others are passed over. */
export type Change = { time_s: number } & (
  | { event: "neighbour"; node: string; state: Neighbour["state"] }
  | { event: "capacity"; link: string; capacity_bps?: number }
  | { event: "begun" | "changed"; session: Session }
  | { event: "ended"; number: number }
  | { event: "draining" | "renewed" | "certificate" | "http" }
);

/** What is known after some changes. Of more sessions than `most` those that begin are passed over. */
export function changed(known: Known, changes: Change[], most = Number.POSITIVE_INFINITY): Known {
  let { about, neighbours, sums } = known;
  const sessions = new Map(known.sessions.map((session) => [session.number, session]));
  let isOther = false;
  for (const change of changes) {
    switch (change.event) {
      case "neighbour":
        neighbours = neighbours.map((own) => (own.node === change.node ? { ...own, state: change.state } : own));
        break;
      case "capacity":
        sums = sums.map((own) => (own.link === change.link ? withCapacity(own, change.capacity_bps) : own));
        break;
      case "begun":
      case "changed": {
        const { session } = change;
        if (sessions.has(session.number) || sessions.size < most) sessions.set(session.number, session);
        isOther = true;
        break;
      }
      case "ended":
        isOther = sessions.delete(change.number) || isOther;
        break;
      case "draining":
        about = { ...about, is_draining: true };
    }
  }
  const inOrder = () => [...sessions.values()].sort((one, other) => one.number - other.number);
  return { ...known, about, neighbours, sums, sessions: isOther ? inOrder() : known.sessions };
}

function withCapacity({ capacity_bps: _, ...rest }: Sums, capacity_bps: number | undefined): Sums {
  return capacity_bps === undefined ? rest : { ...rest, capacity_bps };
}

/** What a session is called: its name, or whose it is with its number. */
export const titleOf = (session: Session): string =>
  session.name ?? `${session.application ?? "session"} ${session.number}`;

/** What a session sends, where the agent measures it. */
export function measuredOf(session: Session): number | null {
  const rates = session.paths.flatMap((path) => path.measured?.rate_bps ?? []);
  return rates.length ? rates.reduce((sum, rate) => sum + rate, 0) : null;
}

/** The links that limit a session, each once. */
export function limitsOf(session: Session): string[] {
  const links = session.paths.flatMap((path) =>
    path.works && typeof path.limit === "object" ? [path.limit.link] : [],
  );
  return [...new Set(links)];
}

/** What limits a session, in a word or two. */
export function limitText(session: Session): string {
  if (session.state === "leaving") return "is leaving";
  if (!session.paths.some((path) => path.works)) return "no path works";
  const links = limitsOf(session);
  const isDemand = session.paths.some((path) => path.works && path.limit === "demand");
  return [...(isDemand ? ["its demand"] : []), ...links].join(", ") || "not known yet";
}

/** What says how a neighbour is. */
export const NEIGHBOURS: Record<Neighbour["state"], string> = {
  up: "connected",
  waiting: "away",
  "given-up": "stays away",
  "held-off": "held off, as it made trouble",
};
