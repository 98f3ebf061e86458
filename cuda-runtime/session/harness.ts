/** @file Kernels by themselves on a GPU, without a model or a plan: for tests and measurements. */

import { createHash } from "node:crypto";
import { machineOfDevice } from "../../src/hardware/machine.ts";
import { DeviceContext } from "../driver/context.ts";
import { Driver } from "../driver/driver.ts";
import type { DeviceMemory } from "../driver/memory.ts";
import { Owned, owning } from "../driver/owned.ts";
import { Stream } from "../driver/stream.ts";
import type { Emitter } from "../ir/emitter.ts";
import { encodeValues } from "../ir/encode.ts";
import type { Launch, PlanTarget, Step } from "../ir/step.ts";
import { bytesOfType, type StorageType } from "../ir/storage.ts";
import { type DeviceBuffer, describeView, elementCount, stridesOf, type View } from "../ir/view.ts";
import { PlanDraft } from "../plan/buffers.ts";
import { PlanEmitter } from "../plan/emitter.ts";
import { randomValues } from "./random.ts";
import { type ReadyStep, StepRunner } from "./steps.ts";
import { KernelStore, type StoreOptions } from "./store.ts";
import { Transfer } from "./transfer.ts";
import { differenceOf, extentOf, gathered, scatter, writtenIn } from "./view-bytes.ts";

export interface TensorOptions {
  /** Row-major unless given; in elements. */
  readonly strides?: readonly number[];
  /** Elements before the first one. */
  readonly offset?: number;
  readonly seed?: number;
  /** Largest magnitude of drawn values: 1 for floats, 10 for integers unless given. */
  readonly scale?: number;
  /** Row-major; drawn from `seed` unless given. */
  readonly values?: ArrayLike<number>;
}

export interface Tolerance {
  readonly relative: number;
  readonly absolute: number;
}

/** Row-major; or what computes it, where that takes long and not every harness compares. */
export type Expected = ArrayLike<number> | (() => ArrayLike<number>);

export function wantedOf(expected: Expected): ArrayLike<number> {
  return typeof expected === "function" ? expected() : expected;
}

export interface Harness {
  /** A plain object: `{ ...emitter, tf32: true }` is another one. */
  readonly emitter: Emitter;
  tensor(type: StorageType, shape: readonly number[], options?: TensorOptions): View;
  /** Row-major, as they were uploaded: rounded to the type. */
  values(view: View): Float64Array;
  /** Memory of NaN bytes, packed: row-major unless an order of axes (outermost first) is given. */
  output(type: StorageType, shape: readonly number[], order?: readonly number[]): View;
  /** Runs all that was emitted since the last time. */
  execute(): void;
  /** Row-major, as they are on the GPU now. */
  read(view: View): Float64Array;
  /** Throws with the worst element. NaN and infinities have to be the same ones. */
  expectClose(view: View, expected: Expected, tolerance: Tolerance, what: string): void;
  /** Throws where a byte of an output is not as it was before anything ran. */
  expectUnwritten(view: View, what: string): void;
}

/** One thing to check. Throws where a result is wrong. */
export interface KernelCase {
  readonly name: string;
  run(harness: Harness): Promise<void> | void;
}

/** A device with all that harnesses share. */
export class HarnessHost implements Disposable {
  readonly context: DeviceContext;
  readonly store: KernelStore;
  readonly stream: Stream;
  readonly transfer: Transfer;
  readonly runner: StepRunner;
  readonly #owned: Owned;

  /** Throws DriverMissingError or CudaError. */
  static async open(options: StoreOptions & { readonly device?: number }): Promise<HarnessHost> {
    const driver = await Driver.open();
    return owning((owned) => new HarnessHost(driver, options, owned));
  }

  private constructor(driver: Driver, options: StoreOptions & { readonly device?: number }, owned: Owned) {
    this.#owned = owned;
    this.context = owned.use(new DeviceContext(driver, options.device ?? 0));
    this.store = owned.use(new KernelStore(this.context, options));
    this.stream = owned.use(new Stream(driver));
    this.transfer = owned.use(new Transfer(driver, this.stream));
    this.runner = owned.use(new StepRunner(this.context, this.store));
  }

  get target(): PlanTarget {
    return machineOfDevice(this.context.device);
  }

  /** `poison` is the byte that memory is full of before it is written; `onExecuted` is told steps that have just run, to run them again. */
  harness(poison = 0xff, onExecuted?: (steps: readonly ReadyStep[]) => void): DeviceHarness {
    return new DeviceHarness(this, poison, onExecuted);
  }

  [Symbol.dispose](): void {
    this.#owned[Symbol.dispose]();
  }
}

/** Emits into a list that the harness runs; constants are uploaded at once. */
export class HarnessEmitter extends PlanEmitter {
  readonly pending: Step[] = [];
  readonly #upload: (buffer: DeviceBuffer, bytes: Uint8Array) => void;

  constructor(target: PlanTarget, upload: (buffer: DeviceBuffer, bytes: Uint8Array) => void) {
    super(new PlanDraft(), target, false);
    this.#upload = upload;
  }

  override launch(launch: Launch): void {
    this.pending.push({ action: { kind: "launch", launch }, label: "", operator: "case" });
  }

  override clear(view: View): void {
    this.pending.push({ action: { kind: "clear", view }, label: "", operator: "case" });
  }

