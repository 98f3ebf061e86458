/** @file A plan on a GPU: loaded once, run and timed as often as wanted. */
import { invariant } from "../../src/ir/errors.ts";
import type { DeviceContext } from "../driver/context.ts";
import { CudaError } from "../driver/errors.ts";
import { type Owned, owning } from "../driver/owned.ts";
import { type Graph, Stream } from "../driver/stream.ts";
import type { Plan, PlanPort, Upload } from "../ir/step.ts";
import type { DeviceBuffer } from "../ir/view.ts";
import { lifetimesOf } from "../plan/arena.ts";
import {
  arena,
  type BufferMemory,
  bytesOfPort,
  type Groups,
  groupsOf,
  type MemoryUse,
  packed,
} from "./memory.ts";
import { PrefetchedSteps } from "./prefetch.ts";
import { type AddressOf, addressOfView, type ReadyStep, StepRunner } from "./steps.ts";
import type { KernelStore } from "./store.ts";
import { Transfer } from "./transfer.ts";

export interface SessionOptions {
  /** Every buffer by itself, so that a checker sees an access beyond it. */
  readonly separate?: boolean | undefined;
  /** Launches one step after another and waits for each, so that a fault names its step; else one graph. */
  readonly stepwise?: boolean | undefined;
  /** Fills all memory that a run writes, and all that loading writes, with 0xFF before: NaN, if somebody reads it. */
  readonly poison?: boolean | undefined;
  /** What several sessions have in common: their work is done in the order in which it was given. */
  readonly shared?: SharedTransfer | undefined;
  /** Inputs that lie in memory of somebody else, who writes them. */
  readonly bound?: ReadonlyMap<DeviceBuffer, number> | undefined;
}

export interface SharedTransfer {
  readonly stream: Stream;
  readonly transfer: Transfer;
}

const poisonByte = 0xff;

/** Bytes by the port's name: row-major, of the model's types. */
export type PortBytes = ReadonlyMap<string, Uint8Array>;

export class DeviceSession implements Disposable {
  readonly plan: Plan;
  readonly stream: Stream;
  readonly runner: StepRunner;
  readonly ready: readonly ReadyStep[];
  readonly memory: MemoryUse;
  readonly #options: SessionOptions;
  readonly #owned: Owned;
  readonly #constants: BufferMemory;
  readonly #store: KernelStore;
  readonly #transfer: Transfer;
  readonly #addressOf: AddressOf;
  /** Memory that every run writes. */
  readonly #written: readonly BufferMemory[];
  #graph: Graph | undefined;

  /**
   * Uploads the weights and computes what depends on them alone. The context stays the caller's. Throws CudaError,
   * PtxError, and InputError where kernels are missing or weights cannot be read.
   */
  static load(
    context: DeviceContext,
    store: KernelStore,
    plan: Plan,
    options: SessionOptions = {},
  ): DeviceSession {
    return owning((owned) => new DeviceSession(context, store, plan, options, owned));
  }

  private constructor(
    context: DeviceContext,
    store: KernelStore,
    plan: Plan,
    options: SessionOptions,
    owned: Owned,
  ) {
    this.plan = plan;
    this.#options = options;
    this.#owned = owned;
    const { shared, bound = new Map<DeviceBuffer, number>() } = options;
    this.stream = shared?.stream ?? owned.use(new Stream(context.driver));
    this.#transfer =
      shared?.transfer ?? owned.use(new Transfer(context.driver, this.stream, movedBytes(plan)));
    this.runner = owned.use(new StepRunner(context, store));
    const groups = groupsOf(plan);
    const constants = owned.use(packed(context, groups.constants, options));
    this.#constants = constants;
    this.#store = store;
    const own = new Set([...groups.inputs].filter((buffer) => !bound.has(buffer)));
    const inputs = owned.use(packed(context, own, options));
    const outputs = owned.use(packed(context, groups.outputs, options));
    this.#poison([constants]);
    const loadBytes = this.#prepare(context, groups, constants);
    const isTemporary = (buffer: DeviceBuffer) => buffer.kind === "temporary";
    const temporaries = owned.use(arena(context, plan.steps, isTemporary, options));
    this.#written = [outputs, temporaries];
    const addressOf = addressIn([constants, inputs, outputs, temporaries]);
    this.#addressOf = (buffer) => bound.get(buffer) ?? addressOf(buffer);
    this.ready = plan.steps.map((step) => this.runner.ready(step, this.#addressOf));
    this.memory = {
      constantBytes: constants.bytes,
      inputBytes: inputs.bytes,
      outputBytes: outputs.bytes,
      arenaBytes: temporaries.bytes,
      loadBytes,
    };
  }

  /** Throws CudaError where a kernel goes wrong. The result's arrays are the caller's. */
  run(inputs: PortBytes): Map<string, Uint8Array> {
    this.writeInputs(inputs);
    this.poison();
    this.launch();
    this.synchronize();
    return this.readOutputs();
  }

  writeInputs(inputs: PortBytes): void {
    this.#write(this.plan.inputs, inputs);
  }

  /** These inputs alone; the others keep what they hold: what was written, or what steps have made of it. */
  updateInputs(inputs: PortBytes): void {
    this.#write(
      this.plan.inputs.filter(({ name }) => inputs.has(name)),
      inputs,
    );
  }

  #write(ports: readonly PlanPort[], inputs: PortBytes): void {
    for (const port of ports) {
      const bytes = inputs.get(port.name);
      const size = bytesOfPort(port);
      invariant(bytes?.length === size, `input "${port.name}" is given ${bytes?.length} bytes, not ${size}`);
      this.#transfer.uploadBytes(this.addressOfPort(port), bytes);
    }
    this.#transfer.flush();
  }

