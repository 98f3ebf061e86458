/**
 * @file Times kernels by themselves, the way ../shared/peers/torch_ops.py does: a CUDA graph of calls that rotate over
 * enough sets of buffers to leave the L2 cache, the median of its replays.
 */
import { DeviceMemory } from "../driver/memory.ts";
import { Owned } from "../driver/owned.ts";
import { StreamClock } from "../driver/stream.ts";
import { encodeValues } from "../ir/encode.ts";
import { load } from "../ir/expr-build.ts";
import { bytesOfType, type StorageType } from "../ir/storage.ts";
import { type DeviceBuffer, elementCount, type View } from "../ir/view.ts";
import { PlanDraft } from "../plan/buffers.ts";
import { PlanEmitter } from "../plan/emitter.ts";
import type { HarnessHost } from "./harness.ts";
import { setsBeyondL2 } from "./l2-sets.ts";
import { decodeValues } from "./numbers.ts";
import { randomValues } from "./random.ts";
import type { ReadyStep } from "./steps.ts";

/** Elements of random numbers, repeated over a tensor: prime, so that rows differ. */
const blockElements = 1_000_003;
/** Between the places in the block where tensors of neighbouring seeds begin. */
const seedElements = 131_071;
const minCalls = 20;
const maxSets = 64;

/** How long a GPU is kept busy before and while it is timed: under a load that lasts, its clock falls. */
export interface Sampling {
  /** Before everything, with nothing to do. */
  readonly restMilliseconds: number;
  /** Of replays that are not counted; one at least. */
  readonly warmMilliseconds: number;
  readonly replays: number;
  readonly minReplays: number;
  /** Of replays, where so many as are wanted would take longer. */
  readonly maxMilliseconds: number;
}

/** What a load that lasts takes. */
export const sustained: Sampling = {
  ...{ restMilliseconds: 0, warmMilliseconds: 30, replays: 21 },
  ...{ minReplays: 5, maxMilliseconds: 200 },
};
/**
 * As ../shared/peers/torch_ops.py times, for figures that stand beside its own: eight replays behind one. Timed as a load that lasts, 4096x4096x4096
 * had a clock of 1.41 GHz on an H200 where PyTorch's had 1.59, for 303,000 and 287,000 cycles.
 */
export const likePeer: Sampling = {
  ...{ restMilliseconds: 50, warmMilliseconds: 0, replays: 8 },
  ...{ minReplays: 8, maxMilliseconds: 0 },
};

/** Numbers of one tensor without the tensor. */
export interface Content {
  /** Of the element at a packed index, as it was uploaded. */
  at(index: number): number;
}

interface Block {
  readonly values: Float64Array;
  /** The same on the device, for as long as the process lives. */
  readonly memory: DeviceMemory;
}

const blocks = new Map<StorageType, Block>();

/** Drawn once for all tensors of a type: memory of the device is then filled by the device. */
function blockOf(host: HarnessHost, type: StorageType): Block {
  const known = blocks.get(type);
  if (known !== undefined) return known;
  // Codes of every size: power, and with it the clock, depends on the bits that change.
  const largest = bytesOfType(type) === 1 ? 100 : 0.2;
  const bytes = encodeValues(type, randomValues(type, blockElements, 1, largest));
  const memory = new DeviceMemory(host.context.driver, bytes.length);
  host.transfer.uploadBytes(memory.address, bytes);
  host.transfer.flush();
  const block = { values: decodeValues(type, bytes), memory };
  blocks.set(type, block);
  return block;
}

function shiftOf(seed: number): number {
  return (seed * seedElements) % blockElements;
}

export function contentOf(host: HarnessHost, type: StorageType, seed: number): Content {
  const { values } = blockOf(host, type);
  const shift = shiftOf(seed);
  return { at: (index) => values[(index + shift) % blockElements] ?? Number.NaN };
}

/** Where to look at a matrix: all over it, each last row and last column among them. [row, column] pairs. */
export function placesIn(rows: number, columns: number, count = 64): (readonly [number, number])[] {
  return Array.from({ length: count }, (_, i) => [
    i % 4 === 0 ? Math.max(0, rows - 1 - (i >> 2)) : (i * 2_654_435_761) % rows,
    i % 4 === 1 ? columns - 1 : (i * 2_246_822_519) % columns,
  ]);
}

/** One call's buffers and launches. Emit, then `prepare`. */
export class CallSet implements Disposable {
  readonly #host: HarnessHost;
  readonly #draft = new PlanDraft();
  readonly #memory = new Map<number, DeviceMemory>();
  readonly #owned = new Owned();
  readonly emitter: PlanEmitter;
  steps: readonly ReadyStep[] = [];

