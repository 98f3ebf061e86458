/**
 * @file MoE and QMoE: input [tokens, hidden] or [B,S,hidden], router [tokens, experts], then the experts' weights.
 *
 * Weights are [experts, columns, hidden / pack] and [experts, hidden, inner / pack]; pack is 1 unless quantized.
 */
import { ceilDivDims, type Dim, floorDivDims, minDims, mulDims, product, type Shape } from "../../ir/dim.ts";
import { defineOp, type OpContext, type OpDefinition } from "../op.ts";
import { dimAt, multiplyType, sharedOr } from "../product/operands.ts";
import { asTensor, tensor, tensorAt } from "../shape.ts";
import { computed } from "../traits.ts";
import type { GemmWork } from "../work.ts";
import { microsoft } from "./domain.ts";

interface Positions {
  readonly fc1: number;
  readonly fc2: number;
  readonly fc3: number;
}

function moe(type: string, at: Positions): OpDefinition {
  return defineOp({
    domain: microsoft,
    type,
    traits: computed,
    product: true,
    infer(context) {
      const { dtype, shape } = tensorAt(context, 0);
      return [tensor(dtype, shape)];
    },
    work: (context) => expertWork(context, at),
  });
}

export const moeOps: readonly OpDefinition[] = [
  moe("MoE", { fc1: 2, fc2: 4, fc3: 6 }),
  moe("QMoE", { fc1: 2, fc2: 5, fc3: 8 }),
];

/** The products of the experts that `k` choices a token reach, tokens spread evenly over them. */
function expertWork(context: OpContext, at: Positions): readonly GemmWork[] | undefined {
  const { dtype, shape } = tensorAt(context, 0);
  const computeType = multiplyType(dtype);
  const hidden = dimAt(shape, -1);
  const [fc1, fc2, fc3] = [at.fc1, at.fc2, at.fc3].map((input) => asTensor(context.inputs[input]).shape);
  const columns = dimAt(fc1, 1);
  if (computeType === undefined || shape === undefined || hidden === undefined) return undefined;
  if (columns === undefined || fc2 === undefined) return undefined;
  const experts = sharedOr("experts", dimAt(tensorAt(context, 1).shape, -1), dimAt(fc1, 0), dimAt(fc2, 0));
  const choices = mulDims(product(shape.slice(0, -1)), context.int("k") ?? 1);
  const reached = minDims(experts, choices);
  if (reached === 0) return [];
  const rows = ceilDivDims(choices, reached);
  const gemm = (n: Dim, k: Dim): GemmWork => ({
    kind: "gemm",
    batch: reached,
    m: rows,
    n,
    k,
    transA: false,
    transB: true,
    sharedB: false,
    dtype: computeType,
  });
  const inner = innerSize(context, columns, fc3);
  const gate = fc3 === undefined ? [] : [gemm(inner, hidden)];
  return [gemm(columns, hidden), ...gate, gemm(hidden, inner)];
}

/** A fused SwiGLU computes gate and value in one product, twice as wide as what the second one reads. */
function innerSize(context: OpContext, columns: Dim, fc3: Shape | undefined): Dim {
  const fused = fc3 === undefined && (context.int("swiglu_fusion") ?? 0) !== 0;
  return fused ? floorDivDims(columns, 2) : columns;
}
