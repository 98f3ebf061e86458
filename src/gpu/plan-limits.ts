/** @file Whether a plan has a place to run, and the largest size that has: told before anything is drawn. */
import { type Plan, PlanError, type PlanPort, PlanSizeError } from "../../cuda-runtime/ir/step.ts";
import { bytesOfPort, type MemoryUse, memoryUseOf, peakBytesOf } from "../../cuda-runtime/session/memory.ts";
import { InputError } from "../ir/errors.ts";
import { bytesText } from "../ir/memory.ts";
import { isBatchSymbol } from "../ir/symbols.ts";
import type { OpenModel } from "../onnx/open.ts";
import type { GivenSizes } from "../verify/sizes.ts";
import type { Bindings } from "../verify/use.ts";

/** What one array of bytes holds in this process: an input or an output is one. */
const maxPortBytes = 2 ** 32;

export interface PlanLimits {
  /** Of the GPU; undefined where none is known. */
  readonly memoryBytes: number | undefined;
}

/** How much of what there is a plan takes, and what is wrong where that is more than all. */
interface Fit {
  readonly share: number;
  readonly excess: string | undefined;
}

/** Parts of a model are loaded beside each other. */
function fitOf(plans: readonly Plan[], { memoryBytes }: PlanLimits): Fit {
  let largest: PlanPort | undefined;
  for (const ports of plans.flatMap(({ inputs, outputs }) => [inputs, outputs]))
    for (const port of ports)
      if (largest === undefined || bytesOfPort(port) > bytesOfPort(largest)) largest = port;
  const portShare = largest === undefined ? 0 : bytesOfPort(largest) / maxPortBytes;
  const memory =
    memoryBytes === undefined
      ? undefined
      : memoryFit(plans.map(memoryUseOf).reduce(both, nothing), memoryBytes);
  const share = Math.max(portShare, memory?.share ?? 0);
  if (largest !== undefined && portShare > 1) return { share, excess: portExcess(plans, largest) };
  return { share, excess: memory?.excess };
}

const nothing: MemoryUse = {
  constantBytes: 0,
  inputBytes: 0,
  outputBytes: 0,
  arenaBytes: 0,
  loadBytes: 0,
};

function both(a: MemoryUse, b: MemoryUse): MemoryUse {
  return {
    constantBytes: a.constantBytes + b.constantBytes,
    inputBytes: a.inputBytes + b.inputBytes,
    outputBytes: a.outputBytes + b.outputBytes,
    arenaBytes: a.arenaBytes + b.arenaBytes,
    loadBytes: Math.max(a.loadBytes, b.loadBytes),
  };
}

function memoryFit(use: MemoryUse, memoryBytes: number): Fit {
  const share = peakBytesOf(use) / memoryBytes;
  return { share, excess: share > 1 ? memoryExcess(use, memoryBytes) : undefined };
}

function memoryExcess(use: MemoryUse, memoryBytes: number): string {
  const parts = [
    `weights ${bytesText(use.constantBytes)}`,
    `inputs ${bytesText(use.inputBytes)}`,
    `outputs ${bytesText(use.outputBytes)}`,
    `arena of activations ${bytesText(Math.max(use.arenaBytes, use.loadBytes))}`,
  ];
  const found = `the plan takes ${bytesText(peakBytesOf(use))} (${parts.join(", ")})`;
  return `${found}; the GPU has ${bytesText(memoryBytes)} free`;
}

function portExcess(plans: readonly Plan[], port: PlanPort): string {
  const { shape, type } = port.view;
  const role = plans.some(({ inputs }) => inputs.includes(port)) ? "input" : "output";
  const size = `${role} "${port.name}" (${type}[${shape.join(",")}]) takes ${bytesText(bytesOfPort(port))}`;
  return `${size}; one array holds up to ${bytesText(maxPortBytes)}`;
}

/**
 * The plan at these sizes. Throws InputError `plan-too-large` where it does not fit, with the largest size of the symbol
 * at fault (of those that the user gave) that does: found by planning at others.
 */
