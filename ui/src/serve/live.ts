/** A run that grows: samples come in parts, and every look at it is a run as the page knows them. */

import { decodeTable, type Header, type Place, Run, Table } from "../data";

/** What stands before the arrays of a part. */
interface PartHeader {
  first: number;
  times_s: number[];
  series: Place[];
}

const SIZE_BYTES = 4;

/** A run as far as it is known; its tables are views of what the growing one keeps. */
class RunUntilNow extends Run {
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

/** Takes in parts and gives runs. */
export class GrowingRun {
  private times: number[] = [];
  private readonly values = new Map<string, { place: Place; values: Float32Array; room: number }>();

  constructor(private readonly header: Header) {}

  /** How many samples are known. */
  get count(): number {
    return this.times.length;
  }

  /** Takes in the next part: the size of its header, the header, and the arrays. */
  add(frame: Uint8Array): void {
    const size = new DataView(frame.buffer, frame.byteOffset).getUint32(0, true);
    const part = JSON.parse(new TextDecoder().decode(frame.subarray(SIZE_BYTES, SIZE_BYTES + size))) as PartHeader;
    if (part.first !== this.count) throw new Error("the samples have a gap; load the page again");
    const blob = frame.subarray(SIZE_BYTES + size);
    const count = this.count + part.times_s.length;
    for (const place of part.series) this.put(place, decodeTable(blob, place), count);
    this.times = [...this.times, ...part.times_s];
  }

  /** The run until now. */
  run(): Run {
    const tables = new Map<string, Table>();
    const series: Place[] = [];
    for (const [key, { place, values, room }] of this.values) {
      tables.set(key, new Table(place.rows, this.count, values, room));
      series.push({ ...place, columns: this.count });
    }
    return new RunUntilNow({ ...this.header, times_s: this.times, series }, tables);
  }

  private put(place: Place, part: Table, count: number): void {
    const key = `${place.of} ${place.name}`;
    let own = this.values.get(key);
    if (!own || own.room < count) {
      const room = 2 * Math.max(count, 64);
      const values = new Float32Array(place.rows * room).fill(Number.NaN);
      for (let row = 0; own && row < place.rows; row++) {
        values.set(own.values.subarray(row * own.room, row * own.room + this.count), row * room);
      }
      own = { place, values, room };
      this.values.set(key, own);
    }
    for (let row = 0; row < place.rows; row++) own.values.set(part.row(row), row * own.room + this.count);
  }
}
