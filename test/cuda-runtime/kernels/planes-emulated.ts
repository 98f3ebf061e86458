/** @file conv-planes.cu on the CPU: its packing, its stages and its steps, on memory that is NaN where nothing was written. */
import type { StructLayout } from "../../../cuda-runtime/ir/param-table.ts";
import type { Launch } from "../../../cuda-runtime/ir/step.ts";
import type { View } from "../../../cuda-runtime/ir/view.ts";
import {
  packPlanesStruct,
  planesStruct,
  planeWeightsStruct,
} from "../../../cuda-runtime/kernels/conv-planes/params.table.ts";

/** Elements of a view's buffer. */
export type Memory = (view: View) => Float64Array;

const slotsOfPixel = 8;
const pixelBytes = 16;

class Params {
  readonly #places: ReadonlyMap<string, number>;
  readonly #launch: Launch;
  readonly #data: DataView;

  constructor(layout: StructLayout, launch: Launch) {
    const { bytes } = launch.params;
    if (bytes.length !== layout.bytes) throw new Error(`${bytes.length} bytes, not ${layout.bytes}`);
    this.#places = new Map(layout.members.map(({ name, offset }) => [name, offset]));
    this.#launch = launch;
    this.#data = new DataView(bytes.buffer, bytes.byteOffset, bytes.length);
  }

  /** Of a divisor, which it divides by. */
  number(name: string, within = 0): number {
    return this.#data.getInt32(this.#at(name) + 4 * within, true);
  }

  float(name: string): number {
    return this.#data.getFloat32(this.#at(name), true);
  }

  view(name: string): View | undefined {
    const at = this.#at(name);
    return this.#launch.params.pointers.find((slot) => slot.at === at)?.view;
  }

  /** From its first element on. */
  elements(name: string, memory: Memory): Float64Array {
    const view = this.view(name);
    if (view === undefined) throw new Error(`${name} is null`);
    return memory(view).subarray(view.offset);
  }

  #at(name: string): number {
    const at = this.#places.get(name);
    if (at === undefined) throw new Error(`there is no ${name}`);
    return at;
  }
}

export function emulate(launch: Launch, memory: Memory): void {
  const { entry } = launch.kernel;
  if (entry === "conv_planes_weights") arrange(new Params(planeWeightsStruct, launch), memory);
  else if (entry.startsWith("conv_planes_pack_")) pack(new Params(packPlanesStruct, launch), launch, memory);
  else multiply(new Params(planesStruct, launch), launch, memory);
}

/** Where a position is: image, row, column. */
function placeOf(params: Params, position: number): [number, number, number] {
  const [columns, rows] = [params.number("columns"), params.number("rows")];
  const line = Math.floor(position / columns);
  return [Math.floor(line / rows), line % rows, position % columns];
}

function pack(params: Params, { grid, block }: Launch, memory: Memory): void {
  const to = params.elements("to", memory);
  const view = params.view("x");
  const from = view && memory(view);
  const threads = 2 * grid[0] * block[0];
  for (let plane = 0; plane < grid[1]; plane++) {
    for (let at = 0; at < Math.min(threads, params.number("pitch")); at++) {
      const [image, row, column] = placeOf(params, at);
      const y = row * params.number("stride", 0) + plane - params.number("pad", 0);
      const x = column * params.number("stride", 1) - params.number("pad", 1);
      const first =
        (view?.offset ?? 0) +
        image * params.number("xBatch") +
        y * params.number("xAxes", 0) +
        x * params.number("xAxes", 1);
      for (let slot = 0; slot < slotsOfPixel; slot++) {
        const inRow = x + params.number("slotColumn", slot);
        const isInside =
          y >= 0 && y < params.number("size", 0) && inRow >= 0 && inRow < params.number("size", 1);
        const isThere = at < params.number("pixels") && slot < params.number("slots") && isInside;
        const target = (plane * params.number("pitch") + at) * slotsOfPixel + slot;
        to[target] = isThere ? (from?.[first + params.number("slotAt", slot)] ?? Number.NaN) : 0;
      }
    }
  }
}

function arrange(params: Params, memory: Memory): void {
  const [to, from, taps] = ["to", "w", "taps"].map((name) => params.elements(name, memory));
  const [eights, tileFilters] = [params.number("eights"), params.number("tileFilters")];
  for (let at = 0; at < params.number("count"); at++) {
    const slot = at % slotsOfPixel;
    const rest = Math.floor(at / slotsOfPixel);
    const eight = Math.floor(rest / tileFilters) % eights;
    const filter = Math.floor(rest / tileFilters / eights) * tileFilters + (rest % tileFilters);
    const [row = -1, first = 0] = [taps?.[2 * eight], taps?.[2 * eight + 1]];
    const column = first + Math.floor(slot / params.number("channels"));
    const isThere = row >= 0 && slot < params.number("slots") && column < params.number("kernelWidth");
    const place =
      filter * params.number("wFilter") +
      (slot % params.number("channels")) * params.number("wChannel") +
      row * params.number("wAxes", 0) +
      column * params.number("wAxes", 1);
    const value = isThere && filter < params.number("filters") ? (from?.[place] ?? Number.NaN) : 0;
    if (to !== undefined) to[at] = value;
  }
}

