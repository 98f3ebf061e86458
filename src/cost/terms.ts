/** @file The analytic terms of any work: which family's, with which coefficients. */
import { lacksConvolutions } from "../hardware/ort-kernels.ts";
import { choosesLayout } from "../hardware/stacks.ts";
import type { Target } from "../hardware/target.ts";
import type { TrafficVariant, Work } from "../ops/work.ts";
import { type AttentionCoefficients, sketchAttention } from "./attention.ts";
import { type ConvCoefficients, sketchConv } from "./conv.ts";
import { type GemmCoefficients, sketchGemm } from "./gemm.ts";
import { computeDtype } from "./precision.ts";
import { type RecurrentCoefficients, sketchRecurrent } from "./recurrent.ts";
import { roundUp, type Sketch } from "./sketch.ts";
import {
  sketchTraffic,
  type TrafficCoefficients,
  termsOf,
  type WalkCoefficients,
  walkOf,
} from "./traffic.ts";

export interface Coefficients {
  readonly gemm: GemmCoefficients;
  readonly conv: ConvCoefficients;
  readonly attention: AttentionCoefficients;
  readonly traffic: TrafficCoefficients;
  readonly walk: WalkCoefficients;
  readonly recurrent: RecurrentCoefficients;
}

/** What the work alone does not say. */
export interface WorkDetail {
  /** Of a convolution: whether it has a bias to add. Default true. */
  readonly biased?: boolean | undefined;
  /** Of traffic: the operator. Default: known by its pattern only. */
  readonly variant?: TrafficVariant | undefined;
}

export function sketch(
  asked: Work<number>,
  target: Target,
  c: Coefficients,
  detail: WorkDetail = {},
): Sketch {
  const work = asChosen(target.stack.padsInside ? paddedInside(asked, target) : asked, target);
  switch (work.kind) {
    case "gemm":
      return sketchGemm(work, target, c.gemm);
    case "conv":
      return sketchConv(work, target, c.conv, detail.biased ?? true);
    case "attention":
      return sketchAttention(work, target, c.attention);
    case "recurrent":
      return sketchRecurrent(work, target, c.recurrent);
    case "traffic": {
      const { variant } = detail;
      const terms =
        variant === undefined ? termsOf(c.walk, walkOf(work, target)) : termsOf(c.traffic, variant);
      return sketchTraffic(work, target, terms, variant);
    }
  }
}

/**
 * Where the stack chooses layouts, the file's costs nothing but conversions at the model's borders, which are small. What layouts make of FP64 was never
 * measured. Where the stack has no kernel of it in NHWC, as BF16's on ONNX Runtime, nothing is turned.
 */
function asChosen(work: Work<number>, { stack, precision }: Target): Work<number> {
  if (work.kind !== "conv") return work;
  if (lacksConvolutions(stack.inPart[computeDtype(work.dtype, precision)])) return work;
  return choosesLayout(stack, work.kernel.length) || computeDtype(work.dtype, "as-is") === "fp64"
    ? { ...work, layout: "nhwc" }
    : work;
}

/** The sizes a stack computes with that pads by itself. A stem of up to 4 channels has kernels of its own. */
function paddedInside(work: Work<number>, { stack, precision }: Target): Work<number> {
  const step = stack.alignment[computeDtype(work.dtype, precision)];
  const up = (size: number) => roundUp(size, step);
  if (work.kind === "gemm") return { ...work, n: up(work.n), k: up(work.k) };
  if (work.kind !== "conv" || work.groups > 1) return work;
  return {
    ...work,
    channels: work.channels <= 4 ? work.channels : up(work.channels),
    filters: up(work.filters),
  };
}
