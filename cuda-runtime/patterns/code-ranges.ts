/** @file How large numbers are that are made of codes, and how far apart. */
import { maxOf, minOf } from "../../src/ir/lists.ts";
import { operatorOf, type Value } from "../../src/ir/model.ts";
import { isCodeType } from "../kernels/gemm-int8/codes.ts";
import type { Quantized } from "../lower/quantized-products.ts";
import type { PatternGraph } from "./graph.ts";

interface Range {
  /** The largest magnitude. */
  readonly most: number;
  /** Between neighbouring numbers. */
  readonly step: number;
}

const unknown: Range = { most: Number.POSITIVE_INFINITY, step: 0 };

export function rangeOf(value: Value, graph: PatternGraph, products: ReadonlyMap<Value, Quantized>): Range {
  const product = products.get(value);
  if (product !== undefined) return rangeOfProduct(product, graph);
  const producer = graph.producerOf(value);
  const [codes, scale, zero] = producer?.inputs ?? [];
  const isOwn = producer !== undefined && operatorOf(producer) === "DequantizeLinear";
  return isOwn ? rangeOfCodes(codes, scale, zero, graph) : unknown;
}

function rangeOfCodes(
  codes: Value | undefined,
  scale: Value | undefined,
  zero: Value | undefined,
  graph: PatternGraph,
): Range {
  const type = graph.dtype(codes);
  const scales = (scale && graph.constants(scale))?.map(Math.abs);
  const zeros = zero === undefined ? [0] : graph.constants(zero);
  if (!isCodeType(type) || scales === undefined || zeros === undefined) return unknown;
  const [low, high] = type === "int8" ? [-128, 127] : [0, 255];
  const distance = maxOf(zeros.map((each) => Math.max(each - low, high - each)));
  return { most: distance * maxOf(scales), step: minOf(scales) };
}

/** Every sum is within as many products of the largest codes as there are terms. */
function rangeOfProduct({ x, w, bias, kind, to, tail }: Quantized, graph: PatternGraph): Range {
  const depth = graph.shape(x.codes)?.at(-1);
  if (kind !== "product" || to !== undefined || tail !== undefined || depth === undefined) return unknown;
  const activation = rangeOfCodes(x.codes, x.scale, x.zero, graph);
  const weight = rangeOfCodes(w.codes, w.scale, w.zero, graph);
  const added = bias === undefined ? [] : graph.constants(bias.value);
  const unit = bias?.kind === "codes" ? activation.step * largestOf(w.scale, graph) : 1;
  if (added === undefined) return unknown;
  const most = depth * activation.most * weight.most + unit * maxOf([0, ...added.map(Math.abs)]);
  return { most, step: activation.step * weight.most };
}

function largestOf(value: Value, graph: PatternGraph): number {
  return maxOf(graph.constants(value)?.map(Math.abs) ?? [Number.POSITIVE_INFINITY]);
}
