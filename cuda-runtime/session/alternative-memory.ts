/** @file Memory of steps that are timed apart from their model: drawn numbers in the place of its tensors. */
import type { DeviceContext } from "../driver/context.ts";
import type { DeviceMemory } from "../driver/memory.ts";
import { Owned } from "../driver/owned.ts";
import type { Stream } from "../driver/stream.ts";
import { encodeValues } from "../ir/encode.ts";
import { type Step, touched } from "../ir/step.ts";
import { isFloatStorage, type StorageType } from "../ir/storage.ts";
import type { DeviceBuffer, View } from "../ir/view.ts";
import type { StepsAlone } from "../plan/alone.ts";
import { bufferAlignment } from "../plan/arena.ts";
import { setsBeyondL2 } from "./l2-sets.ts";
import { randomValues } from "./random.ts";
import type { AddressOf, ReadyStep, StepRunner } from "./steps.ts";
import type { Transfer } from "./transfer.ts";

/** Drawn once a type and repeated over a buffer: prime, so that rows differ. */
const drawnElements = 131_071;
const largest = 0.2;
/** Copies of weights. */
const mostSets = 48;

export interface AlternativeTools {
  readonly stream: Stream;
  readonly transfer: Transfer;
  readonly runner: StepRunner;
}

/** Fills memory on the device: power, and with it the clock, depends on the bits that change. */
export class RandomContent implements Disposable {
  readonly #context: DeviceContext;
  readonly #stream: Stream;
  readonly #transfer: Transfer;
  readonly #owned = new Owned();
  readonly #drawn = new Map<StorageType, DeviceMemory>();

  constructor(context: DeviceContext, stream: Stream, transfer: Transfer) {
    this.#context = context;
    this.#stream = stream;
    this.#transfer = transfer;
  }

  /** Floats are drawn; of whole numbers, which may be places in memory, only zero is safe. */
  fill(address: number, bytes: number, type: StorageType): void {
    if (!isFloatStorage(type)) return this.#stream.fill(address, 0, bytes);
    const source = this.#drawnOf(type);
    for (let done = 0; done < bytes; done += source.bytes)
      this.copy(address + done, source.address, Math.min(bytes - done, source.bytes));
  }

  copy(to: number, from: number, bytes: number): void {
    if (bytes > 0) this.#context.driver.call("cuMemcpyDtoDAsync_v2", to, from, bytes, this.#stream.handle);
  }

  #drawnOf(type: StorageType): DeviceMemory {
    const known = this.#drawn.get(type);
    if (known !== undefined) return known;
    const bytes = encodeValues(type, randomValues(type, drawnElements, 1, largest));
    const memory = this.#owned.use(this.#context.allocate(bytes.length));
    this.#transfer.uploadBytes(memory.address, bytes);
    this.#transfer.flush();
    this.#drawn.set(type, memory);
    return memory;
  }

  [Symbol.dispose](): void {
    this.#owned[Symbol.dispose]();
  }
}

/** For alternatives to each other: they share what the model gives them, and where they write. */
export class AlternativeMemory implements Disposable {
  readonly #context: DeviceContext;
  readonly #content: RandomContent;
  readonly #owned = new Owned();
  readonly #shared = new Map<DeviceBuffer, DeviceMemory>();

  constructor(context: DeviceContext, content: RandomContent) {
    this.#context = context;
    this.#content = content;
  }

  /** The steps over so many copies of their weights that these leave the L2. Throws CudaError: out of memory. */
  setsOf(alternative: StepsAlone, tools: AlternativeTools): ReadyStep[][] {
    const { uploads, prepare, steps } = alternative;
    const written = new Set(uploads.map(({ buffer }) => buffer));
    for (const view of viewsOf(prepare, 1)) written.add(view.buffer);
    const rotating = rotatingOf(steps, written);
    const { offsets, bytes } = inARow(rotating.keys());
    const count = bytes === 0 ? 1 : setsBeyondL2(bytes, this.#context.device.l2Bytes, mostSets);
    const memory = this.#owned.use(this.#context.allocate(Math.max(1, count * bytes)));
    const addressOf =
      (set: number): AddressOf =>
      (buffer) => {
        const offset = offsets.get(buffer);
        return offset === undefined ? this.#sharedOf(buffer) : memory.address + set * bytes + offset;
      };
    const first = addressOf(0);
    for (const { type, buffer } of [...viewsOf(prepare, 0), ...viewsOf(steps, 0), ...viewsOf(steps, 1)])
      if (!written.has(buffer) && !this.#shared.has(buffer))
        this.#content.fill(first(buffer), buffer.bytes, type);
    for (const { buffer, offsetBytes, sizeBytes, readInto } of uploads)
      tools.transfer.upload(first(buffer) + offsetBytes, sizeBytes, readInto);
    tools.transfer.flush();
    for (const step of prepare) tools.runner.launch(tools.runner.ready(step, first), tools.stream);
    for (let set = 1; set < count; set++)
      this.#content.copy(memory.address + set * bytes, memory.address, bytes);
    tools.stream.synchronize();
    return Array.from({ length: count }, (_, set) =>
      steps.map((step) => tools.runner.ready(step, addressOf(set))),
    );
  }

  #sharedOf(buffer: DeviceBuffer): number {
    const known = this.#shared.get(buffer);
    if (known !== undefined) return known.address;
    const memory = this.#owned.use(this.#context.allocate(buffer.bytes));
    this.#shared.set(buffer, memory);
    return memory.address;
  }

  [Symbol.dispose](): void {
    this.#owned[Symbol.dispose]();
  }
}

/** What steps read (0) or write (1). */
function viewsOf(steps: readonly Step[], side: 0 | 1): View[] {
  return steps.flatMap(({ action }) => [...touched(action)[side]]);
}

/** Constants that steps read. */
function rotatingOf(steps: readonly Step[], written: ReadonlySet<DeviceBuffer>): Set<DeviceBuffer> {
  const reads = viewsOf(steps, 0).map(({ buffer }) => buffer);
  return new Set(reads.filter((buffer) => buffer.kind === "constant" || written.has(buffer)));
}

function inARow(buffers: Iterable<DeviceBuffer>): { offsets: Map<DeviceBuffer, number>; bytes: number } {
  const offsets = new Map<DeviceBuffer, number>();
  let bytes = 0;
  for (const buffer of buffers) {
    offsets.set(buffer, bytes);
    bytes += Math.ceil(Math.max(1, buffer.bytes) / bufferAlignment) * bufferAlignment;
  }
  return { offsets, bytes };
}
