/** @file Convolutions of one to three spatial axes, as implicit matrix products; their bias as the pass that it is. */
import { bytesOfCompute, type ComputeType, type Target } from "../hardware/target.ts";
import { maxOf } from "../ir/lists.ts";
import { type ConvWork, flopsOf, volume } from "../ops/work.ts";
import { computeTypeOn } from "./precision.ts";
import { type MemoryCoefficients, memoryTime, overlapped, type Rates, ratesOf, slowdownAt } from "./rates.ts";
import {
  alignmentBytes,
  alignmentClass,
  boundOf,
  formatFeature,
  log2,
  roundUp,
  type Sketch,
} from "./sketch.ts";
import { planTiles, type TileCoefficients, type TilePlan, tileFeatures } from "./tiles.ts";

/** "blocked": groups whose channels divide 64 or are multiples of it run as blocks of 64; "grouped": all others. */
export type ConvKind = "dense" | "pointwise" | "stem" | "blocked" | "grouped" | "depthwise";

const kinds = [
  "dense",
  "pointwise",
  "stem",
  "blocked",
  "grouped",
  "depthwise",
] as const satisfies readonly ConvKind[];

export interface ConvCoefficients extends MemoryCoefficients {
  readonly tiles: Readonly<Record<Exclude<ConvKind, "depthwise">, TileCoefficients>>;
  readonly launch: Readonly<Record<ConvKind, number>>;
  /** The bias pass: its floor, and its passes over the output against a plain one. */
  readonly bias: { readonly launch: number; readonly passes: number };
  /** A conversion of layout, channels first or padded: its floor, and its passes over input and output. */
  readonly convert: { readonly launch: number; readonly nchw: number; readonly odd: number };
  /** Operations a clock an SM, of kernels that load narrowly or gather. */
  readonly perClock: {
    /** Channels that start on 2 bytes, and on 4 or 8. */
    readonly odd: number;
    readonly even: number;
    readonly nchw: number;
    readonly nchwOdd: number;
    readonly pointwiseOdd: number;
    readonly pointwiseEven: number;
    readonly grouped: number;
    /** Channels that fill no 16-byte load. */
    readonly stem: number;
  };
  /** A kernel for each group costs this each, until a general kernel's floor (`launch.grouped`) is cheaper. */
  readonly groupLaunch: number;
  /** Of the CUDA cores' rate, what a depthwise kernel reaches: channels last, odd ones, at most 8, channels first. */
  readonly depthwise: {
    readonly nhwc: number;
    readonly odd: number;
    readonly few: number;
    readonly nchw: number;
  };
  readonly cudaShare: number;
}

interface ConvSizes {
  readonly type: ComputeType;
  readonly width: number;
  /** Rows of the implicit product: output positions of all images. */
  readonly m: number;
  readonly taps: number;
  readonly groups: number;
  readonly groupChannels: number;
  readonly groupFilters: number;
  readonly kind: ConvKind;
  readonly nchw: boolean;
  /** Of the positions that the kernel reads. */
  readonly inputBytes: number;
  readonly wholeInputBytes: number;
  readonly outputBytes: number;
  readonly weightBytes: number;
  /** Bytes that a position's channels start on, of the narrower of input and output. */
  readonly alignment: number;
}

export function sketchConv(
  work: ConvWork<number>,
  target: Target,
  c: ConvCoefficients,
  biased: boolean,
): Sketch {
  const type = computeTypeOn(work.dtype, target, "convolutions");
  const machine = ratesOf(target, type);
  const sizes = sizesOf(work, type);
  const { inputBytes, outputBytes, weightBytes, kind } = sizes;
  const bytes = inputBytes + outputBytes + weightBytes;
  const tensorCore = machine.tensorCore && kind !== "depthwise";
  const plan = planConv(sizes, machine, c);
  const compute = plan?.microseconds ?? depthwiseTime(sizes, machine, c);
  const memory = memoryTime(bytes, machine, c);
  const passes = conversionPasses(work, sizes, c);
  const conversion =
    passes > 0 ? c.convert.launch + memoryTime(sizes.wholeInputBytes + outputBytes, machine, c) * passes : 0;
  // A pass of its own over the output, on a stack that does not fuse it.
  const separate = biased && !target.stack.fuses.bias;
  const bias = separate ? c.bias.launch + memoryTime(2 * outputBytes, machine, c) * c.bias.passes : 0;
  const launch = launchOf(sizes, c);
  const microseconds = launch + overlapped(compute, memory) + conversion + bias;
  return {
    family: "conv",
    microseconds,
    bound: boundOf(compute, memory, launch, tensorCore, bytes < machine.l2Bytes),
    tensorCore,
    format: type,
    layout: sizes.nchw ? "nchw" : "nhwc",
    bytes,
    biasMicroseconds: bias,
    features: featuresOf(work, sizes, machine, plan, {
      microseconds,
      compute,
      memory,
      conversion,
      bias,
      aligned: planConv(alignedSizes(sizes), machine, c)?.microseconds ?? compute,
    }),
  };
}

