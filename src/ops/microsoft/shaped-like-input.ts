/** @file Operators whose outputs have the type and shape of one of their inputs. */
import { broadcastAxes } from "../axes.ts";
import { zeroPreserving } from "../elementwise/lanes.ts";
import { defineOp, type OpDefinition } from "../op.ts";
import { tensor, tensorAt } from "../shape.ts";
import { computed, computes, half, type Traits } from "../traits.ts";
import type { TrafficPattern } from "../work.ts";
import { internalNhwc, microsoft } from "./domain.ts";

interface Row {
  /** Default: in FP32, in the layout that it knows. */
  readonly traits?: Traits;
  readonly pattern: TrafficPattern;
  /** For each output the input it is like. Default: one output, like the first input. */
  readonly like?: readonly number[];
  readonly domain?: string;
  /** Lane by lane over operands that broadcast; zeros stay zeros. */
  readonly isLanewise?: true;
}

const rows: Readonly<Record<string, Row>> = {
  Gelu: { traits: computes(half(1, undefined)), pattern: "elementwise", isLanewise: true },
  FastGelu: { traits: computes(half(1, 1)), pattern: "elementwise", isLanewise: true },
  QuickGelu: { traits: computes(half(1, undefined)), pattern: "elementwise", isLanewise: true },
  BiasGelu: { traits: computes(half(1, 1)), pattern: "elementwise", isLanewise: true },
  BiasAdd: { traits: computes(half(1, undefined)), pattern: "elementwise", isLanewise: true },
  GatedAdd: { pattern: "elementwise" },
  BiasSoftmax: { pattern: "normalization" },
  GroupNorm: { pattern: "normalization" },
  SkipGroupNorm: { pattern: "normalization", like: [0, 0] },
  GatedRMSNorm: { pattern: "normalization" },
  RotaryEmbedding: {
    traits: computes(half(1, 1), { uses: { 1: { kind: "index", table: 2, axis: "first" } } }),
    pattern: "elementwise",
  },
  MRotaryEmbedding: { pattern: "elementwise" },
  // emb, q, q_rot, k, k_rot.
  GemmaRotaryEmbedding: { pattern: "elementwise", like: [1, 3] },
  // a, dt_bias, decay_scale, b.
  LinearAttentionGate: { pattern: "elementwise", like: [0, 0] },
  QLinearSigmoid: { pattern: "elementwise" },
  QLinearLeakyRelu: { pattern: "elementwise" },
  QLinearSoftmax: { pattern: "normalization" },
  Trilu: { pattern: "elementwise" },
  Inverse: { pattern: "copy" },
  // input_ids, scores.
  NGramRepeatBlock: { pattern: "elementwise", like: [1] },
  EngramGate: { pattern: "normalization", like: [0, 0] },
  SampleOp: { pattern: "elementwise" },
};

/** Operators of ONNX before 1.5 that ONNX Runtime still runs, and channels-last forms of ai.onnx. */
const elsewhere: readonly (Row & { readonly type: string })[] = [
  { domain: "", type: "ImageScaler", pattern: "elementwise" },
  { domain: internalNhwc, type: "BatchNormalization", pattern: "elementwise" },
  { domain: internalNhwc, type: "InstanceNormalization", pattern: "normalization" },
  { domain: internalNhwc, type: "LRN", pattern: "normalization" },
];

function alike(
  type: string,
  { traits = computed, pattern, like = [0], domain = microsoft, isLanewise }: Row,
): OpDefinition {
  return defineOp({
    domain,
    type,
    traits,
    traffic: pattern,
    ...(isLanewise === true && { axes: broadcastAxes, lanes: zeroPreserving }),
    infer: (context) =>
      like.map((input) => {
        const { dtype, shape } = tensorAt(context, input);
        return tensor(dtype, shape);
      }),
  });
}

export const alikeOps: readonly OpDefinition[] = [
  ...Object.entries(rows).map(([type, row]) => alike(type, row)),
  ...elsewhere.map((row) => alike(row.type, row)),
];
