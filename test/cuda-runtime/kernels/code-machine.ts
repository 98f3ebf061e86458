/** @file The kernels of gemm-int8/ and copies by the meaning of their parameters, step for step as their epilogue rounds. */

import { encodeValues } from "../../../cuda-runtime/ir/encode.ts";
import { roundToEven } from "../../../cuda-runtime/ir/expr-value.ts";
import type { StructLayout } from "../../../cuda-runtime/ir/param-table.ts";
import type { Launch } from "../../../cuda-runtime/ir/step.ts";
import { bytesOfType, type StorageType, storageTypes } from "../../../cuda-runtime/ir/storage.ts";
import type { View } from "../../../cuda-runtime/ir/view.ts";
import { codeRowsStruct } from "../../../cuda-runtime/kernels/code-rows/params.table.ts";
import {
  codeMapsStruct,
  codeProductStruct,
  codeSumsStruct,
  codeTailStruct,
} from "../../../cuda-runtime/kernels/gemm-int8/params.table.ts";
import type { copyViews } from "../../../cuda-runtime/kernels/transpose/transpose.ts";
import { decodeValues } from "../../../cuda-runtime/session/numbers.ts";
import type { PlanMemory } from "../plan/machine.ts";
import { withTail } from "./code-tail-machine.ts";

/** In the place of `copyViews`: a launch that says what it copies. */
export const plainCopies: typeof copyViews = (emitter, from, to) => {
  emitter.launch({
    kernel: { kind: "built", family: "transpose", entry: "plain_copy" },
    ...{ grid: [1, 1, 1], block: [1, 1, 1], sharedBytes: 0 },
    params: { bytes: new Uint8Array(0), pointers: [], tensorMaps: undefined },
    reads: [from],
    writes: [to],
    // Copies of one view to two places are two launches.
    detail: `${to.buffer.id} ${to.offset}`,
  });
};

export function runCodes(launch: Launch, memory: PlanMemory): void {
  if (launch.kernel.entry !== "plain_copy") return runCodeKernel(launch, memory);
  const [[from], [to]] = [launch.reads, launch.writes];
  if (from !== undefined && to !== undefined) memory.write(to, memory.read(from));
}

export function runCodeKernel(launch: Launch, memory: Bytes): void {
  const { entry } = launch.kernel;
  if (entry === "code_rows") runRows(new Fields(codeRowsStruct, launch, memory), launch);
  else if (entry === "code_sums") runSums(new Fields(codeSumsStruct, launch, memory));
  else if (entry.startsWith("codes_")) runProduct(productFields(launch, memory), entry);
  else throw new Error(`no definition of ${entry}`);
}

/** Those of Hopper lie behind two descriptors. */
function productFields(launch: Launch, memory: Bytes): Fields {
  const isNested = launch.params.bytes.length === codeMapsStruct.bytes;
  const at = codeMapsStruct.members.find(({ name }) => name === "p")?.offset ?? 0;
  return new Fields(codeProductStruct, launch, memory, isNested ? at : 0);
}

type Bytes = Pick<PlanMemory, "bytesOf">;

export class Fields {
  readonly #offsets: ReadonlyMap<string, number>;
  readonly #data: DataView;
  readonly #launch: Launch;
  readonly #memory: Bytes;

  constructor(layout: StructLayout, launch: Launch, memory: Bytes, start = 0) {
    this.#offsets = new Map(layout.members.map(({ name, offset }) => [name, start + offset]));
    const { buffer, byteOffset, byteLength } = launch.params.bytes;
    this.#data = new DataView(buffer, byteOffset, byteLength);
    this.#launch = launch;
    this.#memory = memory;
  }

  int(name: string): number {
    return this.#data.getInt32(this.#offsets.get(name) ?? -1, true);
  }

  float(name: string): number {
    return this.#data.getFloat32(this.#offsets.get(name) ?? -1, true);
  }