  constructor(host: HarnessHost, tf32: boolean) {
    this.#host = host;
    this.emitter = new PlanEmitter(this.#draft, host.target, tf32);
  }

  /** A packed tensor: what reads nothing but constants runs once, and is not timed. */
  tensor(kind: "constant" | "input", type: StorageType, shape: readonly number[], seed: number): View {
    const view = this.#draft.allocate(kind, type, shape);
    if (kind === "constant") {
      const nothing = { buffer: view.buffer, offsetBytes: 0, sizeBytes: 0, readInto: () => {} };
      this.#draft.upload(nothing);
    }
    this.#fill(this.#memoryOf(view.buffer).address, type, elementCount(shape), seed);
    return view;
  }

  #fill(address: number, type: StorageType, count: number, seed: number): void {
    const { context, stream } = this.#host;
    const { memory } = blockOf(this.#host, type);
    const size = bytesOfType(type);
    let from = shiftOf(seed);
    for (let done = 0; done < count; from = 0) {
      const piece = Math.min(count - done, blockElements - from);
      const source = memory.address + from * size;
      context.driver.call("cuMemcpyDtoDAsync_v2", address + done * size, source, piece * size, stream.handle);
      done += piece;
    }
  }

  output(type: StorageType, shape: readonly number[]): View {
    return this.#draft.allocate("output", type, shape);
  }

  /** Uploads what kernels brought along, packs constants, makes the other steps ready. */
  prepare(): void {
    const { runner, stream, transfer } = this.#host;
    const { uploads, prepare, steps } = this.#draft.finish();
    for (const { buffer, offsetBytes, sizeBytes, readInto } of uploads)
      transfer.upload(this.#memoryOf(buffer).address + offsetBytes, sizeBytes, readInto);
    transfer.flush();
    const ready = (list: typeof steps) =>
      list.map((step) => runner.ready(step, (buffer) => this.#memoryOf(buffer).address));
    for (const step of ready(prepare)) runner.launchAlone(step, stream);
    this.steps = ready(steps);
  }

  launch(): void {
    for (const step of this.steps) this.#host.runner.launch(step, this.#host.stream);
  }

  /** Elements at packed indices of a tensor, each fetched by itself. */
  read(view: View, indices: readonly number[]): number[] {
    const { address } = this.#memoryOf(view.buffer);
    const size = bytesOfType(view.type);
    return indices.map((index) => {
      const bytes = this.#host.transfer.download(address + index * size, size);
      return decodeValues(view.type, bytes)[0] ?? Number.NaN;
    });
  }

  #memoryOf(buffer: DeviceBuffer): DeviceMemory {
    const known = this.#memory.get(buffer.id);
    if (known !== undefined) return known;
    const memory = this.#owned.use(this.#host.context.allocate(buffer.bytes));
    this.#memory.set(buffer.id, memory);
    return memory;
  }

  [Symbol.dispose](): void {
    this.#owned[Symbol.dispose]();
  }
}

/** How many sets of `bytes` bytes leave an L2 cache of so many. */
export function setCount(bytes: number, l2Bytes: number): number {
  return setsBeyondL2(Math.max(1, bytes), l2Bytes, maxSets);
}

/** Of a copy's array: many times an L2. */
const copyBytes = 2 ** 28;

/** Read plus written by a copy, with its launch. */
export function copyGigabytesPerSecond(host: HarnessHost): number {
  using set = new CallSet(host, false);
  const shape = [copyBytes / bytesOfType("bfloat16")];
  const from = set.tensor("input", "bfloat16", shape, 1);
  set.emitter.evaluateInto(load(from), set.output("bfloat16", shape));
  set.prepare();
  return (2 * copyBytes) / timeCalls(host, [set]) / 1e3;
}

/** Median microseconds of one call. */
export function timeCalls(
  host: HarnessHost,
  sets: readonly Pick<CallSet, "launch">[],
  { restMilliseconds, warmMilliseconds, replays, minReplays, maxMilliseconds }: Sampling = sustained,
): number {
  const { stream } = host;
  using clock = new StreamClock(host.context.driver, stream);
  const rounds = Math.max(1, Math.ceil(minCalls / sets.length));
  using graph = stream.capture(() => {
    for (let round = 0; round < rounds; round++) for (const set of sets) set.launch();
  });
  const replay = () => clock.microsecondsOf(() => graph.launch(stream));
  if (restMilliseconds > 0) Atomics.wait(new Int32Array(new SharedArrayBuffer(4)), 0, 0, restMilliseconds);
  for (let spent = replay(); spent < 1000 * warmMilliseconds; ) spent += replay();
  const samples: number[] = [];
  for (let spent = 0; samples.length < replays; ) {
    const sample = replay();
    samples.push(sample);
    spent += sample;
    if (spent > 1000 * maxMilliseconds && samples.length >= minReplays) break;
  }
  samples.sort((a, b) => a - b);
  return (samples[samples.length >> 1] ?? Number.NaN) / (rounds * sets.length);
}