function sizesOf(work: ConvWork<number>, type: ComputeType): ConvSizes {
  const width = bytesOfCompute(type);
  const { groups, channels, filters } = work;
  const positions = volume(work.output);
  const taps = volume(work.kernel);
  const touched = Math.min(volume(work.input), positions * taps);
  const groupChannels = channels / groups;
  const groupFilters = filters / groups;
  return {
    type,
    width,
    m: work.batch * positions,
    // Each output of a transposed convolution sees only the taps that its stride leaves.
    taps: work.transposed ? Math.max(1, taps / volume(work.strides)) : taps,
    groups,
    groupChannels,
    groupFilters,
    kind: kindOf(groups, groupChannels, groupFilters, taps),
    nchw: work.layout === "nchw" && positions > 1,
    inputBytes: work.batch * channels * touched * width,
    wholeInputBytes: work.batch * channels * volume(work.input) * width,
    outputBytes: work.batch * filters * positions * width,
    weightBytes: filters * groupChannels * taps * width,
    alignment: alignmentBytes(Math.min(alignmentBytes(channels * width), alignmentBytes(filters * width))),
  };
}

function kindOf(groups: number, groupChannels: number, groupFilters: number, taps: number): ConvKind {
  if (groups > 1 && groupChannels === 1) return "depthwise";
  if (groups > 1) {
    const fits = (channels: number) => channels % 64 === 0 || (channels >= 4 && 64 % channels === 0);
    return fits(groupChannels) && groupChannels === groupFilters ? "blocked" : "grouped";
  }
  if (groupChannels < 8) return "stem";
  return taps === 1 ? "pointwise" : "dense";
}

/** Undefined for depthwise kernels, which multiply on the CUDA cores. */
function planConv(sizes: ConvSizes, machine: Rates, c: ConvCoefficients): TilePlan | undefined {
  const { kind, m, taps, groups, groupChannels, groupFilters, width } = sizes;
  if (kind === "depthwise") return undefined;
  const block = kind === "blocked" ? Math.max(groupChannels, 64) : 0;
  const product =
    block > 0
      ? { batch: Math.ceil((groups * groupChannels) / block), m, n: block, k: block * taps, width }
      : { batch: groups, m, n: groupFilters, k: loadedChannels(groupChannels) * taps, width };
  const ofKind = c.tiles[kind];
  const coefficients = machine.tensorCore ? ofKind : { ...ofKind, peakShare: c.cudaShare };
  const slowdown = slowdownAt(perClockOf(sizes, c), coefficients.peakShare, machine);
  return planTiles(product, machine, coefficients, slowdown);
}

/** What a library computes with that copies channels to where rows are aligned; groups become blocks. */
function alignedSizes(sizes: ConvSizes): ConvSizes {
  const { kind, groupChannels, groupFilters } = sizes;
  const up = (channels: number) => roundUp(channels, kind === "stem" && channels <= 4 ? 4 : 8);
  const aligned = { ...sizes, nchw: false, alignment: 16 };
  if (kind !== "grouped")
    return { ...aligned, groupChannels: up(groupChannels), groupFilters: up(groupFilters) };
  const widest = Math.max(groupChannels, groupFilters, 4);
  const block = widest > 64 ? roundUp(widest, 64) : 2 ** Math.ceil(Math.log2(widest));
  return { ...aligned, kind: "blocked", groupChannels: block, groupFilters: block };
}

/** Kernels for few channels load 4 of them at once, others 8. */
function loadedChannels(groupChannels: number): number {
  return groupChannels <= 4 ? 4 : roundUp(groupChannels, 8);
}

/** The full rate for aligned channels that lie together. */
function perClockOf({ kind, alignment, nchw }: ConvSizes, { perClock }: ConvCoefficients): number {
  if (kind === "stem") return perClock.stem;
  if (kind === "grouped") return perClock.grouped;
  if (kind === "blocked") return Number.POSITIVE_INFINITY;
  const aligned = alignment >= 16;
  if (nchw && kind === "dense") return aligned ? perClock.nchw : perClock.nchwOdd;
  if (aligned) return Number.POSITIVE_INFINITY;
  if (kind === "dense") return alignment < 4 ? perClock.odd : perClock.even;
  return alignment < 4 ? perClock.pointwiseOdd : perClock.pointwiseEven;
}