/** A tile's pixels as they lie in a stage: in number those that its size says. */
function stageOf(params: Params, planes: Float64Array, tile: number, rows: number): Float64Array {
  const stage = new Float64Array((params.number("stageBytes") / pixelBytes) * slotsOfPixel);
  stage.fill(Number.NaN, 0, (params.number("copiedBytes") / pixelBytes) * slotsOfPixel);
  let copied = 0;
  for (let copy = 0; copy < params.number("copies"); copy++) {
    const bytes = params.number("copyBytes", copy);
    const from = (tile * rows + params.number("copyFrom", copy)) * slotsOfPixel;
    const end = from + (bytes / pixelBytes) * slotsOfPixel;
    if (end > planes.length) throw new Error(`a copy ends at ${end} of ${planes.length}`);
    stage.set(planes.subarray(from, end), (params.number("copyTo", copy) / pixelBytes) * slotsOfPixel);
    copied += bytes;
  }
  if (copied !== params.number("copiedBytes")) throw new Error(`${copied} bytes copied`);
  return stage;
}

function multiply(params: Params, { kernel, grid }: Launch, memory: Memory): void {
  const [, rows = 0, columns = 0] = (/_(\d+)x(\d+)$/.exec(kernel.entry) ?? []).map(Number);
  const [planes, w] = [params.elements("planes", memory), params.elements("w", memory)];
  for (let tile = 0; tile < params.number("tiles"); tile++) {
    const stage = stageOf(params, planes, tile, rows);
    for (let column = 0; column < grid[1]; column++) {
      const weights = w.subarray(column * params.number("steps") * 2 * columns * slotsOfPixel);
      for (let row = 0; row < rows; row++)
        finish(params, memory, { position: tile * rows + row, n: column * columns, columns }, (within) =>
          sumOf(params, stage, weights, row, within, columns),
        );
    }
  }
}

function sumOf(
  params: Params,
  stage: Float64Array,
  weights: Float64Array,
  row: number,
  filter: number,
  filters: number,
): number {
  let sum = 0;
  for (let step = 0; step < params.number("steps"); step++) {
    const word = params.number("step", step);
    const [first, further] = [word & 0x3fff, (word >> 16) & 0x3fff];
    for (let half = 0; half < 2; half++) {
      const pixel = (first + half * further + row) * slotsOfPixel;
      const from = ((2 * step + half) * filters + filter) * slotsOfPixel;
      for (let slot = 0; slot < slotsOfPixel; slot++)
        sum += (stage[pixel + slot] ?? Number.NaN) * (weights[from + slot] ?? Number.NaN);
    }
  }
  return sum;
}

/** In the order of the struct, whose fields are all of four bytes. */
const windowFields = {
  ...{ isUneven: 0, planes: 1, pitch: 2, kernelRows: 3, kernelColumns: 4 },
  ...{ stride: 5, columnsOfPixel: 6, pixelStep: 7, channels: 8 },
} as const;

/** From the planes, without what is beyond the window. */
function mended(params: Params, memory: Memory, { position, n, columns }: Row, within: number): number {
  const field = (name: keyof typeof windowFields) => params.number("window", windowFields[name]);
  const [planes, w] = [params.elements("planes", memory), params.elements("w", memory)];
  let at = (((n / columns) * 2 * params.number("steps") * columns + within) * slotsOfPixel) | 0;
  let sum = 0;
  for (let plane = 0; plane < field("planes"); plane++)
    for (let row = 0; row * field("stride") + plane < field("kernelRows"); row++)
      for (let [first, pixel] = [0, 0]; first < field("kernelColumns"); first += field("columnsOfPixel")) {
        const place = plane * field("pitch") + position + row * params.number("columns") + pixel;
        const slots = Math.min(field("columnsOfPixel"), field("kernelColumns") - first) * field("channels");
        for (let slot = 0; slot < slots; slot++)
          sum += (planes[place * slotsOfPixel + slot] ?? Number.NaN) * (w[at + slot] ?? Number.NaN);
        at += columns * slotsOfPixel;
        pixel += field("pixelStep");
      }
  return sum;
}

interface Row {
  readonly position: number;
  /** The tile's first filter, and how many it has. */
  readonly n: number;
  readonly columns: number;
}

/** The filters of one position, unless it is in the padding. */
function finish(
  params: Params,
  memory: Memory,
  { position, n, columns }: Row,
  sum: (within: number) => number,
): void {
  const [image, y, x] = placeOf(params, position);
  const isStored =
    position < params.number("positions") && x < params.number("size", 1) && y < params.number("size", 0);
  if (!isStored) return;
  const to = params.elements("y", memory);
  const at = image * params.number("yBatch") + y * params.number("yAxes", 0) + x * params.number("yAxes", 1);
  const count = Math.min(params.number("filters") - n, columns);
  const bias = params.view("bias") === undefined ? undefined : params.elements("bias", memory);
  for (let within = 0; within < count; within++) {
    let value = sum(within);
    if (Number.isNaN(value) && params.number("window", windowFields.isUneven) === 1)
      value = mended(params, memory, { position, n, columns }, within);
    value += bias?.[n + within] ?? 0;
    to[at + n + within] = Math.min(Math.max(value, params.float("low")), params.float("high"));
  }
}
