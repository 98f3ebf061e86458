/** @file diagonal.cuh on the CPU: its tiles, its units and its places in shared memory, which end where the launch says. */
import type { Launch } from "../../../cuda-runtime/ir/step.ts";
import type { View } from "../../../cuda-runtime/ir/view.ts";
import { depthwiseStruct } from "../../../cuda-runtime/kernels/depthwise/params.table.ts";

/** Elements of a view's buffer. */
export type Memory = (view: View) => Float64Array;

const members = new Map(depthwiseStruct.members.map((member) => [member.name, member]));

class Params {
  readonly #launch: Launch;
  readonly #data: DataView;

  constructor(launch: Launch) {
    const { bytes } = launch.params;
    this.#launch = launch;
    this.#data = new DataView(bytes.buffer, bytes.byteOffset, bytes.length);
  }

  /** The integer that is `within` integers behind the member's first. */
  number(name: string, within = 0): number {
    return this.#data.getInt32(this.#offset(name) + 4 * within, true);
  }

  view(name: string): View {
    const offset = this.#offset(name);
    const slot = this.#launch.params.pointers.find(({ at }) => at === offset);
    if (slot === undefined) throw new Error(`${name} is no pointer`);
    return slot.view;
  }

  #offset(name: string): number {
    const member = members.get(name);
    if (member === undefined) throw new Error(`there is no ${name}`);
    return member.offset;
  }
}

/** Without scale, bias and activation, in FP64. */
export function emulate(launch: Launch, memory: Memory): void {
  const tiles = new Params(launch).number("threads");
  for (let block = 0; block < launch.grid[0]; block++)
    for (let tile = block; tile < tiles; tile += launch.grid[0]) {
      if ((tile - block) % new Params(launch).number("pieces") !== 0) throw new Error("other channels");
      new TileRun(launch, memory, tile).run();
    }
}

/** Of a placement: the strides of its axes and of channels, in its integers. */
const placed = { batch: 0, height: 2, width: 3 } as const;

