/** @file Memory of the device and pinned memory of the host, each freed by its owner. */
import type { Driver } from "./driver.ts";

/** The largest asynchronous copy of one thread. */
const copiedBytes = 16;

export class DeviceMemory implements Disposable {
  readonly #driver: Driver;
  readonly address: number;
  readonly bytes: number;
  /** With what such a copy may name behind them. */
  readonly wholeBytes: number;
  #isFree = false;

  /** Throws CudaError: out of memory. */
  constructor(driver: Driver, bytes: number) {
    this.#driver = driver;
    this.bytes = bytes;
    // Copies to shared memory name 16 bytes and say how many of them they read: with memory that ends in between,
    // compute-sanitizer takes them for reads beyond it. The driver gives no memory of zero bytes.
    this.wholeBytes = Math.max(1, Math.ceil(bytes / copiedBytes)) * copiedBytes;
    this.address = driver.result((target) => driver.call("cuMemAlloc_v2", target, this.wholeBytes));
  }

  [Symbol.dispose](): void {
    if (this.#isFree) return;
    this.#isFree = true;
    this.#driver.release("cuMemFree_v2", this.address);
  }
}

/** Memory of the host that the GPU copies from and to at full speed. */
export class PinnedMemory implements Disposable {
  readonly #driver: Driver;
  readonly address: number;
  /** Gone after disposal. */
  readonly bytes: Uint8Array;
  #isFree = false;

  constructor(driver: Driver, bytes: number) {
    this.#driver = driver;
    this.address = driver.result((target) => driver.call("cuMemHostAlloc", target, bytes, 0));
    this.bytes = driver.binding.view(BigInt(this.address), bytes);
  }

  [Symbol.dispose](): void {
    if (this.#isFree) return;
    this.#isFree = true;
    this.#driver.release("cuMemFreeHost", this.address);
  }
}
