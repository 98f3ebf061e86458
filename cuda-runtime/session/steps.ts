/** @file Steps with their addresses filled in: what is left to do is to launch them. */
import { type Machine, machineOfDevice } from "../../src/hardware/machine.ts";
import type { DeviceContext } from "../driver/context.ts";
import { CudaError } from "../driver/errors.ts";
import { type Kernel, Launcher, type LaunchShape } from "../driver/kernel.ts";
import type { Stream } from "../driver/stream.ts";
import { type EncodedTensor, encodeTensorMap } from "../driver/tensor-map.ts";
import { byteOffsetOf, type TensorMap } from "../ir/params.ts";
import type { Action, KernelRef, Launch, Step } from "../ir/step.ts";
import { bytesOfType, isFloatStorage } from "../ir/storage.ts";
import { type DeviceBuffer, elementCount, type View } from "../ir/view.ts";
import { spreadBytes } from "./spread.ts";
import type { KernelStore } from "./store.ts";

/** Where a buffer begins. */
export type AddressOf = (buffer: DeviceBuffer) => number;

type LaunchAction = Extract<Action, { kind: "launch" }>;

type Ready =
  | {
      readonly kind: "launch";
      readonly kernel: Kernel;
      readonly ref: KernelRef;
      readonly shape: LaunchShape;
      readonly parameters: Uint8Array;
    }
  | { readonly kind: "fill"; readonly address: number; readonly bytes: number };

export interface ReadyStep {
  readonly step: Step;
  readonly action: Ready;
}

/** Behind the step before it, whatever lane it was planned on. */
export function inOrder({ step, action }: ReadyStep): ReadyStep {
  return { step: { ...step, lane: undefined, waits: undefined }, action };
}

/** Makes steps ready and launches them. */
export class StepRunner implements Disposable {
  readonly #context: DeviceContext;
  readonly #store: KernelStore;
  readonly #launcher: Launcher;
  readonly #machine: Machine;

  constructor(context: DeviceContext, store: KernelStore) {
    this.#context = context;
    this.#store = store;
    this.#machine = machineOfDevice(context.device);
    this.#launcher = new Launcher(context.driver, this.#machine.features.overlap);
  }

  /** Loads the kernel, asks for its shared memory, writes the pointers. Throws what the store throws. */
  ready(step: Step, addressOf: AddressOf): ReadyStep {
    const { action } = step;
    if (action.kind === "clear") {
      const { view } = action;
      const bytes = elementCount(view.shape) * bytesOfType(view.type);
      return { step, action: { kind: "fill", address: addressOfView(view, addressOf), bytes } };
    }
    return naming(step, () => ({ step, action: this.#readyLaunch(action, addressOf) }));
  }

  #readyLaunch({ launch, runShare }: LaunchAction, addressOf: AddressOf): Ready {
    const { kernel: ref, grid, block, cluster, params } = launch;
    expectAtOnce(launch, this.#context.device.multiprocessors);
    const kernel = this.#store.kernel(ref);
    // Launches beside it come in where its blocks leave room.
    const isSpread = runShare === undefined;
    const sharedBytes = isSpread
      ? spreadBytes(launch, kernel.attribute("staticSharedBytes"), this.#machine)
      : launch.sharedBytes;
    kernel.prepare({ sharedBytes, cluster });
    const parameters = params.bytes.slice();
    const data = new DataView(parameters.buffer);
    for (const { at, view } of params.pointers)
      data.setBigUint64(at, BigInt(addressOfView(view, addressOf)), true);
    for (const map of params.tensorMaps ?? []) {
      parameters.set(encodeTensorMap(this.#context.driver, tensorOf(map, addressOf)), map.at);
    }
    return { kind: "launch", kernel, ref, shape: { grid, block, sharedBytes, cluster }, parameters };
  }

  /** Queues it. */
  launch({ step, action }: ReadyStep, stream: Stream): void {
    if (action.kind === "fill") {
      stream.fill(action.address, 0, action.bytes);
      return;
    }
    const { grid } = action.shape;
    // A grid of nothing is an error to the driver.
    if (grid.some((size) => size === 0)) return;
    naming(step, () => this.#launcher.launch(action.kernel, action.shape, action.parameters, stream));
  }

  /** Waits after it, so that a fault is known to be its. */
  launchAlone(ready: ReadyStep, stream: Stream): void {
    this.launch(ready, stream);
    naming(ready.step, () => stream.synchronize());
  }

  get context(): DeviceContext {
    return this.#context;
  }

  [Symbol.dispose](): void {
    this.#launcher[Symbol.dispose]();
  }
}

/** Blocks that wait for each other would wait for ever for one that finds no room. Throws RangeError. */
export function expectAtOnce({ isAtOnce, grid }: Launch, multiprocessors: number): void {
  const blocks = grid[0] * grid[1] * grid[2];
  if (isAtOnce !== true || blocks <= multiprocessors) return;
  throw new RangeError(
    `a plan of ${blocks} blocks that wait for each other, expected at most the ${multiprocessors} multiprocessors of this GPU: plan for it`,
  );
}

function tensorOf(
  { view, sizes, strides, box, steps, walk }: TensorMap,
  addressOf: AddressOf,
): EncodedTensor {
  // Codes of a byte are moved as bytes.
  const type = bytesOfType(view.type) === 1 ? "uint8" : view.type;
  if (type !== "uint8" && !isFloatStorage(type)) throw new Error(`tc-lint bug: no tensor map of ${type}`);
  const address = addressOfView(view, addressOf);
  return {
    type,
    address,
    sizes,
    strides: strides.map((stride) => stride * bytesOfType(type)),
    box,
    steps,
    walk,
  };
}

/** An error of the driver, with the step that it came from. */
function naming<Result>(step: Step, work: () => Result): Result {
  try {
    return work();
  } catch (error) {
    if (!(error instanceof CudaError)) throw error;
    throw error.during(describeStep(step));
  }
}

/** The kernel, the operator and the node. */
function describeStep({ action, label, operator }: Step): string {
  const kernel = action.kind === "clear" ? "clear" : action.launch.kernel.entry;
  return `${kernel} (${operator} ${label})`;
}

export function addressOfView(view: View, addressOf: AddressOf): number {
  return addressOf(view.buffer) + byteOffsetOf(view);
}