  /** Of a struct within this one. */
  within(name: string, layout: StructLayout): Fields {
    return new Fields(layout, this.#launch, this.#memory, this.#offsets.get(name) ?? -1);
  }

  view(name: string): View | undefined {
    const at = this.#offsets.get(name);
    return this.#launch.params.pointers.find((slot) => slot.at === at)?.view;
  }

  /** The element so many behind the pointer. */
  element(name: string, index: number, type?: StorageType): number {
    const view = this.view(name);
    if (view === undefined) return 0;
    const own = type ?? view.type;
    const size = bytesOfType(own);
    const at = view.offset * bytesOfType(view.type) + index * size;
    const bytes = this.#memory.bytesOf(view.buffer).subarray(at, at + size);
    if (bytes.length < size) throw new Error(`${name}[${index}] is outside of its buffer`);
    return decodeValues(own, bytes)[0] ?? Number.NaN;
  }

  store(name: string, index: number, type: StorageType, value: number): void {
    const view = this.view(name);
    if (view === undefined) throw new Error(`no ${name}`);
    const size = bytesOfType(type);
    this.#memory.bytesOf(view.buffer).set(encodeValues(type, [value]), view.offset * size + index * size);
  }
}

function runSums(fields: Fields): void {
  for (let row = 0; row < fields.int("rows"); row++) {
    let sum = 0;
    for (let k = 0; k < fields.int("k"); k++) sum += fields.element("a", row * fields.int("pitch") + k);
    fields.store("sums", row, "int32", sum);
  }
}

/** Of row m and depth k: the code, or what lies outside. */
function gather(fields: Fields, isConv: boolean, m: number, k: number): number {
  if (!isConv) return fields.element("a", m * fields.int("aM") + k);
  const channels = fields.int("channels");
  const [tap, channel] = [Math.floor(k / channels), k % channels];
  const [tapY, tapX] = [Math.floor(tap / fields.int("tapsX")), tap % fields.int("tapsX")];
  const positions = fields.int("outPositions");
  const [image, position] = [Math.floor(m / positions), m % positions];
  const [outY, outX] = [Math.floor(position / fields.int("outWidth")), position % fields.int("outWidth")];
  const y = outY * fields.int("strideY") - fields.int("padY") + tapY * fields.int("dilationY");
  const x = outX * fields.int("strideX") - fields.int("padX") + tapX * fields.int("dilationX");
  const isInside = y >= 0 && y < fields.int("height") && x >= 0 && x < fields.int("width");
  if (!isInside) return fields.element("fill", 0);
  return fields.element(
    "a",
    image * fields.int("xN") + y * fields.int("xH") + x * fields.int("xW") + channel,
  );
}

function runProduct(fields: Fields, entry: string): void {
  const isConv = entry.startsWith("codes_conv");
  const [rows, columns, depth] = [fields.int("m"), fields.int("n"), fields.int("k")];
  for (let m = 0; m < rows; m++) {
    const row = Array.from({ length: depth }, (_, k) => gather(fields, isConv, m, k));
    const rowSum = row.reduce((sum, code) => sum + code, 0);
    for (let n = 0; n < columns; n++) {
      const sum = row.reduce((all, code, k) => all + code * fields.element("b", n * fields.int("bN") + k), 0);
      const whole = sum + fields.element("addend", n) - fields.element("zeroB", n) * rowSum;
      storeSum(fields, [m, n], whole);
    }
  }
}

function storeSum(fields: Fields, [m, n]: readonly [number, number], whole: number): void {
  const at = m * fields.int("dM") + n;
  const type = typeOfCode(fields.int("dType"));
  if (fields.view("scale") === undefined) return fields.store("d", at, "int32", whole | 0);
  const scaled = Math.fround(Math.fround(whole) * fields.element("scale", n * fields.int("scaleStep")));
  const real = Math.fround(scaled + fields.element("bias", n));
  const tail = fields.within("tail", codeTailStruct);
  const kind = tail.int("kind");
  // Floats with a tail are no codes yet.
  const first = kind === 2 || !isCode(typeOfCode(fields.int("codeType"))) ? real : codeOf(fields, real);
  fields.store("d", at, type, kind === 0 ? first : withTail(tail, [m, n], first, type));
}

function isCode(type: StorageType): boolean {
  return type === "int8" || type === "uint8";
}

function codeOf(fields: Fields, real: number): number {
  const zero = fields.element("zeroOut", 0, typeOfCode(fields.int("codeType")));
  const bounded = Math.min(Math.max(real, fields.int("low") - zero), fields.int("high") - zero);
  return roundToEven(bounded) + zero;
}

export function typeOfCode(code: number): StorageType {
  const found = Object.entries(storageTypes).find(([, row]) => row.code === code)?.[0];
  if (found === undefined) throw new Error(`no type ${code}`);
  return found as StorageType;
}

/** Windows along rows side by side; floats are quantized. */
function runRows(fields: Fields, launch: Launch): void {
  const [type] = launch.reads.map((view) => view.type);
  const to = launch.writes[0]?.type ?? "int8";
  const [positions, chunks, channels] = [
    fields.int("positions"),
    fields.int("chunks"),
    fields.int("channels"),
  ];
  const [least, most] = to === "int8" ? [-128, 127] : [0, 255];
  const [images = 1, , height = 1] = launch.writes[0]?.shape ?? [];
  for (let at = 0; at < images * height * positions * chunks * 16; at++) {
    const [place, byte] = [Math.floor(at / (chunks * 16)), at % (chunks * 16)];
    const [row, position] = [Math.floor(place / positions), place % positions];
    const x = position * fields.int("stride") + Math.floor(byte / channels) - fields.int("pad");
    const from =
      Math.floor(row / height) * fields.int("xN") +
      (row % height) * fields.int("xH") +
      x * fields.int("xW") +
      (byte % channels) * fields.int("xC");
    const isInside = x >= 0 && x < fields.int("width");
    const value = isInside ? fields.element("x", from) : fields.int("zero");
    const isCodes = !isInside || type === "int8" || type === "uint8";
    const code = isCodes
      ? value
      : Math.min(
          Math.max(roundToEven(Math.fround(value / fields.float("scale"))) + fields.int("zero"), least),
          most,
        );
    fields.store("to", at, to, code);
  }
}