  override constant(type: StorageType, shape: readonly number[], values: readonly number[]): View {
    const view = this.draft.allocate("constant", type, shape);
    this.#upload(view.buffer, encodeValues(type, values));
    return view;
  }

  override isConstant({ buffer }: View): boolean {
    return buffer.kind === "constant";
  }

  /** With methods that are its own, so that it can be spread. */
  plain(): Emitter {
    return {
      target: this.target,
      tf32: this.tf32,
      launch: (launch) => this.launch(launch),
      choose: (question) => this.choose(question),
      clear: (view) => this.clear(view),
      temporary: (type, shape, order) => this.temporary(type, shape, order),
      constant: (type, shape, values) => this.constant(type, shape, values),
      copy: (from, to) => this.copy(from, to),
      packed: (view, options) => this.packed(view, options),
      evaluate: (expr, shape, type, order) => this.evaluate(expr, shape, type, order),
      evaluateInto: (expr, to) => this.evaluateInto(expr, to),
      isConstant: (view) => this.isConstant(view),
    };
  }
}

class DeviceHarness implements Harness, Disposable {
  readonly emitter: Emitter;
  readonly #host: HarnessHost;
  readonly #poison: number;
  readonly #onExecuted: ((steps: readonly ReadyStep[]) => void) | undefined;
  readonly #emitter: HarnessEmitter;
  readonly #owned = new Owned();
  readonly #memory = new Map<DeviceBuffer, DeviceMemory>();
  readonly #uploaded = new Map<DeviceBuffer, Uint8Array>();
  readonly #read = createHash("sha256");

  constructor(host: HarnessHost, poison: number, onExecuted?: (steps: readonly ReadyStep[]) => void) {
    this.#host = host;
    this.#poison = poison;
    this.#onExecuted = onExecuted;
    this.#emitter = new HarnessEmitter(host.target, (buffer, bytes) => this.#write(buffer, bytes));
    this.emitter = this.#emitter.plain();
  }

  tensor(type: StorageType, shape: readonly number[], options: TensorOptions = {}): View {
    const { strides = stridesOf(shape), offset = 0, seed = 1, scale } = options;
    const count = elementCount(shape);
    const values = options.values ?? randomValues(type, count, seed, scale);
    if (values.length !== count) throw new Error(`${values.length} values for [${shape.join(",")}]`);
    const { low, high } = extentOf(shape, strides);
    if (offset + low < 0) throw new Error(`an element of [${shape.join(",")}] lies before the tensor`);
    const bytes = new Uint8Array(Math.max(1, offset + high + 1) * bytesOfType(type)).fill(this.#poison);
    const buffer = this.#emitter.draft.buffer("input", bytes.length, "tensor");
    const view: View = { buffer, type, shape, strides, offset };
    scatter(encodeValues(type, values), view, bytes);
    this.#write(buffer, bytes);
    return view;
  }

  values(view: View): Float64Array {
    const bytes = this.#uploaded.get(view.buffer);
    if (bytes === undefined) throw new Error(`${describeView(view)} was not uploaded`);
    return gathered(view, bytes);
  }

  output(type: StorageType, shape: readonly number[], order?: readonly number[]): View {
    return this.#emitter.draft.allocate("output", type, shape, order);
  }

  execute(): void {
    const { runner, stream } = this.#host;
    const steps = this.#emitter.pending.splice(0).map((step) => {
      const ready = runner.ready(step, (buffer) => this.#memoryOf(buffer).address);
      runner.launchAlone(ready, stream);
      return ready;
    });
    if (steps.length > 0) this.#onExecuted?.(steps);
  }

  read(view: View): Float64Array {
    const memory = this.#memoryOf(view.buffer);
    const bytes = this.#host.transfer.download(memory.address, memory.bytes);
    const values = gathered(view, bytes);
    this.#read.update(new Uint8Array(values.buffer));
    return values;
  }

  expectClose(view: View, expected: Expected, tolerance: Tolerance, what: string): void {
    const problem = differenceOf(this.read(view), wantedOf(expected), tolerance, view);
    if (problem !== undefined) throw new Error(`${what}: ${problem}`);
  }

  // Not among what was read: these bytes differ from run to run.
  expectUnwritten(view: View, what: string): void {
    const memory = this.#memoryOf(view.buffer);
    const bytes = this.#host.transfer.download(memory.address, memory.bytes);
    const written = writtenIn(view, bytes, this.#poison);
    if (written > 0) throw new Error(`${what}: ${written} elements of ${describeView(view)} are written`);
  }

  /** Of all that was read, once. */
  digest(): string {
    return this.#read.digest("hex");
  }

  #memoryOf(buffer: DeviceBuffer): DeviceMemory {
    const known = this.#memory.get(buffer);
    if (known !== undefined) return known;
    const memory = this.#owned.use(this.#host.context.allocate(buffer.bytes));
    // Behind the last element too: what copies name there and do not read is no number, and nothing that initcheck has not seen written.
    this.#host.stream.fill(memory.address, this.#poison, memory.wholeBytes);
    this.#memory.set(buffer, memory);
    return memory;
  }

  #write(buffer: DeviceBuffer, bytes: Uint8Array): void {
    this.#uploaded.set(buffer, bytes);
    this.#host.transfer.uploadBytes(this.#memoryOf(buffer).address, bytes);
    this.#host.transfer.flush();
  }

  [Symbol.dispose](): void {
    this.#owned[Symbol.dispose]();
  }
}
