/** The runs that a page has, decoded from the header and the blob that Python wrote. */

export interface Nodes {
  name: string[];
  x: number[];
  y: number[];
  /** Where nodes have a place on the earth. */
  longitude?: (number | null)[];
}

export interface Links {
  name: string[];
  source: number[];
  target: number[];
  /** Null for no limit. */
  capacity_bps: (number | null)[];
  delay_s: (number | null)[];
  twin: (number | null)[];
  /** Of a priced allocation, in (bit/s)^-alpha; null where it is infinite. */
  price?: (number | null)[];
  /** Load by capacity: of a run its mean after the warm-up; null where it is not known. */
  utilisation?: (number | null)[];
  /** Packets that a run dropped. */
  dropped?: (number | null)[];
}

export interface Connections {
  name: string[];
  /** Null where there are several sources. */
  source: (number | null)[];
  target: (number | null)[];
  protocol: string[];
  /** Of an allocation the rates with all digits; of a run those at its end. */
  granted_bps?: (number | null)[];
  demand_bps?: (number | null)[];
  /** Weight times QoS factor, of an allocation. */
  claim?: number[];
  reserved_bps?: number[];
  level_bps?: (number | null)[];
  /** Of a run: when it started, and when it stopped; null where it stays. */
  start_s?: (number | null)[];
  stopped_s?: (number | null)[];
  /** How long it took to send its amount; null where it has none, or has not sent all of it. */
  completion_s?: (number | null)[];
  held_by?: string[];
  /** The name of the link that holds the largest subflow back. */
  bottleneck?: (string | null)[];
  /** What one more unit of rate is worth, of a priced allocation; null where that is infinite. */
  marginal_utility?: (number | null)[];
}

export interface Subflows {
  name: string[];
  connection: number[];
  /** Numbers of links in order. */
  path: number[][];
  granted_bps?: (number | null)[];
  /** Of an allocation: the link that holds the subflow back. */
  bottleneck?: (number | null)[];
  held_by?: string[];
  /** The sum of its links' prices, of a priced allocation. */
  price?: (number | null)[];
}

export interface Place {
  of: string;
  name: string;
  rows: number;
  columns: number;
  start: number;
}

/** How soon rates settle after joins or leaves; see `anabranch.runs.headline`. */
export interface Settling {
  changes: number;
  settled: number;
  median_s: number | null;
  worst_s: number | null;
}

/** The numbers that say how a run went; null where one has no meaning. */
export interface Headline {
  jain: number | null;
  fair_jain: number | null;
  fair_distance: number | null;
  worst_share: number | null;
  worst_off: string | null;
  joins: Settling | null;
  leaves: Settling | null;
  queue_packets: number | null;
  queue_s: number | null;
  queue_link: string | null;
  utilisation: number | null;
  busiest_link: string | null;
  bottleneck_utilisation: number | null;
  dropped_packets: number | null;
  lost_share: number | null;
}

/** Means of a simulation and of a live run, by column; null where one is not known. */
export interface Compared {
  connection: string[];
  simulated_bps: (number | null)[];
  live_bps: (number | null)[];
  simulated_rtt_s: (number | null)[];
  live_rtt_s: (number | null)[];
  rate_difference: (number | null)[];
  rtt_difference: (number | null)[];
}

export interface Header {
  kind: "run" | "allocation";
  name: string;
  title: string;
  /** What the scenario shows, in its author's words; pages of earlier versions have none. */
  description?: string;
  /** The values of the scenario by their place. */
  settings?: Record<string, string>;
  headline?: Headline;
  /** Of a live run: how late its packets were, and what makes it not valid. */
  late_s?: { p50: number; p99: number; max: number };
  faults?: string[];
  /** Of a simulation beside a live run: the means of both for each connection. */
  compared?: Compared;
  seed?: number;
  finished?: boolean;
  reached_s?: number;
  duration_s?: number;
  warnings?: string[];
  summary?: Record<string, unknown>;
  times_s: number[];
  nodes: Nodes;
  links: Links;
  connections: Connections;
  subflows: Subflows;
  protocols: Record<string, Look>;
  series: Place[];
  /** So much of the blob is enough to open the page. */
  first_bytes?: number;
}

export interface Look {
  colour: string;
  marker: string;
}

export interface Palette {
  lines: string[];
  utilisation: string[];
  /** The same on dark paper. */
  utilisation_dark: string[];
}

const VALUE_BYTES = 4;

/** One array of the blob: a row for each thing, a column for each sample; what is not there is NaN. */
export class Table {
  constructor(
    readonly rows: number,
    readonly columns: number,
    readonly values: Float32Array,
    /** How far rows lie apart: there may be room for samples to come. */
    private readonly room = columns,
  ) {}

  at(row: number, column: number): number {
    return column < this.columns ? (this.values[row * this.room + column] ?? Number.NaN) : Number.NaN;
  }

  row(row: number): Float32Array {
    return this.values.subarray(row * this.room, row * this.room + this.columns);
  }
}

