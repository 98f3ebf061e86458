/** @file Programs on a GPU: each segment a session, all on one stream. */
import type { Node } from "../../src/ir/model.ts";
import type { DeviceContext } from "../driver/context.ts";
import type { DeviceMemory } from "../driver/memory.ts";
import { type Owned, owning } from "../driver/owned.ts";
import { Stream } from "../driver/stream.ts";
import { encodeValues } from "../ir/encode.ts";
import type { PlanPort } from "../ir/step.ts";
import { bytesOfType, isStorageType } from "../ir/storage.ts";
import type { Program } from "../plan/program.ts";
import type { Segment } from "../plan/segment.ts";
import type { LoadedSegment, SegmentDevice } from "./held.ts";
import type { MemoryUse } from "./memory.ts";
import { decodeValues } from "./numbers.ts";
import { ProgramRunner } from "./program.ts";
import { DeviceSession, type PortBytes, type SessionOptions } from "./session.ts";
import type { KernelStore } from "./store.ts";
import { Transfer } from "./transfer.ts";

/** Blocks kept for the next run; where there are more, all are given back before it. */
const maxBlocks = 256;

export class GpuDevice implements SegmentDevice {
  readonly stream: Stream;
  readonly context: DeviceContext;
  readonly #store: KernelStore;
  readonly #options: SessionOptions;
  readonly #transfer: Transfer;
  readonly #owned: Owned;
  #free: DeviceMemory[] = [];
  #used: DeviceMemory[] = [];
  /** Sessions that were loaded last, by segment. */
  readonly sessions = new Map<Segment, DeviceSession>();
  /** Whether what a run writes is filled before. */
  isPoisoned = true;

