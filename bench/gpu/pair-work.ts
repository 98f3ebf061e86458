/** @file Two products one behind another, as networks of batch 1 have them: what pair.ts times, and tests predict. */

import { type ActivationKind, type Epilogue, plainEpilogue } from "../../cuda-runtime/ir/epilogue.ts";
import type { PlanTarget } from "../../cuda-runtime/ir/step.ts";
import { permuted } from "../../cuda-runtime/ir/view.ts";
import { emitGemm } from "../../cuda-runtime/kernels/gemm/gemm.ts";
import { type GemmRequest, problemOf } from "../../cuda-runtime/kernels/gemm/problem.ts";
import type { PairOfProducts, PairWay } from "../../cuda-runtime/kernels/gemm-pair/pair.ts";
import { DraftOperands } from "../../cuda-runtime/plan/draft-operands.ts";
import type { Operands } from "./operations.ts";

export interface PairShape {
  readonly m: number;
  readonly k: number;
  readonly n: number;
  readonly n2: number;
  /** Of both: before a residual, or as its limit behind it. */
  readonly kinds: readonly [ActivationKind, ActivationKind];
  readonly residuals: readonly [boolean, boolean];
  readonly isKept: boolean;
}

function shape(
  [m, k, n, n2]: readonly [number, number, number, number],
  kinds: PairShape["kinds"],
  residuals: PairShape["residuals"],
  isKept: boolean,
): PairShape {
  return { m, k, n, n2, kinds, residuals, isKept };
}

/** A residual's end, and the next block's beginning. */
const bottleneck = (m: number, k: number, n: number, n2: number) =>
  shape([m, k, n, n2], ["relu", "relu"], [true, false], true);
/** A projection, and the next block's expansion. */
const inverted = (m: number, k: number, n: number, n2: number, isKept = true) =>
  shape([m, k, n, n2], ["none", "clip"], [isKept, false], isKept);
/** Up and down again. */
const mlp = (m: number, k: number, n: number) => shape([m, k, n, k], ["gelu", "none"], [false, true], false);

export const shapes: readonly PairShape[] = [
  bottleneck(3136, 64, 256, 64),
  bottleneck(3136, 64, 256, 128),
  bottleneck(784, 128, 512, 128),
  bottleneck(784, 128, 512, 256),
  bottleneck(196, 256, 1024, 256),
  bottleneck(196, 256, 1024, 512),
  bottleneck(49, 512, 2048, 512),
  bottleneck(196, 512, 1024, 512),
  bottleneck(784, 256, 512, 256),
  inverted(12544, 32, 16, 96, false),
  inverted(3136, 96, 24, 144, false),
  inverted(3136, 144, 24, 144),
  inverted(784, 144, 32, 192, false),
  inverted(784, 192, 32, 192),
  inverted(196, 192, 64, 384, false),
  inverted(196, 384, 64, 384),
  inverted(196, 384, 96, 576, false),
  inverted(196, 576, 96, 576),
  inverted(49, 576, 160, 960, false),
  inverted(49, 960, 160, 960),
  inverted(784, 240, 40, 240),
  inverted(196, 672, 112, 672),
  mlp(197, 192, 768),
  mlp(3136, 96, 384),
  mlp(784, 192, 768),
  mlp(196, 384, 1536),
  mlp(256, 144, 288),
  mlp(64, 240, 480),
];

const numbers: Readonly<Partial<Record<ActivationKind, readonly [number, number]>>> = {
  clip: [0, 6],
};

function epilogueOf(
  set: Operands,
  kind: ActivationKind,
  residual: boolean,
  sizes: readonly [number, number],
): Epilogue {
  const [a, b] = numbers[kind] ?? [0, 0];
  const activation = { kind, a, b };
  const bias = set.tensor("constant", "float32", [sizes[1]], 3);
  if (!residual) return { ...plainEpilogue, bias, activation };
  const added = set.tensor("input", "float16", sizes, 4);
  return {
    ...plainEpilogue,
    bias,
    residual: added,
    ...(kind === "relu" ? { last: activation } : { activation }),
  };
}

export function requestsOf(
  set: Operands,
  { m, k, n, n2, kinds, residuals }: PairShape,
): [GemmRequest, GemmRequest] {
  const x = set.tensor("input", "float16", [m, k], 1);
  const weights = (columns: number, depth: number, seed: number) =>
    permuted(set.tensor("constant", "float16", [columns, depth], seed), [1, 0]);
  const between = set.output("float16", [m, n]);
  const first = {
    a: x,
    b: weights(n, k, 2),
    to: between,
    epilogue: epilogueOf(set, kinds[0], residuals[0], [m, n]),
  };
  const to = set.output("float16", [m, n2]);
  const second = {
    a: between,
    b: weights(n2, n, 5),
    to,
    epilogue: epilogueOf(set, kinds[1], residuals[1], [m, n2]),
  };
  return [first, second];
}

export function pairOf(
  [first, second]: readonly [GemmRequest, GemmRequest],
  isKept: boolean,
): PairOfProducts {
  return {
    first: { problem: problemOf(first), isAhead: true },
    second: { problem: problemOf(second), isAhead: true },
    isKept,
  };
}

/** As rows of the table name it. */
export function sizeOf({ m, k, n, n2, kinds, residuals }: PairShape): string {
  return `${m}x${k}x${n}x${n2} ${kinds.join(" ")}${residuals[0] ? " residual" : ""}`;
}

/** What two launches take of it, as they are predicted. */
export function apartMicroseconds(shape: PairShape, target: PlanTarget): number {
  const draft = new DraftOperands(target);
  for (const request of requestsOf(draft, shape)) emitGemm(draft.emitter, request);
  const launches = draft.actions().map((action) => (action.kind === "launch" ? action.launch : undefined));
  return launches.reduce((sum, launch) => sum + (launch?.predictedMicroseconds ?? 0), 0);
}

export function nameOf({ row, team, parts }: PairWay): string {
  return `${row.tile}${team > 1 ? ` team ${team}` : ` parts ${parts}`}`;
}
