/** @file Layer normalizations as ONNX Runtime's optimizer writes them, with the addition before them fused in. */
import { sizeOfAxis } from "../../ir/axis.ts";
import { type Dim, product, type Shape, unknownDim } from "../../ir/dim.ts";
import type { DType } from "../../ir/dtype.ts";
import { type AxisContext, broadcastOf, type Lane, type LaneContext, unknownLane } from "../axes.ts";
import { finiteIfKnown, joinLanes, normalized, operandLane } from "../lanes.ts";
import { rowAxes, statisticsAxes } from "../normalization/channels.ts";
import { epsilonOf, isDivisor, normalizedLanes } from "../normalization/epsilon.ts";
import { defineOp, type OpContext, type OpDefinition } from "../op.ts";
import { dimAt, requireRank, sharedOr } from "../product/operands.ts";
import { normalizeAxis, tensor, tensorAt } from "../shape.ts";
import { rowTraffic } from "../traffic.ts";
import { computed, computes, half, type Traits } from "../traits.ts";
import { microsoft } from "./domain.ts";

/** Mean and inverse deviation are kept in float, whatever the data are. */
const statisticsType: DType = "float32";

/** x, skip, gamma, …; gives y, mean, inverse deviation, and the sum before normalization over the last axis. */
function skipNormalization(type: string): OpDefinition {
  return defineOp({
    domain: microsoft,
    type,
    traits: computes(half(1, undefined, { outputs: { 1: "float", 2: "float" } })),
    work(context) {
      const { shape } = tensorAt(context, 0);
      return rowTraffic(context, "normalization", shape && product(shape.slice(0, -1)), shape?.at(-1));
    },
    infer(context) {
      const { dtype, shape } = tensorAt(context, 0);
      requireGamma(context, 2);
      const statistics = tensor(statisticsType, reduced(shape, -1));
      return [tensor(dtype, shape), statistics, statistics, tensor(dtype, shape)];
    },
    axes: skipAxes,
    lanes: skipLane,
  });
}

/** x, scale, and a bias unless simplified; gives y, and the statistics. */
function layerNormalization(domain: string, type: string, statistics: number, traits: Traits): OpDefinition {
  return defineOp({
    domain,
    type,
    traits,
    traffic: "normalization",
    infer(context) {
      const { dtype, shape } = tensorAt(context, 0);
      const kept = tensor(statisticsType, reduced(shape, context.int("axis") ?? -1));
      const y = tensor(tensorAt(context, 1).dtype ?? dtype, shape);
      return [y, ...new Array<typeof kept>(statistics).fill(kept)];
    },
    axes(context) {
      const first = normalizeAxis(context.int("axis") ?? -1, tensorAt(context, 0).shape?.length ?? 1);
      rowAxes(context, first, [1, 2]);
      statisticsAxes(context, first, [1, 2].slice(0, statistics));
    },
    lanes: normalizedLanes,
  });
}

/** Rows of two tensors, added; the sum is the fourth output. */
function skipAxes(context: AxisContext): void {
  const [x, skip] = [context.axesOf(0), context.axesOf(1)];
  if (x === undefined || skip === undefined) return context.blockAll("has operands of unknown sizes");
  broadcastOf(context, [x, skip]);
  const last = x.length - 1;
  context.takeTrue(1, skip.length - 1, normalizes);
  rowAxes(context, last, [2, 3, 4]);
  statisticsAxes(context, last, [1, 2]);
  context.setAxes(
    3,
    x.with(last, context.giveTrue(sizeOfAxis(x[last] ?? context.solver.atom(1)), normalizes)),
  );
}

const normalizes = "normalizes over it";

/** Rows of zeros added are divided by the root of epsilon; the sum itself, output 3, is not divided. */
function skipLane(context: LaneContext, output: number): Lane {
  const sum = finiteIfKnown(joinLanes([operandLane(context, 0), operandLane(context, 1)]));
  if (output === 3) return sum;
  return isDivisor(context, epsilonOf(context, 1e-12)) ? normalized(sum) : unknownLane;
}

function reduced(shape: Shape | undefined, axis: number): Shape | undefined {
  if (shape === undefined || shape.length === 0) return shape;
  const from = normalizeAxis(axis, shape.length);
  return shape.map((dim, at) => (at < from ? dim : 1));
}

function requireGamma(context: OpContext, at: number): void {
  const gamma = tensorAt(context, at);
  requireRank(gamma, [1], "gamma");
  sharedOr("hidden size of input and gamma", dimAt(tensorAt(context, 0).shape, -1), dimAt(gamma.shape, 0));
}

/**
 * input ids [B,S], segment ids, word / position / segment tables [·,hidden], gamma, beta, mask, position ids;
 * gives the embedding [B,S,hidden], the mask index [B], and the sum before normalization.
 */
const embedLayerNormalization = defineOp({
  domain: microsoft,
  type: "EmbedLayerNormalization",
  traits: {
    elements: "computed",
    half: half(1, undefined),
    layout: "fixed",
    uses: {
      0: { kind: "index", table: 2, axis: "first" },
      1: { kind: "index", table: 4, axis: "first" },
      7: { kind: "mask" },
    },
  },
  traffic: "normalization",
  infer(context) {
    const ids = tensorAt(context, 0);
    const word = tensorAt(context, 2);
    requireRank(ids, [2], "input ids");
    requireRank(word, [2], "word embedding");
    const [batch, length]: readonly Dim[] = ids.shape ?? [unknownDim(), unknownDim()];
    const hidden = sharedOr(
      "hidden size",
      dimAt(word.shape, 1),
      dimAt(tensorAt(context, 3).shape, 1),
      dimAt(tensorAt(context, 5).shape, 0),
    );
    const embedded = tensor(word.dtype, [batch ?? unknownDim(), length ?? unknownDim(), hidden]);
    return [embedded, tensor("int32", [batch ?? unknownDim()]), embedded];
  },
});

export const normalizationOps: readonly OpDefinition[] = [
  skipNormalization("SkipLayerNormalization"),
  skipNormalization("SkipSimplifiedLayerNormalization"),
  layerNormalization(microsoft, "LayerNormalization", 2, computed),
  layerNormalization(microsoft, "SimplifiedLayerNormalization", 1, computed),
  // ONNX Runtime's optimizer writes it into the standard domain, which does not define it.
  layerNormalization(
    "",
    "SimplifiedLayerNormalization",
    1,
    computes(half(1, 17, { outputs: { 1: "float" } })),
  ),
  embedLayerNormalization,
];