class TileRun {
  readonly #params: Params;
  readonly #memory: Memory;
  readonly #shared: Float64Array;
  readonly #chunks: number;
  readonly #taps: number;
  readonly #stride: number;
  readonly #high: number;
  readonly #pitch: number;
  readonly #half: number;
  readonly #tile: {
    batch: number;
    height: number;
    width: number;
    filter: number;
    rows: number;
    columns: number;
  };

  constructor(launch: Launch, memory: Memory, index: number) {
    const [, taps, stride, high] = /_diagonal_k(\d)s(\d)_(\d)$/.exec(launch.kernel.entry) ?? [];
    const p = new Params(launch);
    this.#params = p;
    this.#memory = memory;
    this.#shared = new Float64Array((p.number("stage") || launch.sharedBytes) / 2).fill(Number.NaN);
    this.#chunks = launch.block[0] / 32;
    [this.#taps, this.#stride, this.#high] = [Number(taps), Number(stride), Number(high)];
    this.#pitch = p.number("pitch") / 2;
    this.#half = p.number("wide") + (this.#stride === 1 ? this.#taps - 1 : (this.#taps - 1) / 2);
    const at = Math.floor(index / p.number("pieces"));
    const strip = Math.floor(at / p.number("strips"));
    const batch = Math.floor(strip / p.number("height"));
    const height = (strip % p.number("height")) * p.number("high");
    const width = (at % p.number("strips")) * p.number("wide");
    this.#tile = {
      ...{ batch, height, width, filter: (index % p.number("pieces")) * 8 * this.#chunks },
      rows: Math.min(p.number("high"), p.number("outputHeight") - height),
      columns: Math.min(p.number("wide"), p.number("outputWidth") - width),
    };
  }

  run(): void {
    this.#copyTile();
    for (let warp = 0; warp < this.#chunks; warp++) this.#computeWarp(warp);
    this.#storeTile();
  }

  #place(row: number, column: number): number {
    const at = this.#stride === 1 ? column : (column % 2) * this.#half + Math.floor(column / 2);
    return (row * this.#stride * this.#half + at) * this.#pitch;
  }

  #copyTile(): void {
    const { batch, height, width, filter, rows, columns } = this.#tile;
    const p = this.#params;
    const x = p.view("x");
    const from = this.#memory(x);
    for (let j = 0; j < (rows - 1) * this.#stride + this.#taps; j++)
      for (let i = 0; i < (columns - 1) * this.#stride + this.#taps; i++) {
        const [h, w] = [
          height * this.#stride - p.number("pad", 1) + j,
          width * this.#stride - p.number("pad", 2) + i,
        ];
        const isIn = h >= 0 && h < p.number("input", 1) && w >= 0 && w < p.number("input", 2);
        const at = batch * p.number("xBatch") + h * p.number("xAxes", 1) + w * p.number("xAxes", 2) + filter;
        for (let c = 0; c < 8 * this.#chunks; c++)
          write(this.#shared, this.#place(j, i) + c, isIn ? read(from, x.offset + at + c) : 0);
      }
  }

  /** Units in the kernel's order, two at a time: their sums first, then their results to where x was. */
  #computeWarp(warp: number): void {
    const { rows, columns } = this.#tile;
    const across = Math.ceil(columns / 8);
    const units = Math.ceil(rows / this.#high) * across;
    for (let unit = 0; unit < units; unit += 2) {
      const both = unit + 1 < units ? [unit, unit + 1] : [unit];
      const results = both.map((each) => this.#sumsOf(warp, Math.floor(each / across), each % across));
      for (const { place, value } of results.flat()) write(this.#shared, place, value);
    }
  }

  #sumsOf(warp: number, row: number, column: number): { place: number; value: number }[] {
    const cells = Array.from({ length: this.#high * 64 }, (_, i) => [
      Math.floor(i / 64),
      (i >> 3) % 8,
      i % 8,
    ]);
    return cells.map(([r = 0, i = 0, c = 0]) => {
      const [y, x] = [row * this.#high + r, column * 8 + i];
      // Results lie as neighbours, whatever the stride.
      const place = (y * this.#stride * this.#half + x) * this.#pitch + warp * 8 + c;
      return { place, value: this.#sumAt(y, x, warp * 8 + c) };
    });
  }

  #sumAt(y: number, x: number, channel: number): number {
    const w = this.#params.view("w");
    const weights = this.#memory(w);
    let sum = 0;
    for (let kh = 0; kh < this.#taps; kh++)
      for (let kw = 0; kw < this.#taps; kw++) {
        const tap = (kh * this.#taps + kw) * this.#params.number("filters") + this.#tile.filter + channel;
        const value = read(this.#shared, this.#place(y * this.#stride + kh, x * this.#stride + kw) + channel);
        sum += value * read(weights, w.offset + tap);
      }
    return sum;
  }

  #storeTile(): void {
    const { batch, height, width, filter, rows, columns } = this.#tile;
    const p = this.#params;
    const y = p.view("y");
    const to = this.#memory(y);
    const strideOf = (axis: keyof typeof placed) => p.number("to", placed[axis]);
    for (let j = 0; j < rows; j++)
      for (let i = 0; i < columns; i++)
        for (let c = 0; c < 8 * this.#chunks; c++) {
          const at =
            batch * strideOf("batch") + (height + j) * strideOf("height") + (width + i) * strideOf("width");
          const value = read(this.#shared, (j * this.#stride * this.#half + i) * this.#pitch + c);
          write(to, y.offset + at + filter + c, value);
        }
  }
}

function read(memory: Float64Array, at: number): number {
  const value = memory[at];
  if (value === undefined) throw new Error(`element ${at} of ${memory.length} is read`);
  return value;
}

function write(memory: Float64Array, at: number, value: number): void {
  if (!(at >= 0 && at < memory.length)) throw new Error(`element ${at} of ${memory.length} is written`);
  memory[at] = value;
}
