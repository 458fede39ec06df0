/**
 * What the words of the page mean, for a reader who meets them for the first time.
 *
 * `means` is the text of docs/words.md, to the letter; a test compares them. `more` says what to look at here.
 */

export interface Term {
  /** The word as docs/words.md has it. */
  word: string;
  means: string;
  more?: string;
}

export const TERMS = {
  backlog: {
    word: "backlog",
    means: "The bytes that wait at a link.",
    more: "A long queue delays every packet that has to pass it.",
  },
  bottleneck: {
    word: "bottleneck",
    means:
      "A saturated link on which the connection has the greatest level of all connections, or the demand of the connection, if it is met.",
    more: "It is the reason why a connection gets no more.",
  },
  capacity: { word: "capacity", means: "The rate that a link can carry." },
  certificate: {
    word: "certificate",
    means: "The outcome of the check of an allocation against the definitions.",
    more: "Code that shares nothing with the solver makes the check.",
  },
  claim: {
    word: "claim",
    means: "Weight times QoS factor.",
    more: "A connection with twice the claim gets twice the rate at the same bottleneck.",
  },
  completion: {
    word: "completion",
    means: "The time from the start of a connection with a given amount until all of it has arrived.",
  },
  connection: {
    word: "connection",
    means: "A pair of nodes with a demand and one or more paths.",
    more: "Other texts say flow.",
  },
  demand: { word: "demand", means: "The most that a connection can use." },
  distance: {
    word: "distance from fair",
    means:
      "The difference of a connection's rate from its fair rate, relative to that. Over a run: of the mean delivered rate from the mean fair one. At an instant: of the delivered rate where protocols have windows, otherwise of the granted one.",
    more: "Zero is fair; +50 % is half as much again as is fair.",
  },
  error: {
    word: "error",
    means:
      "Of a connection: the relative distance of its granted rate from its fair rate. Of a bottleneck: the relative distance of the granted rates over it from its capacity.",
    more: "Zero is fair; +50 % is half as much again as is fair.",
  },
  fair: {
    word: "fair rate",
    means:
      "The rate of a connection under the kind of fairness that the scenario names, for the connections that are present.",
    more: "A solver finds it for every instant; charts show it as a dashed line.",
  },
  goodput: { word: "goodput", means: "The measured rate of data that arrived in order, each byte once." },
  grant: {
    word: "grant",
    means: "The rate at which a protocol lets a subflow send from a given time on.",
    more: "The granted rate of a connection is the sum over its subflows. For a protocol with windows it is the window by the round trip.",
  },
  jain: {
    word: "Jain's index",
    means:
      "A number from 0 to 1 that measures how equal rates by claim are: the square of their sum, by their number times the sum of their squares.",
    more: "With equal rates it is 1; if one of n connections has everything it is 1/n. Where links differ, fair rates differ too and have an index below 1.",
  },
  level: {
    word: "level",
    means:
      "Rate without the reserved part, divided by claim (weight times QoS factor); below 0, the share of the reserved part that is missing. Water-filling freezes a set of connections at a common level.",
  },
  loss: { word: "loss", means: "A packet that does not arrive, because a queue or a link dropped it." },
  mark: {
    word: "mark",
    means: "A sign in a packet that reports congestion on its path. The marking probability is a price from 0 to 1.",
  },
  met: { word: "met", means: "The share of its demand that a connection receives." },
  overload: {
    word: "overload",
    means: "The largest excess of the rates over a link above its capacity, relative to the capacity.",
  },
  pace: { word: "pace", means: "The rate at which a subflow with a window may send its packets." },
  price: {
    word: "price",
    means: "What a link charges for a unit of rate; the price of a path is the sum over its links.",
    more: "Only full links have a price.",
  },
  present: { word: "present", means: "Of a connection: it has started and has not stopped." },
  residual: {
    word: "residual",
    means: "The largest shortfall of any path from its best bottleneck; 0 means exactly fair.",
  },
  rtt: {
    word: "round trip",
    means: "The time from when a packet is sent until its acknowledgement arrives, smoothed.",
    more: "What exceeds the delay of the links is time in queues.",
  },
  saturated: { word: "saturated", means: "Of a link: its load equals its capacity.", more: "The page says full." },
  settling: {
    word: "settling time",
    means: "The time from a join or a leave until all rates stay near the fair rates.",
    more: "Here: until they stay within 1 % of where the protocol itself takes them. The median and the worst are of the changes after which rates settled before the next change.",
  },
  subflow: { word: "subflow", means: "The part of a connection on one path." },
  throughput: { word: "throughput", means: "A rate that was measured." },
  utilisation: { word: "utilisation", means: "Load divided by capacity." },
  warmUp: { word: "warm-up", means: "The first part of a run, which means over time leave out." },
  window: {
    word: "window",
    means: "The bytes or packets of a subflow that may be in flight.",
    more: "Other texts say congestion window or cwnd. A subflow sends about one window in each round trip.",
  },
} as const satisfies Record<string, Term>;

export type TermName = keyof typeof TERMS;