function conversionPasses(
  work: ConvWork<number>,
  { kind, nchw, alignment }: ConvSizes,
  c: ConvCoefficients,
): number {
  // Products over [C, positions] need none, and depthwise kernels read either layout.
  const direct = kind === "depthwise" || (kind === "pointwise" && volume(work.strides) === 1);
  if (nchw) return direct ? 0 : c.convert.nchw;
  const padded = kind === "dense" || (kind === "pointwise" && !direct);
  return padded && alignment < 16 ? c.convert.odd : 0;
}

function depthwiseTime(sizes: ConvSizes, machine: Rates, { depthwise }: ConvCoefficients): number {
  const { m, groups, groupFilters, taps, nchw, alignment } = sizes;
  const ofLayout = nchw ? depthwise.nchw : groups <= 8 ? depthwise.few : depthwise.nhwc;
  const share = ofLayout * (alignment < 4 && !nchw ? depthwise.odd : 1);
  return (2 * m * groups * groupFilters * taps) / (machine.cudaFlops * share);
}

function launchOf({ kind, groups }: ConvSizes, c: ConvCoefficients): number {
  const launch = c.launch[kind];
  return kind === "grouped" ? Math.min(launch, c.launch.dense + groups * c.groupLaunch) : launch;
}

interface Terms {
  readonly microseconds: number;
  readonly compute: number;
  readonly memory: number;
  readonly conversion: number;
  readonly bias: number;
  /** `compute`, were the channels aligned. */
  readonly aligned: number;
}

function featuresOf(
  work: ConvWork<number>,
  sizes: ConvSizes,
  machine: Rates,
  plan: TilePlan | undefined,
  terms: Terms,
): number[] {
  const { m, taps, groups, groupChannels, groupFilters, width, inputBytes, outputBytes, weightBytes } = sizes;
  const bytes = inputBytes + outputBytes + weightBytes;
  const flops = flopsOf(work);
  return [
    log2(work.batch),
    log2(work.channels),
    log2(work.filters),
    log2(groups),
    log2(groupChannels),
    log2(groupFilters),
    log2(volume(work.output)),
    log2(taps),
    maxOf(work.kernel),
    log2(volume(work.strides)),
    work.kernel.length,
    work.transposed ? 1 : 0,
    sizes.nchw ? 1 : 0,
    kinds.indexOf(sizes.kind),
    formatFeature(sizes.type),
    terms.bias > 0 ? 1 : 0,
    log2(m),
    log2(groupChannels * taps),
    log2(flops),
    log2(bytes),
    log2(flops / bytes),
    log2(sizes.alignment),
    alignmentClass(work.channels * width),
    alignmentClass(work.filters * width),
    alignmentClass(groupChannels * width),
    alignmentClass(groupFilters * width),
    alignmentClass(volume(work.output) * width),
    alignmentClass(volume(work.input) * width),
    log2(terms.microseconds),
    log2(terms.compute / terms.memory),
    log2(inputBytes),
    log2(outputBytes),
    log2(weightBytes),
    log2(work.input.at(-1) ?? 1),
    groupChannels / roundUp(groupChannels, 32),
    groupChannels / roundUp(groupChannels, 64),
    groupFilters / roundUp(groupFilters, 32),
    groupFilters / roundUp(groupFilters, 64),
    groupFilters / roundUp(groupFilters, 128),
    ...tileFeatures({ batch: groups, m, n: groupFilters, k: groupChannels * taps, width }, machine.sms),
    plan?.tileM ?? 0,
    plan?.tileN ?? 0,
    log2(plan?.split ?? 1),
    log2(plan?.waves ?? 1),
    terms.bias / terms.microseconds,
    terms.conversion / terms.microseconds,
    log2(terms.compute),
    log2(terms.memory),
    log2(loadedChannels(groupChannels) * taps),
    (loadedChannels(groupChannels) * taps) / roundUp(loadedChannels(groupChannels) * taps, 64),
    groupChannels / loadedChannels(groupChannels),
    groupChannels,
    groupFilters,
    work.output.at(-1) ?? 1,
    m / roundUp(m, 128),
    log2(m / groupFilters),
    log2(inputBytes / outputBytes),
    log2((m * groupFilters * groups) / machine.sms),
    log2(terms.aligned),
    log2(terms.compute / terms.aligned),
    log2(terms.aligned / terms.memory),
    log2((sizes.wholeInputBytes + outputBytes) / (machine.dram * terms.aligned)),
  ];
}
