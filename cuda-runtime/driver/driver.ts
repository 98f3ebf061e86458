/** @file The driver: every call checked, and the devices that it knows. */
import { type Binding, type HostBlock, openBinding } from "./binding.ts";
import { type CallArguments, type CallName, deviceAttributes, results } from "./calls.ts";
import { CudaError } from "./errors.ts";

export interface DeviceInfo {
  /** As CUDA numbers them. */
  readonly index: number;
  readonly name: string;
  /** "9.0" is 90. */
  readonly computeCapability: number;
  readonly totalBytes: number;
  readonly multiprocessors: number;
  /** What one block may have, dynamic shared memory opted in. */
  readonly sharedBytesPerBlock: number;
  readonly l2Bytes: number;
  readonly clockMegahertz: number;
  /** What clock and bus width come to; 0 where the driver does not say. */
  readonly memoryBytesPerSecond: number;
}

export class Driver {
  readonly binding: Binding;
  /** 13000 for CUDA 13.0: the newest that the driver can run. */
  readonly version: number;
  readonly #long = new BigUint64Array(1);

  /** Throws DriverMissingError, or CudaError where the driver finds no device. */
  static async open(names?: readonly string[]): Promise<Driver> {
    return new Driver(await openBinding(names));
  }

  constructor(binding: Binding) {
    this.binding = binding;
    const version = new Int32Array(1);
    this.call("cuDriverGetVersion", version);
    this.version = version[0] ?? 0;
    this.call("cuInit", 0);
  }

  /** Throws CudaError. */
  call<Name extends CallName>(name: Name, ...parameters: CallArguments<Name>): void {
    const code = this.binding.invoke(name, parameters);
    if (code !== results.success) throw this.#errorOf(code, name);
  }

  /**
   * For giving things back: what fails then was lost by a fault before, which whoever caused it has been told of.
   */
  release<Name extends CallName>(name: Name, ...parameters: CallArguments<Name>): void {
    this.binding.invoke(name, parameters);
  }

  /** The handle, address or size that a function writes to its first parameter. */
  result(write: (target: BigUint64Array) => void): number {
    this.#long[0] = 0n;
    write(this.#long);
    return Number(this.#long[0]);
  }

  allocate(bytes: number): HostBlock {
    return this.binding.allocate(bytes);
  }

  devices(): DeviceInfo[] {
    const count = new Int32Array(1);
    this.call("cuDeviceGetCount", count);
    return Array.from({ length: count[0] ?? 0 }, (_, index) => this.device(index));
  }

  device(index: number): DeviceInfo {
    const handle = this.handleOf(index);
    const name = new Uint8Array(256);
    this.call("cuDeviceGetName", name, name.length, handle);
    const value = new Int32Array(1);
    const attribute = (key: keyof typeof deviceAttributes): number => {
      this.call("cuDeviceGetAttribute", value, deviceAttributes[key], handle);
      return value[0] ?? 0;
    };
    return {
      index,
      name: new TextDecoder().decode(name.subarray(0, name.indexOf(0))),
      computeCapability: 10 * attribute("majorVersion") + attribute("minorVersion"),
      totalBytes: this.result((target) => this.call("cuDeviceTotalMem_v2", target, handle)),
      multiprocessors: attribute("multiprocessors"),
      sharedBytesPerBlock: attribute("sharedBytesPerBlock"),
      l2Bytes: attribute("l2Bytes"),
      clockMegahertz: attribute("clockKilohertz") / 1000,
      // Two transfers a clock.
      memoryBytesPerSecond: 2 * attribute("memoryClockKilohertz") * 1000 * (attribute("memoryBusBits") / 8),
    };
  }

  handleOf(index: number): number {
    const handle = new Int32Array(1);
    this.call("cuDeviceGet", handle, index);
    return handle[0] ?? 0;
  }

  #errorOf(code: number, call: CallName): CudaError {
    const text = (name: "cuGetErrorName" | "cuGetErrorString"): string => {
      const pointer = new BigUint64Array(1);
      const failed = this.binding.invoke(name, [code, pointer]) !== results.success;
      const address = pointer[0] ?? 0n;
      return failed || address === 0n ? "" : this.binding.text(address);
    };
    const result = text("cuGetErrorName") || `CUresult ${code}`;
    const meaning = text("cuGetErrorString");
    return new CudaError(code, result, call, `${result} from ${call}${meaning && ` (${meaning})`}`);
  }
}
