/** @file Operators whose outputs have the type and shape of one of their inputs. */
import { broadcastAxes } from "../axes.ts";
import { zeroPreserving } from "../elementwise/lanes.ts";
import { defineOp, type OpDefinition } from "../op.ts";
import { tensor, tensorAt } from "../shape.ts";
import type { TrafficPattern } from "../work.ts";
import { internalNhwc, microsoft } from "./domain.ts";

interface Row {
  readonly pattern: TrafficPattern;
  /** For each output the input it is like. Default: one output, like the first input. */
  readonly like?: readonly number[];
  readonly domain?: string;
  /** Lane by lane over operands that broadcast; zeros stay zeros. */
  readonly isLanewise?: true;
}

const rows: Readonly<Record<string, Row>> = {
  Gelu: { pattern: "elementwise", isLanewise: true },
  FastGelu: { pattern: "elementwise", isLanewise: true },
  QuickGelu: { pattern: "elementwise", isLanewise: true },
  BiasGelu: { pattern: "elementwise", isLanewise: true },
  BiasAdd: { pattern: "elementwise", isLanewise: true },
  GatedAdd: { pattern: "elementwise" },
  BiasSoftmax: { pattern: "normalization" },
  GroupNorm: { pattern: "normalization" },
  SkipGroupNorm: { pattern: "normalization", like: [0, 0] },
  GatedRMSNorm: { pattern: "normalization" },
  RotaryEmbedding: { pattern: "elementwise" },
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

function alike(type: string, { pattern, like = [0], domain = microsoft, isLanewise }: Row): OpDefinition {
  return defineOp({
    domain,
    type,
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