/** Puts the planes of an array together, and undoes the exclusive or along its rows. */
export function decodeTable(blob: Uint8Array, place: Place): Table {
  const size = place.rows * place.columns;
  if (place.start + size * VALUE_BYTES > blob.length) {
    throw new Error(`the data end within ${place.of} ${place.name}; write the report again`);
  }
  const bits = new Uint32Array(size);
  const [p0, p1, p2, p3] = [0, 1, 2, 3].map((plane) => place.start + plane * size) as [number, number, number, number];
  for (let row = 0; row < place.rows; row++) {
    let last = 0;
    for (let i = row * place.columns; i < (row + 1) * place.columns; i++) {
      const change =
        (blob[p0 + i] as number) |
        ((blob[p1 + i] as number) << 8) |
        ((blob[p2 + i] as number) << 16) |
        ((blob[p3 + i] as number) << 24);
      last ^= change;
      bits[i] = last;
    }
  }
  return new Table(place.rows, place.columns, new Float32Array(bits.buffer));
}

/** A run: its header, and its tables, each decoded when it is first asked for. */
export class Run {
  readonly times: number[];
  /** For each connection the numbers of its subflows. */
  readonly subflowsOf: number[][];
  private crossings: number[][] | undefined;
  private readonly places = new Map<string, Place>();

  constructor(
    readonly header: Header,
    private readonly blob: Uint8Array,
    /** What comes after the blob, once it is there. */
    private readonly rest?: Uint8Array,
    private readonly tables = new Map<string, Table>(),
  ) {
    this.times = header.times_s;
    for (const place of header.series) this.places.set(`${place.of} ${place.name}`, place);
    this.subflowsOf = header.connections.name.map(() => []);
    header.subflows.connection.forEach((connection, subflow) => {
      this.subflowsOf[connection]?.push(subflow);
    });
  }

  /** For each link the numbers of the subflows over it. */
  get subflowsOver(): number[][] {
    if (this.crossings) return this.crossings;
    const over: number[][] = this.header.links.name.map(() => []);
    this.header.subflows.path.forEach((path, subflow) => {
      for (const link of path) over[link]?.push(subflow);
    });
    this.crossings = over;
    return over;
  }

  /** What was recorded of a kind of thing. */
  variables(of: string): string[] {
    return this.header.series.filter((place) => place.of === of).map((place) => place.name);
  }

  /** The table of what was sampled of a kind of thing, if it was recorded. */
  table(of: string, name: string): Table | undefined {
    const key = `${of} ${name}`;
    const known = this.tables.get(key);
    const place = this.places.get(key);
    if (known || !place) return known;
    const isLate = this.blob.length === this.header.first_bytes && place.start >= this.blob.length;
    if (isLate && !this.rest) return undefined;
    const table = isLate
      ? decodeTable(this.rest as Uint8Array, { ...place, start: place.start - this.blob.length })
      : decodeTable(this.blob, place);
    this.tables.set(key, table);
    return table;
  }

  /** The same run with all that there is of it. */
  completed(rest: Uint8Array): Run {
    return new Run(this.header, this.blob, rest, this.tables);
  }

  /** The last sample at or before a time; the first one before there is any. */
  sampleAt(time: number): number {
    let [low, high] = [0, this.times.length - 1];
    while (low < high) {
      const middle = (low + high + 1) >> 1;
      if ((this.times[middle] as number) <= time) low = middle;
      else high = middle - 1;
    }
    return low;
  }
}

export interface Embedded {
  palette: Palette;
  runs: Run[];
  /** The runs with what is not needed at once. */
  whole: () => Promise<Run[]>;
}

/** Reads what a report has in its scripts. */
export async function embeddedRuns(page: Document): Promise<Embedded> {
  const palette = JSON.parse(page.getElementById("palette")?.textContent || "null") as Palette | null;
  const runs: Run[] = [];
  for (let number = 0; ; number++) {
    const header = page.getElementById(`run-${number}`)?.textContent;
    const blob = page.getElementById(`blob-${number}`)?.textContent;
    if (!header || blob == null) break;
    runs.push(new Run(JSON.parse(header) as Header, await inflate(bytesOf(blob))));
  }
  const whole = async () => {
    const complete: Run[] = [];
    for (const [number, run] of runs.entries()) {
      const rest = page.getElementById(`rest-${number}`)?.textContent;
      complete.push(rest ? run.completed(await inflate(bytesOf(rest))) : run);
    }
    return complete;
  };
  if (!palette) throw new Error("it has no palette; write the report again");
  return { palette, runs, whole };
}

function bytesOf(base64: string): Uint8Array<ArrayBuffer> {
  // Where browsers know it, it is several times as fast.
  const { fromBase64 } = Uint8Array as { fromBase64?: (text: string) => Uint8Array<ArrayBuffer> };
  if (fromBase64) return fromBase64.call(Uint8Array, base64);
  const text = atob(base64);
  const bytes = new Uint8Array(text.length);
  for (let i = 0; i < text.length; i++) bytes[i] = text.charCodeAt(i);
  return bytes;
}

/** So many bytes are inflated at a time, so that the page answers meanwhile. */
const SLICE = 1 << 18;

async function inflate(bytes: Uint8Array<ArrayBuffer>): Promise<Uint8Array> {
  let start = 0;
  const slices = new ReadableStream<Uint8Array<ArrayBuffer>>({
    pull(controller) {
      if (start >= bytes.length) controller.close();
      else controller.enqueue(bytes.subarray(start, start + SLICE));
      start += SLICE;
    },
  });
  return new Uint8Array(await new Response(slices.pipeThrough(new DecompressionStream("deflate"))).arrayBuffer());
}
