/** @file One row an architecture: which instructions its multiprocessors have, and what share of a rate these reach. */

export type ArchitectureName =
  | "volta"
  | "turing"
  | "ampere"
  | "ampere-graphics"
  | "ada"
  | "hopper"
  | "blackwell"
  | "blackwell-graphics";

/** What kernels and the PTX of chains ask for. */
export interface Features {
  /** mma.sync of float16 with 8 along k; of bfloat16; of TF32. */
  readonly half: boolean;
  readonly bf16: boolean;
  readonly tf32: boolean;
  /** cvt.rn of two floats, and to bfloat16; min and max that keep a NaN. */
  readonly packedConversion: boolean;
  readonly nanExtremes: boolean;
  /** Programmatic dependent launch. */
  readonly overlap: boolean;
  /** Clusters of blocks that read each other's shared memory. */
  readonly clusters: boolean;
  /** wgmma, and with it TMA's tiles: one architecture's, later ones do not have it. */
  readonly wgmma: boolean;
  /** mma.sync of 8-bit integers; of 8-bit floats. */
  readonly int8: boolean;
  readonly float8: boolean;
}

export interface Architecture {
  readonly name: ArchitectureName;
  /** From this compute capability on, until the next row's: "9.0" is 90. */
  readonly from: number;
  readonly features: Features;
  /** What PTX is written in, for every architecture from this one on. */
  readonly ptx: { readonly version: string; readonly target: string };
  /** FP32 multiply-adds of one multiprocessor in a clock: its CUDA cores. */
  readonly cores: number;
  /** That one multiprocessor holds. */
  readonly threads: number;
  /** Of a multiprocessor's shared memory, what each block loses to the driver. */
  readonly reservedSharedBytes: number;
  /** Of the data sheet's Tensor Core rate, what the best loop over this instruction reaches; 0 where there is none. */
  readonly shares: { readonly mma: number; readonly wgmma: number };
  /** Bytes from L2 through TMA over those of cp.async: tiles are asked for once, not by each thread. */
  readonly copyEngine: number;
}

const none: Features = {
  half: false,
  bf16: false,
  tf32: false,
  packedConversion: false,
  nanExtremes: false,
  overlap: false,
  clusters: false,
  wgmma: false,
  int8: false,
  float8: false,
};
const turing: Features = { ...none, half: true, int8: true };
const ampere: Features = {
  ...turing,
  bf16: true,
  tf32: true,
  packedConversion: true,
  nanExtremes: true,
};
const ada: Features = { ...ampere, float8: true };
const overlapping: Features = { ...ada, overlap: true, clusters: true };

const oldPtx = { version: "7.0", target: "sm_75" };
const amperePtx = { version: "7.0", target: "sm_80" };
const hopperPtx = { version: "7.8", target: "sm_90" };

const plain = { shares: { mma: 1, wgmma: 0 }, copyEngine: 1 };

/**
 * By compute capability, ascending. Hopper's shares are those of an H200: mma.sync reaches 62 % there (arXiv 2402.13499),
 * the wgmma loops of this runtime 88 %. What mma.sync reaches on data centre Blackwell is an estimate.
 */
const rows: readonly Architecture[] = [
  {
    name: "volta",
    from: 70,
    features: none,
    ptx: oldPtx,
    cores: 64,
    threads: 2048,
    reservedSharedBytes: 0,
    ...plain,
  },
  {
    name: "turing",
    from: 75,
    features: turing,
    ptx: oldPtx,
    cores: 64,
    threads: 1024,
    reservedSharedBytes: 0,
    ...plain,
  },
  {
    name: "ampere",
    from: 80,
    features: ampere,
    ptx: amperePtx,
    cores: 64,
    threads: 2048,
    reservedSharedBytes: 1024,
    ...plain,
  },
  {
    ...{ name: "ampere-graphics", from: 86, features: ampere, ptx: amperePtx },
    ...{ cores: 128, threads: 1536, reservedSharedBytes: 1024, ...plain },
  },
  {
    name: "ada",
    from: 89,
    features: ada,
    ptx: amperePtx,
    cores: 128,
    threads: 1536,
    reservedSharedBytes: 1024,
    ...plain,
  },
  {
    ...{ name: "hopper", from: 90, features: { ...overlapping, wgmma: true }, ptx: hopperPtx },
    ...{ cores: 128, threads: 2048, reservedSharedBytes: 1024 },
    ...{ shares: { mma: 0.6204, wgmma: 0.88 }, copyEngine: 1.731 },
  },
  {
    ...{ name: "blackwell", from: 100, features: overlapping, ptx: hopperPtx },
    ...{ cores: 128, threads: 2048, reservedSharedBytes: 1024 },
    ...{ shares: { mma: 0.265, wgmma: 0 }, copyEngine: 1 },
  },
  {
    ...{ name: "blackwell-graphics", from: 120, features: overlapping, ptx: hopperPtx },
    ...{ cores: 128, threads: 1536, reservedSharedBytes: 1024, ...plain },
  },
];

/** The kernels' oldest: the first whose Tensor Cores they can use. */
export const oldestCapability = 75;

/** The row of a compute capability, "9.0" as 90; the oldest for what came before it. */
export function architectureOf(computeCapability: number): Architecture {
  const found = rows.findLast(({ from }) => from <= computeCapability) ?? rows[0];
  if (found === undefined) throw new Error("tc-lint bug: no architectures");
  return found;
}

/** Why the kernels do not run on a GPU; undefined where they do. `computeCapability`: 9.0 as 90. */
export function whyUnsupported(name: string, computeCapability: number): string | undefined {
  if (isSupported(computeCapability)) return undefined;
  const [own, oldest] = [computeCapability, oldestCapability].map((each) => (each / 10).toFixed(1));
  return `${name} has compute capability ${own}; the kernels need ${oldest} or later`;
}

/** Whether the kernels run there at all. */
export function isSupported(computeCapability: number): boolean {
  return computeCapability >= oldestCapability;
}

/** "9.0" as 90. */
export function capabilityOf({ computeCapability }: { readonly computeCapability: string }): number {
  return Math.round(10 * Number(computeCapability));
}
