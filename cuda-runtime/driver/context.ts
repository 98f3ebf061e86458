/** @file A device in use: its primary context, current in this thread. */
import type { DeviceInfo, Driver } from "./driver.ts";
import { DeviceMemory } from "./memory.ts";

/** `using` it gives the context back. The device's settings are never touched. */
export class DeviceContext implements Disposable {
  readonly driver: Driver;
  readonly device: DeviceInfo;
  readonly #handle: number;

  /** Throws CudaError: `device` is CUDA's number of it. */
  constructor(driver: Driver, device: number) {
    this.driver = driver;
    this.device = driver.device(device);
    this.#handle = driver.handleOf(device);
    const context = driver.result((target) => driver.call("cuDevicePrimaryCtxRetain", target, this.#handle));
    driver.call("cuCtxSetCurrent", context);
  }

  allocate(bytes: number): DeviceMemory {
    return new DeviceMemory(this.driver, bytes);
  }

  memory(): { readonly freeBytes: number; readonly totalBytes: number } {
    const total = new BigUint64Array(1);
    const freeBytes = this.driver.result((target) => this.driver.call("cuMemGetInfo_v2", target, total));
    return { freeBytes, totalBytes: Number(total[0]) };
  }

  synchronize(): void {
    this.driver.call("cuCtxSynchronize");
  }

  /** What a profiler that waits for it is to see, done when this returns. */
  profiled(work: () => void): void {
    this.driver.call("cuProfilerStart");
    work();
    this.synchronize();
    this.driver.call("cuProfilerStop");
  }

  [Symbol.dispose](): void {
    this.driver.release("cuDevicePrimaryCtxRelease_v2", this.#handle);
  }
}