  /** All of them, or those that are named. */
  readOutputs(names?: ReadonlySet<string>): Map<string, Uint8Array> {
    const ports = this.plan.outputs.filter(({ name }) => names?.has(name) ?? true);
    return new Map(
      ports.map((port) => [port.name, this.#transfer.download(this.addressOfPort(port), bytesOfPort(port))]),
    );
  }

  /** Fills what a run writes, where the options say so. */
  poison(): void {
    this.#poison(this.#written);
  }

  /** Queues all steps. */
  launch(): void {
    if (this.#options.stepwise === true) {
      for (const step of this.ready) this.runner.launchAlone(step, this.stream);
    } else if (this.ready.length > 0) {
      this.#graph ??= this.#captured(this.ready);
      this.#graph.launch(this.stream);
    }
  }

  /** Waits for all that was queued. */
  synchronize(): void {
    try {
      this.stream.synchronize();
    } catch (error) {
      throw error instanceof CudaError ? error.during(`one of ${this.ready.length} steps`) : error;
    }
  }

  #captured(steps: readonly ReadyStep[]): Graph {
    const graph = this.#owned.use(this.capture(steps));
    graph.upload(this.stream);
    return graph;
  }

  /** Steps of this session from the first on, as a run launches them. The graph is the caller's. */
  capture(steps: readonly ReadyStep[]): Graph {
    using prefetched = new PrefetchedSteps(this.runner, this.#store);
    // Buffers that lie by themselves are in no order.
    const [block, other] = this.#constants.blocks;
    const base = block?.address ?? 0;
    const endOf = (buffer: DeviceBuffer): number | undefined => {
      const address = other === undefined ? this.#constants.address(buffer) : undefined;
      return address === undefined ? undefined : address - base + buffer.bytes;
    };
    return this.stream.capture(() => prefetched.launch(steps, base, endOf, this.stream));
  }

  /** Everything that happens once. Returns the bytes that it took for the time. */
  #prepare(context: DeviceContext, groups: Groups, constants: BufferMemory): number {
    const uploads = groupedBy(this.plan.uploads, ({ buffer }) => buffer);
    for (const buffer of groups.constants) this.#upload(uploads.get(buffer), constants.address(buffer));
    const isLoading = (buffer: DeviceBuffer) => groups.loading.has(buffer);
    using loading = arena(context, this.plan.prepare, isLoading, this.#options);
    this.#poison([loading]);
    const addressOf = addressIn([constants, loading]);
    // A weight arrives when the first step wants it: until then, its place is somebody else's.
    const arriving = groupedBy(lifetimesOf(this.plan.prepare, isLoading), ({ first }) => first);
    for (const [index, step] of this.plan.prepare.entries()) {
      for (const { buffer } of arriving.get(index) ?? [])
        this.#upload(uploads.get(buffer), loading.address(buffer));
      const ready = this.runner.ready(step, addressOf);
      if (this.#options.stepwise === true) this.runner.launchAlone(ready, this.stream);
      else this.runner.launch(ready, this.stream);
    }
    // Memory may not be given back while steps use it.
    this.#transfer.flush();
    return this.plan.prepare.length === 0 ? 0 : loading.bytes;
  }

  #upload(uploads: readonly Upload[] | undefined, address: number | undefined): void {
    for (const { offsetBytes, sizeBytes, readInto } of uploads ?? []) {
      invariant(address !== undefined, "a weight has no place");
      this.#transfer.upload(address + offsetBytes, sizeBytes, readInto);
    }
  }

  #poison(memories: readonly BufferMemory[]): void {
    if (this.#options.poison !== true) return;
    for (const { address, bytes } of memories.flatMap(({ blocks }) => blocks))
      this.stream.fill(address, poisonByte, bytes);
  }

  /** Where the port is in the device's memory. */
  addressOfPort({ view }: PlanPort): number {
    return addressOfView(view, this.#addressOf);
  }

  [Symbol.dispose](): void {
    this.#owned[Symbol.dispose]();
  }
}

/** The largest of all weights together, all inputs together, and the outputs one by one. */
function movedBytes({ uploads, inputs, outputs }: Plan): number {
  const sum = (sizes: readonly number[]) => sizes.reduce((total, size) => total + size, 0);
  const weights = sum(uploads.map(({ sizeBytes }) => sizeBytes));
  const together = Math.max(weights, sum(inputs.map(bytesOfPort)));
  return outputs.reduce((most, port) => Math.max(most, bytesOfPort(port)), together);
}

function addressIn(memories: readonly BufferMemory[]): AddressOf {
  return (buffer) => {
    for (const memory of memories) {
      const address = memory.address(buffer);
      if (address !== undefined) return address;
    }
    throw new Error(`tc-lint bug: the buffer "${buffer.name}" (${buffer.kind}) has no memory`);
  };
}

function groupedBy<Item, Key>(items: Iterable<Item>, keyOf: (item: Item) => Key): Map<Key, Item[]> {
  const groups = new Map<Key, Item[]>();
  for (const item of items) {
    const group = groups.get(keyOf(item));
    if (group === undefined) groups.set(keyOf(item), [item]);
    else group.push(item);
  }
  return groups;
}
