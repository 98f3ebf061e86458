/** @file Kernels: loaded from fatbins or cubins, launched with one packed block of parameters. */
import type { Dim3 } from "../ir/step.ts";
import type { HostBlock } from "./binding.ts";
import { functionAttributes } from "./calls.ts";
import type { Driver } from "./driver.ts";
import type { Stream } from "./stream.ts";

/** Machine code, for as long as its kernels are used. */
export class Library implements Disposable {
  readonly #driver: Driver;
  readonly #handle: number;
  readonly #kernels = new Map<string, Kernel>();

  /** `image` is a fatbin or a cubin. Throws CudaError where it holds nothing for this GPU. */
  constructor(driver: Driver, image: Uint8Array) {
    this.#driver = driver;
    this.#handle = driver.result((target) =>
      driver.call("cuLibraryLoadData", target, image, null, null, 0, null, null, 0),
    );
  }

  /** Throws CudaError where there is no such entry. */
  kernel(entry: string): Kernel {
    const known = this.#kernels.get(entry);
    if (known !== undefined) return known;
    const driver = this.#driver;
    const handle = driver.result((target) => driver.call("cuLibraryGetKernel", target, this.#handle, entry));
    const made = new Kernel(
      driver,
      driver.result((target) => driver.call("cuKernelGetFunction", target, handle)),
    );
    this.#kernels.set(entry, made);
    return made;
  }

  [Symbol.dispose](): void {
    this.#driver.release("cuLibraryUnload", this.#handle);
  }
}

/** What a block may have without asking. */
const freeSharedBytes = 48 * 1024;
/** The same of blocks in a cluster. */
const freeClusterBlocks = 8;

/** An entry of a library; it goes with it. */
export class Kernel {
  readonly #driver: Driver;
  readonly handle: number;
  #sharedBytes = freeSharedBytes;
  #hasLargeClusters = false;

  constructor(driver: Driver, handle: number) {
    this.#driver = driver;
    this.handle = handle;
  }

  /** Allows what a launch needs beyond the defaults. */
  prepare({ sharedBytes, cluster }: Pick<LaunchShape, "sharedBytes" | "cluster">): void {
    if (sharedBytes + this.attribute("staticSharedBytes") > this.#sharedBytes) {
      const { dynamicSharedBytes } = functionAttributes;
      this.#driver.call("cuFuncSetAttribute", this.handle, dynamicSharedBytes, sharedBytes);
      this.#sharedBytes = sharedBytes;
    }
    const blocks = cluster === undefined ? 1 : cluster[0] * cluster[1] * cluster[2];
    if (blocks > freeClusterBlocks && !this.#hasLargeClusters) {
      this.#driver.call("cuFuncSetAttribute", this.handle, functionAttributes.largeClusters, 1);
      this.#hasLargeClusters = true;
    }
  }

  attribute(key: "threadsPerBlock" | "staticSharedBytes" | "localBytes" | "registers"): number {
    const value = new Int32Array(1);
    this.#driver.call("cuFuncGetAttribute", value, functionAttributes[key], this.handle);
    return value[0] ?? 0;
  }
}

export interface LaunchShape {
  readonly grid: Dim3;
  readonly block: Dim3;
  readonly sharedBytes: number;
  /** Blocks of a cluster along each axis; each divides the grid's. */
  readonly cluster?: Dim3 | undefined;
}

/** Bytes of parameters that a kernel may take. */
const maxParameterBytes = 32_764;

// Offsets in the block that holds a launch's structures: CUlaunchConfig, two CUlaunchAttribute, the list of parameters'
// addresses, which has one entry.
const configAt = 0;
const attributeAt = 64;
const attributeBytes = 72;
const listAt = 256;
const parametersAt = 512;
const clusterAttribute = 4;
const overlapAttribute = 6;

/** Launches kernels one after another; the driver copies the parameters before it returns. */
export class Launcher implements Disposable {
  readonly #driver: Driver;
  readonly #block: HostBlock;
  readonly #data: DataView;
  readonly #overlaps: boolean;

  /**
   * `overlaps`: a kernel may be launched before the one in front of it is done, and waits itself (every kernel of ours
   * begins so; sm_90 and later).
   */
  constructor(driver: Driver, overlaps: boolean) {
    this.#driver = driver;
    this.#overlaps = overlaps;
    this.#block = driver.allocate(parametersAt + maxParameterBytes);
    const { buffer, byteOffset } = this.#block.bytes;
    this.#data = new DataView(buffer, byteOffset);
    const { address } = this.#block;
    // Not as one buffer (`extra`): a driver of CUDA 13.0 passes parameters that are aligned to 64 bytes on as zeros then.
    this.#data.setBigUint64(listAt, address + BigInt(parametersAt), true);
    this.#data.setBigUint64(configAt + 40, address + BigInt(attributeAt), true);
  }

  launch(kernel: Kernel, shape: LaunchShape, parameters: Uint8Array, stream: Stream): void {
    if (parameters.length > maxParameterBytes)
      throw new RangeError(`tc-lint bug: ${parameters.length} bytes of parameters`);
    const { grid, block, sharedBytes, cluster } = shape;
    const data = this.#data;
    for (const [index, value] of [...grid, ...block, sharedBytes].entries())
      data.setUint32(configAt + 4 * index, value, true);
    data.setBigUint64(configAt + 32, BigInt(stream.handle), true);
    this.#setAttributes([
      ...(this.#overlaps ? [[overlapAttribute, 1]] : []),
      ...(cluster === undefined ? [] : [[clusterAttribute, ...cluster]]),
    ]);
    this.#block.bytes.set(parameters, parametersAt);
    const { address } = this.#block;
    this.#driver.call(
      "cuLaunchKernelEx",
      address + BigInt(configAt),
      kernel.handle,
      address + BigInt(listAt),
      null,
    );
  }

  /** Each by its number, and the words of its value. */
  #setAttributes(attributes: readonly (readonly number[])[]): void {
    this.#data.setUint32(configAt + 48, attributes.length, true);
    for (const [slot, [id = 0, ...words]] of attributes.entries()) {
      const at = attributeAt + slot * attributeBytes;
      this.#data.setUint32(at, id, true);
      for (const [index, word] of words.entries()) this.#data.setUint32(at + 8 + 4 * index, word, true);
    }
  }

  [Symbol.dispose](): void {
    this.#block[Symbol.dispose]();
  }
}
