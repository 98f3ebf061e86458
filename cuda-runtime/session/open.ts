/** @file The way to a GPU, with what is in it said plainly. */
import { whyUnsupported } from "../../src/hardware/architectures.ts";
import { InputError } from "../../src/ir/errors.ts";
import { results } from "../driver/calls.ts";
import { DeviceContext } from "../driver/context.ts";
import { type DeviceInfo, Driver } from "../driver/driver.ts";
import { CudaError, DriverMissingError } from "../driver/errors.ts";

/** The kernels are built by CUDA 13.0: older drivers do not read their machine code. */
const minDriverVersion = 13_000;
const minDriver = "CUDA 13.0 (driver 580)";

const getDriver =
  "the GPU commands need NVIDIA's driver, version 580 or later, and nothing else: https://www.nvidia.com/drivers";

/** Opens a device of this machine. Throws InputError: see `gpuFailure`. */
export async function openDevice(index = 0): Promise<DeviceContext> {
  try {
    const driver = await Driver.open();
    const problem = driverProblem(driver.version);
    if (problem !== undefined) throw new InputError("gpu-driver-too-old", problem);
    const devices = driver.devices();
    const device = devices[index];
    if (device === undefined)
      throw new InputError(
        "gpu-missing",
        `there is no GPU ${index}: CUDA finds ${devices.length === 0 ? "none" : `0 to ${devices.length - 1}`}`,
      );
    const unfit = deviceProblem(device);
    if (unfit !== undefined) throw new InputError("gpu-unsupported", unfit);
    return new DeviceContext(driver, index);
  } catch (error) {
    throw gpuFailure(error);
  }
}

/** Why a driver cannot be used; undefined where it can. */
export function driverProblem(version: number): string | undefined {
  if (version >= minDriverVersion) return undefined;
  return `the NVIDIA driver is too old: it runs CUDA ${versionText(version)}, the kernels need ${minDriver}`;
}

export function deviceProblem({ name, computeCapability }: DeviceInfo): string | undefined {
  return whyUnsupported(name, computeCapability);
}

/** 12080 is "12.8". */
export function versionText(version: number): string {
  return `${Math.floor(version / 1000)}.${Math.floor((version % 1000) / 10)}`;
}

/**
 * What the user is told: InputError `gpu-missing`, `gpu-driver-too-old`, `gpu-unsupported`, `gpu-out-of-memory` or
 * `gpu-fault`; the error itself where it is none of these.
 */
export function gpuFailure(error: unknown): unknown {
  const fail = (code: string, message: string) => new InputError(code, message, { cause: error });
  if (error instanceof DriverMissingError) {
    return error.kind === "missing"
      ? fail("gpu-missing", `there is no NVIDIA driver (${error.message}); ${getDriver}`)
      : fail("gpu-driver-too-old", `${error.message}: the kernels need ${minDriver}`);
  }
  if (!(error instanceof CudaError)) return error;
  const { code, message } = error;
  switch (code) {
    case results.outOfMemory:
      return fail("gpu-out-of-memory", `the GPU has too little free memory: ${message}`);
    case results.noDevice:
    case results.invalidDevice:
      return fail("gpu-missing", `CUDA finds no GPU: ${message}`);
    case results.systemDriverMismatch:
      return fail("gpu-missing", `the NVIDIA driver's parts are of different versions: ${message}`);
    case results.invalidImage:
    case results.noBinaryForGpu:
    case results.unsupportedPtxVersion:
      return fail("gpu-unsupported", `there is no kernel for this GPU and driver: ${message}`);
    case results.launchOutOfResources:
      return error;
    default:
      return code >= results.illegalAddress && code <= lastFault
        ? fail("gpu-fault", `a kernel went wrong: ${message}`)
        : error;
  }
}

/** CUDA_ERROR_TENSOR_MEMORY_LEAK, the last of the kernels' own errors. */
const lastFault = 721;
