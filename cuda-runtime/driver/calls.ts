/** @file The functions of the CUDA driver that the runtime calls: one row each, for the C types and the TypeScript ones. */

/** Memory of this process: a typed array for the time of the call, an address that stays, or a null pointer. */
export type HostMemory = ArrayBufferView | bigint | null;

interface ArgumentValues {
  readonly i32: number;
  readonly u32: number;
  /** Handles, addresses on the device and sizes: all below 2^53. */
  readonly u64: number;
  /** A pointer, for what the driver reads and what it writes. */
  readonly host: HostMemory;
  readonly text: string;
}

export type ArgumentType = keyof ArgumentValues;

export const driverCalls = {
  cuInit: ["u32"],
  cuDriverGetVersion: ["host"],
  cuGetErrorName: ["i32", "host"],
  cuGetErrorString: ["i32", "host"],

  cuDeviceGetCount: ["host"],
  cuDeviceGet: ["host", "i32"],
  cuDeviceGetName: ["host", "i32", "i32"],
  cuDeviceGetAttribute: ["host", "i32", "i32"],
  cuDeviceTotalMem_v2: ["host", "i32"],
  cuDevicePrimaryCtxRetain: ["host", "i32"],
  cuDevicePrimaryCtxRelease_v2: ["i32"],
  cuCtxSetCurrent: ["u64"],
  cuCtxSynchronize: [],
  /** Begin and end of what a profiler is to see; without one they do nothing. */
  cuProfilerStart: [],
  cuProfilerStop: [],

  cuMemGetInfo_v2: ["host", "host"],
  cuMemAlloc_v2: ["host", "u64"],
  cuMemFree_v2: ["u64"],
  cuMemHostAlloc: ["host", "u64", "u32"],
  cuMemFreeHost: ["u64"],
  cuMemcpyHtoDAsync_v2: ["u64", "u64", "u64", "u64"],
  cuMemcpyDtoHAsync_v2: ["u64", "u64", "u64", "u64"],
  cuMemcpyDtoDAsync_v2: ["u64", "u64", "u64", "u64"],
  /** Address, value (of which the low byte counts), bytes, stream. */
  cuMemsetD8Async: ["u64", "u32", "u64", "u64"],

  cuStreamCreate: ["host", "u32"],
  cuStreamDestroy_v2: ["u64"],
  cuStreamSynchronize: ["u64"],
  cuStreamWaitEvent: ["u64", "u64", "u32"],
  cuStreamBeginCapture_v2: ["u64", "i32"],
  cuStreamEndCapture: ["u64", "host"],
  cuEventCreate: ["host", "u32"],
  cuEventDestroy_v2: ["u64"],
  cuEventRecord: ["u64", "u64"],
  cuEventSynchronize: ["u64"],
  cuEventElapsedTime: ["host", "u64", "u64"],

  cuGraphDestroy: ["u64"],
  cuGraphInstantiateWithFlags: ["host", "u64", "u64"],
  cuGraphExecDestroy: ["u64"],
  cuGraphUpload: ["u64", "u64"],
  cuGraphLaunch: ["u64", "u64"],

  cuLibraryLoadData: ["host", "host", "host", "host", "u32", "host", "host", "u32"],
  cuLibraryUnload: ["u64"],
  cuLibraryGetKernel: ["host", "u64", "text"],
  cuKernelGetFunction: ["host", "u64"],
  cuFuncGetAttribute: ["host", "i32", "u64"],
  cuFuncSetAttribute: ["u64", "i32", "i32"],
  cuLaunchKernelEx: ["host", "u64", "host", "host"],
  /** The map, type, rank, address, sizes, strides, box, element strides, interleave, swizzle, L2 promotion, fill. */
  cuTensorMapEncodeTiled: [
    "host",
    "i32",
    "u32",
    "u64",
    "host",
    "host",
    "host",
    "host",
    "i32",
    "i32",
    "i32",
    "i32",
  ],
  /** The map, type, rank, address, sizes, strides, corners of the walk, channels, positions, element strides, and as above. */
  cuTensorMapEncodeIm2col: [
    "host",
    "i32",
    "u32",
    "u64",
    "host",
    "host",
    "host",
    "host",
    "u32",
    "u32",
    "host",
    "i32",
    "i32",
    "i32",
    "i32",
  ],

  cuLinkCreate_v2: ["u32", "host", "host", "host"],
  /** State, type, data, bytes, name, number of options, options, values. */
  cuLinkAddData_v2: ["u64", "i32", "host", "u64", "text", "u32", "host", "host"],
  cuLinkComplete: ["u64", "host", "host"],
  cuLinkDestroy: ["u64"],
} as const satisfies Readonly<Record<string, readonly ArgumentType[]>>;

export type CallName = keyof typeof driverCalls;

type ValuesOf<Types extends readonly ArgumentType[]> = {
  readonly [Index in keyof Types]: ArgumentValues[Types[Index]];
};

export type CallArguments<Name extends CallName> = ValuesOf<(typeof driverCalls)[Name]>;

/** Attributes of a device, by CUdevice_attribute. */
export const deviceAttributes = {
  clockKilohertz: 13,
  multiprocessors: 16,
  memoryClockKilohertz: 36,
  memoryBusBits: 37,
  l2Bytes: 38,
  majorVersion: 75,
  minorVersion: 76,
  sharedBytesPerBlock: 97,
} as const;

/** Attributes of a kernel, by CUfunction_attribute. */
export const functionAttributes = {
  threadsPerBlock: 0,
  staticSharedBytes: 1,
  localBytes: 3,
  registers: 4,
  dynamicSharedBytes: 8,
  largeClusters: 14,
} as const;

/** Of CUresult, those that something here depends on. */
export const results = {
  success: 0,
  outOfMemory: 2,
  noDevice: 100,
  invalidDevice: 101,
  invalidImage: 200,
  noBinaryForGpu: 209,
  invalidPtx: 218,
  unsupportedPtxVersion: 222,
  notFound: 500,
  /** From here to 720, but for a few, a kernel went wrong, and the context is lost. */
  illegalAddress: 700,
  launchOutOfResources: 701,
  launchTimeout: 702,
  launchFailed: 719,
  systemDriverMismatch: 803,
} as const;
