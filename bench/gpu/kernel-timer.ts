/**
 * @file Times kernels by themselves, the way ../shared/peers/torch_ops.py does: a CUDA graph of calls that rotate over
 * enough sets of buffers to leave the L2 cache, the median of its replays.
 */
import type { DeviceMemory } from "../../cuda-runtime/driver/memory.ts";
import { Owned } from "../../cuda-runtime/driver/owned.ts";
import { TimingEvent } from "../../cuda-runtime/driver/stream.ts";
import { PlanDraft } from "../../cuda-runtime/plan/buffers.ts";
import { PlanEmitter } from "../../cuda-runtime/plan/emitter.ts";
import { encodeValues } from "../../cuda-runtime/plan/encode.ts";
import { bytesOfType, type StorageType } from "../../cuda-runtime/plan/storage.ts";
import { type DeviceBuffer, elementCount, type View } from "../../cuda-runtime/plan/view.ts";
import type { HarnessHost } from "../../cuda-runtime/session/harness.ts";
import { decodeValues } from "../../cuda-runtime/session/numbers.ts";
import { randomValues } from "../../cuda-runtime/session/random.ts";
import type { ReadyStep } from "../../cuda-runtime/session/steps.ts";

/** Elements of random numbers, repeated over a tensor: prime, so that rows differ. */
const blockElements = 1_000_003;
const minCalls = 20;
const replays = 9;
const maxSets = 64;
const warmMilliseconds = 30;

/** Numbers of one tensor without the tensor. */
export interface Content {
  readonly seed: number;
  /** Of the element at a packed index, as it was uploaded. */
  at(index: number): number;
}

const blocks = new Map<string, { readonly bytes: Uint8Array; readonly values: Float64Array }>();

function blockOf(type: StorageType, seed: number): { bytes: Uint8Array; values: Float64Array } {
  const key = `${type} ${seed}`;
  const known = blocks.get(key);
  if (known !== undefined) return known;
  const bytes = encodeValues(type, Array.from(randomValues(type, blockElements, seed, 0.2)));
  const block = { bytes, values: decodeValues(type, bytes) };
  blocks.set(key, block);
  return block;
}

export function contentOf(type: StorageType, seed: number): Content {
  const { values } = blockOf(type, seed);
  return { seed, at: (index) => values[index % blockElements] ?? Number.NaN };
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
    const { bytes } = blockOf(type, seed);
    const total = elementCount(shape) * bytesOfType(type);
    const { address } = this.#memoryOf(view.buffer);
    for (let at = 0; at < total; at += bytes.length) {
      this.#host.transfer.uploadBytes(address + at, bytes.subarray(0, Math.min(bytes.length, total - at)));
    }
    return view;
  }

  output(type: StorageType, shape: readonly number[]): View {
    return this.#draft.allocate("output", type, shape);
  }

  /** Packs constants, makes the other steps ready. */
  prepare(): void {
    const { runner, stream, transfer } = this.#host;
    transfer.flush();
    const { prepare, steps } = this.#draft.finish();
    const ready = (list: typeof steps) =>
      list.map((step) => runner.ready(step, (buffer) => this.#memoryOf(buffer).address));
    for (const step of ready(prepare)) runner.launchAlone(step, stream);
    this.steps = ready(steps);
  }

  launch(): void {
    for (const step of this.steps) this.#host.runner.launch(step, this.#host.stream);
  }

  /** Elements at packed indices of a tensor. */
  read(view: View, indices: readonly number[]): number[] {
    const { address, bytes } = this.#memoryOf(view.buffer);
    const size = bytesOfType(view.type);
    const values = decodeValues(
      view.type,
      this.#host.transfer.download(address, Math.floor(bytes / size) * size),
    );
    return indices.map((index) => values[index] ?? Number.NaN);
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
  return Math.max(1, Math.min(maxSets, Math.ceil((2 * l2Bytes) / Math.max(1, bytes))));
}

/** Median microseconds of one call. */
export function timeCalls(host: HarnessHost, sets: readonly CallSet[]): number {
  const { stream } = host;
  const { driver } = host.context;
  using start = new TimingEvent(driver);
  using end = new TimingEvent(driver);
  const rounds = Math.max(1, Math.ceil(minCalls / sets.length));
  using graph = stream.capture(() => {
    for (let round = 0; round < rounds; round++) for (const set of sets) set.launch();
  });
  const replay = () => {
    stream.record(start);
    graph.launch(stream);
    stream.record(end);
    end.synchronize();
    return end.microsecondsSince(start);
  };
  for (let spent = 0; spent < 1000 * warmMilliseconds; ) spent += replay();
  const samples = Array.from({ length: replays }, replay).sort((a, b) => a - b);
  return (samples[replays >> 1] ?? Number.NaN) / (rounds * sets.length);
}