  constructor(context: DeviceContext, store: KernelStore, options: SessionOptions = {}) {
    this.context = context;
    this.#store = store;
    this.#options = options;
    [this.#owned, this.stream, this.#transfer] = owning((owned) => {
      const stream = owned.use(new Stream(context.driver));
      return [owned, stream, owned.use(new Transfer(context.driver, stream))];
    });
  }

  load(segment: Segment, bound: ReadonlyMap<PlanPort, number>): LoadedSegment {
    const shared = { stream: this.stream, transfer: this.#transfer };
    const places = new Map([...bound].map(([{ view }, address]) => [view.buffer, address]));
    const options = { ...this.#options, shared, bound: places };
    const session = DeviceSession.load(this.context, this.#store, segment.plan, options);
    this.sessions.set(segment, session);
    return {
      addressOf: (port) => session.addressOfPort(port),
      launch: () => {
        if (this.isPoisoned) session.poison();
        session.launch();
      },
      [Symbol.dispose]: () => {
        if (this.sessions.get(segment) === session) this.sessions.delete(segment);
        // Its graph may still run.
        this.stream.synchronize();
        session[Symbol.dispose]();
      },
    };
  }

  allocate(bytes: number): number {
    const index = this.#free.findIndex((memory) => memory.bytes === bytes);
    const [found] = index < 0 ? [] : this.#free.splice(index, 1);
    const memory = found ?? this.context.allocate(bytes);
    this.#used.push(memory);
    return memory.address;
  }

  reuse(): void {
    this.#free = [...this.#used, ...this.#free];
    this.#used = [];
    if (this.#free.length <= maxBlocks) return;
    this.stream.synchronize();
    for (const memory of this.#free) memory[Symbol.dispose]();
    this.#free = [];
  }

  copy(from: number, to: number, bytes: number): void {
    this.context.driver.call("cuMemcpyDtoDAsync_v2", to, from, bytes, this.stream.handle);
  }

  upload(to: number, bytes: Uint8Array): void {
    this.#transfer.uploadBytes(to, bytes);
  }

  download(from: number, bytes: number): Uint8Array {
    return this.#transfer.download(from, bytes);
  }

  synchronize(): void {
    this.stream.synchronize();
  }

  [Symbol.dispose](): void {
    for (const memory of [...this.#used, ...this.#free]) memory[Symbol.dispose]();
    this.#owned[Symbol.dispose]();
  }
}

/** An output, whose size the run decided. */
export interface OutputBytes {
  readonly type: PlanPort["view"]["type"];
  readonly shape: readonly number[];
  readonly bytes: Uint8Array;
}

/** A program with its inputs on the GPU. */
export class ProgramSession implements Disposable {
  readonly device: GpuDevice;
  readonly #program: Program;
  readonly #runner: ProgramRunner;
  readonly #inputs = new Map<string, DeviceMemory>();

  constructor(context: DeviceContext, store: KernelStore, program: Program, options: SessionOptions = {}) {
    this.device = new GpuDevice(context, store, options);
    this.#program = program;
    this.#runner = new ProgramRunner(this.device, program);
  }

  /** Row-major, of the model's types. */
  writeInputs(inputs: PortBytes): void {
    for (const [value, { fact }] of this.#program.entering) {
      const bytes = inputs.get(value.name);
      const { dtype, shape = [] } = fact;
      if (bytes === undefined || !isStorageType(dtype)) continue;
      const sizes = shape.map(Number);
      const known = this.#inputs.get(value.name);
      const memory = known?.bytes === bytes.length ? known : this.device.context.allocate(bytes.length);
      if (memory !== known) known?.[Symbol.dispose]();
      this.#inputs.set(value.name, memory);
      this.device.upload(memory.address, bytes);
      const count = bytes.length / bytesOfType(dtype);
      // What is small may decide sizes: nobody has to ask the GPU for it.
      const host =
        count > maxHostElements
          ? undefined
          : { type: dtype, shape: sizes, values: decodeValues(dtype, bytes) };
      this.#runner.setInput(value, { type: dtype, shape: sizes, address: memory.address, host });
    }
  }

  /** Throws CudaError, and PlanError for what the data asks for and the runtime cannot do. */
  run(inputs: PortBytes): Map<string, OutputBytes> {
    this.writeInputs(inputs);
    this.launch();
    return this.readOutputs();
  }

  /** From inputs on the GPU to outputs there; the end is not waited for. */
  launch(): void {
    this.#runner.run();
  }

  /** Waits for all that was queued. */
  synchronize(): void {
    this.device.synchronize();
  }

  /** Of the segments of the last run. */
  sessionsOfRun(): DeviceSession[] {
    return this.#runner.segmentsOfRun().flatMap((segment) => {
      const session = this.device.sessions.get(segment);
      return session === undefined ? [] : [session];
    });
  }

  /** One run, during which `onWork` is told what each piece of the host's work takes. */
  launchTelling(onWork: (node: Node, microseconds: number) => void): void {
    this.#runner.onWork = onWork;
    try {
      this.#runner.run();
    } finally {
      this.#runner.onWork = undefined;
    }
  }

  readOutputs(): Map<string, OutputBytes> {
    return new Map(
      [...this.#runner.outputs()].map(([name, { type, shape, values }]) => [
        name,
        { type, shape, bytes: encodeValues(type, values) },
      ]),
    );
  }

  get memory(): MemoryUse {
    const uses = [...this.device.sessions.values()].map(({ memory }) => memory);
    const sum = (of: (use: MemoryUse) => number) => uses.reduce((total, use) => total + of(use), 0);
    return {
      constantBytes: sum(({ constantBytes }) => constantBytes),
      inputBytes: [...this.#program.entering].reduce(
        (total, [{ name }]) => total + (this.#inputs.get(name)?.bytes ?? 0),
        sum(({ inputBytes }) => inputBytes),
      ),
      outputBytes: sum(({ outputBytes }) => outputBytes),
      arenaBytes: sum(({ arenaBytes }) => arenaBytes),
      loadBytes: uses.reduce((most, { loadBytes }) => Math.max(most, loadBytes), 0),
    };
  }

  [Symbol.dispose](): void {
    this.#runner[Symbol.dispose]();
    for (const memory of this.#inputs.values()) memory[Symbol.dispose]();
  }
}

const maxHostElements = 4096;
