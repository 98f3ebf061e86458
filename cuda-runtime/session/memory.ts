/** @file Where a plan's buffers lie on the device. */
import type { DeviceContext } from "../driver/context.ts";
import { type Owned, owning } from "../driver/owned.ts";
import type { Plan, PlanPort, Step } from "../ir/step.ts";
import { bytesOfType } from "../ir/storage.ts";
import { type DeviceBuffer, elementCount } from "../ir/view.ts";
import { bufferAlignment, lifetimesOf, type Placement, placeBuffers, viewsOf } from "../plan/arena.ts";

export interface MemoryUse {
  /** Weights as the steps read them. */
  readonly constantBytes: number;
  readonly inputBytes: number;
  readonly outputBytes: number;
  /** Everything between. */
  readonly arenaBytes: number;
  /** While loading, beside the constants: weights as they are stored, and what is computed from them on the way. */
  readonly loadBytes: number;
}

export interface Block {
  readonly address: number;
  readonly bytes: number;
}

export interface MemoryOptions {
  /** Every buffer by itself, so that a checker sees an access beyond it. */
  readonly separate?: boolean | undefined;
}

/** Memory for one group of buffers. */
export class BufferMemory implements Disposable {
  readonly #owned: Owned;
  readonly #addresses = new Map<DeviceBuffer, number>();
  readonly blocks: readonly Block[];
  readonly bytes: number;

  /** `offsets` lie within `bytes` bytes. Throws CudaError: out of memory. */
  constructor(
    context: DeviceContext,
    offsets: ReadonlyMap<DeviceBuffer, number>,
    bytes: number,
    { separate = false }: MemoryOptions,
  ) {
    this.bytes = bytes;
    [this.#owned, this.blocks] = owning((owned) => {
      if (!separate) {
        const block = owned.use(context.allocate(bytes));
        for (const [buffer, offset] of offsets) this.#addresses.set(buffer, block.address + offset);
        return [owned, [block]];
      }
      const blocks = [...offsets.keys()].map((buffer) => {
        const block = owned.use(context.allocate(buffer.bytes));
        this.#addresses.set(buffer, block.address);
        return block;
      });
      return [owned, blocks];
    });
  }

  address(buffer: DeviceBuffer): number | undefined {
    return this.#addresses.get(buffer);
  }

  [Symbol.dispose](): void {
    this.#owned[Symbol.dispose]();
  }
}

/** Buffers of a plan by when they are needed. */
export interface Groups {
  readonly constants: ReadonlySet<DeviceBuffer>;
  readonly inputs: ReadonlySet<DeviceBuffer>;
  readonly outputs: ReadonlySet<DeviceBuffer>;
  /** Only while loading. */
  readonly loading: ReadonlySet<DeviceBuffer>;
}

export function groupsOf(plan: Plan): Groups {
  const running = new Set(plan.steps.flatMap((step) => viewsOf(step).map(({ buffer }) => buffer)));
  for (const { view } of [...plan.inputs, ...plan.outputs]) running.add(view.buffer);
  const preparing = plan.prepare.flatMap((step) => viewsOf(step).map(({ buffer }) => buffer));
  const of = (kind: DeviceBuffer["kind"]) => new Set([...running].filter((buffer) => buffer.kind === kind));
  return {
    constants: of("constant"),
    inputs: of("input"),
    outputs: of("output"),
    loading: new Set(preparing.filter((buffer) => !running.has(buffer))),
  };
}

/** One behind the other. */
export function packed(
  context: DeviceContext,
  buffers: ReadonlySet<DeviceBuffer>,
  options: MemoryOptions,
): BufferMemory {
  const { offsets, bytes } = inARow(buffers);
  return new BufferMemory(context, offsets, bytes, options);
}

function inARow(buffers: ReadonlySet<DeviceBuffer>): Placement {
  const offsets = new Map<DeviceBuffer, number>();
  let bytes = 0;
  for (const buffer of buffers) {
    offsets.set(buffer, bytes);
    bytes += Math.ceil(Math.max(1, buffer.bytes) / bufferAlignment) * bufferAlignment;
  }
  return { offsets, bytes };
}

/** Sharing addresses where their lives do not meet. */
export function arena(
  context: DeviceContext,
  steps: readonly Step[],
  isPlaced: (buffer: DeviceBuffer) => boolean,
  options: MemoryOptions,
): BufferMemory {
  const { offsets, bytes } = placeBuffers(lifetimesOf(steps, isPlaced));
  return new BufferMemory(context, offsets, bytes, options);
}

/** Where a plan's temporaries lie. */
export function placementOf({ steps }: Plan): Placement {
  return placeBuffers(lifetimesOf(steps, ({ kind }) => kind === "temporary"));
}

/** What a session of the plan will take, known before there is one. */
export function memoryUseOf(plan: Plan): MemoryUse {
  const { constants, inputs, outputs, loading } = groupsOf(plan);
  return {
    constantBytes: inARow(constants).bytes,
    inputBytes: inARow(inputs).bytes,
    outputBytes: inARow(outputs).bytes,
    arenaBytes: placementOf(plan).bytes,
    loadBytes: placeBuffers(lifetimesOf(plan.prepare, (buffer) => loading.has(buffer))).bytes,
  };
}

/** The most that is held at once: what is loaded with is given back before the arena is made. */
export function peakBytesOf({
  constantBytes,
  inputBytes,
  outputBytes,
  arenaBytes,
  loadBytes,
}: MemoryUse): number {
  return constantBytes + inputBytes + outputBytes + Math.max(arenaBytes, loadBytes);
}

export function bytesOfPort({ view }: PlanPort): number {
  return elementCount(view.shape) * bytesOfType(view.type);
}
