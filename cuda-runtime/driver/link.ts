/** @file PTX text to machine code, by the driver's own compiler. */
import { results } from "./calls.ts";
import type { Driver } from "./driver.ts";
import { CudaError, PtxError } from "./errors.ts";

const logBytes = 16 * 1024;
// CUjit_option: CU_JIT_ERROR_LOG_BUFFER and CU_JIT_ERROR_LOG_BUFFER_SIZE_BYTES. No target: that of the current context.
const errorLog = 5;
const errorLogBytes = 6;
const ptxInput = 1;

/** The cubin. Throws PtxError with the compiler's log. A context must be current. */
export function compilePtx(driver: Driver, text: string, name: string): Uint8Array {
  using log = driver.allocate(logBytes);
  const options = new Int32Array([errorLog, errorLogBytes]);
  // The linker keeps reading them until it is destroyed.
  using values = driver.allocate(16);
  new BigUint64Array(values.bytes.buffer, values.bytes.byteOffset).set([log.address, BigInt(logBytes)]);
  const state = driver.result((target) =>
    driver.call("cuLinkCreate_v2", options.length, options, values.address, target),
  );
  try {
    const source = Buffer.from(`${text}\0`);
    driver.call("cuLinkAddData_v2", state, ptxInput, source, source.length, name, 0, null, null);
    const size = new BigUint64Array(1);
    const cubin = driver.result((target) => driver.call("cuLinkComplete", state, target, size));
    return driver.binding.view(BigInt(cubin), Number(size[0])).slice();
  } catch (error) {
    const isOurs = error instanceof CudaError && error.code !== results.outOfMemory;
    const said = new TextDecoder().decode(log.bytes.subarray(0, log.bytes.indexOf(0))).trim();
    if (!isOurs || said === "") throw error;
    throw new PtxError(`${name} does not compile: ${said}`, { cause: error });
  } finally {
    driver.release("cuLinkDestroy", state);
  }
}

/** PTX versions by the first driver version that takes them, newest first. */
const ptxVersions: readonly (readonly [driver: number, ptx: string])[] = [
  [13_000, "9.0"],
  [12_090, "8.8"],
  [12_080, "8.7"],
  [12_050, "8.5"],
  [12_040, "8.4"],
  [12_030, "8.3"],
  [12_020, "8.2"],
  [12_010, "8.1"],
  [12_000, "8.0"],
  [11_080, "7.8"],
];

/** The newest PTX that a driver (13000 for CUDA 13.0) takes; undefined for one before CUDA 11.8. */
export function ptxVersionOf(driverVersion: number): string | undefined {
  return ptxVersions.find(([from]) => driverVersion >= from)?.[1];
}