export function planWithin<Planned extends { readonly plans: readonly Plan[] }>(
  model: OpenModel,
  given: GivenSizes,
  sizes: Bindings,
  limits: PlanLimits,
  planAt: (sizes: Bindings) => Planned,
): Planned {
  const { planned, excess } = sized(limits, () => planAt(sizes));
  if (planned !== undefined && excess === undefined) return planned;
  const symbol = symbolToBlame(model, given, sizes);
  const trial = (size: number) => shareAt(limits, () => planAt(new Map(sizes).set(symbol ?? "", size)));
  const advice = symbol === undefined ? "" : `; ${adviceFor(symbol, sizes, trial)}`;
  throw new InputError("plan-too-large", `${model.path}: ${excess}${advice}`);
}

interface Sized<Planned> extends Fit {
  /** Undefined where there is no plan of that size at all. */
  readonly planned: Planned | undefined;
}

function sized<Planned extends { readonly plans: readonly Plan[] }>(
  limits: PlanLimits,
  plan: () => Planned,
): Sized<Planned> {
  try {
    const planned = plan();
    return { ...fitOf(planned.plans, limits), planned };
  } catch (error) {
    if (!(error instanceof PlanSizeError)) throw error;
    return { share: Number.POSITIVE_INFINITY, excess: error.message, planned: undefined };
  }
}

/** At most 1 where a plan of the size fits; infinite where the model does not take it. */
function shareAt(limits: PlanLimits, plan: () => { readonly plans: readonly Plan[] }): number {
  try {
    return sized(limits, plan).share;
  } catch (error) {
    if (error instanceof InputError || error instanceof PlanError) return Number.POSITIVE_INFINITY;
    throw error;
  }
}

/** Of the sizes that the user gave, the number of samples, else the largest. */
function symbolToBlame(model: OpenModel, given: GivenSizes, sizes: Bindings): string | undefined {
  const names = Object.keys(given).filter((name) => (sizes.get(name) ?? 0) > 1);
  const [largest] = names.toSorted((a, b) => (sizes.get(b) ?? 0) - (sizes.get(a) ?? 0));
  return names.find((name) => isBatchSymbol(model, name)) ?? largest;
}

function adviceFor(symbol: string, sizes: Bindings, shareOf: (size: number) => number): string {
  const { size, isLargest } = largestThatFits(sizes.get(symbol) ?? 1, shareOf);
  if (size === 0) return `nor does ${symbol}=1 fit`;
  return `${symbol}=${size} fits${isLargest ? `, ${symbol}=${size + 1} does not` : ""}`;
}

/** Plans that are made to find a size. Memory grows nearly in proportion: a straight line hits it, halving has the rest. */
const maxTrials = 40;
/** Guesses along a line that may miss before halves are taken. */
const maxGuesses = 6;

/** Below `tooMuch`, which does not fit. Exported for its test. */
export function largestThatFits(
  tooMuch: number,
  shareOf: (size: number) => number,
): { readonly size: number; readonly isLargest: boolean } {
  let [fits, high] = [0, tooMuch];
  let line: { readonly size: number; readonly share: number }[] = [];
  for (let trial = 0; trial < maxTrials && high - fits > 1; trial++) {
    const size = Math.min(high - 1, Math.max(fits + 1, nextSize(trial, fits, high, line)));
    const share = shareOf(size);
    if (Number.isFinite(share)) line = [...line.slice(-1), { size, share }];
    if (share <= 1) fits = size;
    else high = size;
    if (size === 1 && fits === 0) break;
  }
  return { size: fits, isLargest: high - fits === 1 };
}

function nextSize(
  trial: number,
  fits: number,
  high: number,
  line: readonly { readonly size: number; readonly share: number }[],
): number {
  const [a, b] = line;
  if (trial < 2) return trial + 1;
  const slope = a === undefined || b === undefined ? 0 : (b.share - a.share) / (b.size - a.size);
  if (trial >= maxGuesses || b === undefined || !(slope > 0)) return Math.floor((fits + high) / 2);
  const guess = Math.floor(b.size + (1 - b.share) / slope);
  // What has just been found to fit is asked about from above.
  return guess === fits ? fits + 1 : guess;
}
