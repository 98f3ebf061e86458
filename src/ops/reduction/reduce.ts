/** @file ReduceSum, ReduceMean and their like. */
import { hasAttribute, intsAttributeOf } from "../../ir/attributes.ts";
import { addDims, type Dim, mulDims, type Shape, unknownDim } from "../../ir/dim.ts";
import { type DType, isIntegral } from "../../ir/dtype.ts";
import type { Node } from "../../ir/model.ts";
import { type AxisContext, type Lane, unknownLane } from "../axes.ts";
import { elementOf } from "../elementwise/number.ts";
import { isWhole, largerOf, smallerOf } from "../elementwise/order.ts";
import { finiteIfKnown, keepLane, zeroOrFinite } from "../lanes.ts";
import { defineOp, type OpContext, type OpDefinition, type TensorFact, type WorkContext } from "../op.ts";
import { numbersOf, sizeOf, stridesOf, tensor, tensorAt } from "../shape.ts";
import { rowTraffic } from "../traffic.ts";
import { computes, type HalfTraits, half, leavesRange, type NewForm, type Traits } from "../traits.ts";
import { namedAxes, partlyReducedShape, reducedShape, resolveAxes, rowsAndColumns } from "./axes.ts";

interface Reduction {
  readonly traits: Traits;
  /** What zeros among the elements do to the result: nothing, where they may be padding. */
  readonly zeros: "neutral" | "count";
  /** What becomes of a row of padded lanes. */
  readonly ofRow: (lane: Lane) => Lane;
  /** The opset that made the axes an input. */
  readonly axesInputSince: number;
  /** Combines two whole numbers or symbols; the first element starts. */
  readonly combine?: (a: Dim, b: Dim) => Dim;
}

/** Axes became an input; without any, all of them go as ever. */
const withoutAxes: NonNullable<Traits["sameIf"]> = {
  since: 7,
  applies: (node) => !hasAttribute(node, "axes"),
};

/** The same axes, as a list that it reads. */
function axesAsInput(node: Node, opset: number): NewForm | undefined {
  const axes = intsAttributeOf(node, "axes");
  // An empty list has meant all axes, and none.
  if (opset >= 18 || axes === undefined || axes.length === 0 || node.inputs.length !== 1) return undefined;
  return { lists: { 1: axes }, attributes: { axes: null } };
}

/** What all reductions say: named axes go. */
function reduces(halfTraits: HalfTraits, others: Partial<Omit<Traits, "half">> = {}): Traits {
  return computes(halfTraits, {
    layout: "reduced",
    sameSince: 18,
    sameIf: withoutAxes,
    newForm: axesAsInput,
    ...others,
  });
}

const reductions: Record<string, Reduction> = {
  ReduceL1: {
    traits: reduces(
      half(1, 13, { risk: { kind: "sum", of: "values", why: "a sum of many terms" }, isWide: true }),
    ),
    axesInputSince: 18,
    zeros: "neutral",
    ofRow: zeroOrFinite,
  },
  ReduceL2: {
    traits: reduces(
      half(1, 13, { risk: { kind: "sum", of: "squares", why: "a norm sums squares" }, isWide: true }),
    ),
    axesInputSince: 18,
    zeros: "neutral",
    ofRow: zeroOrFinite,
  },
  ReduceLogSum: {
    traits: reduces(half(1, 13, { risk: leavesRange("a logarithm of a sum"), isWide: true })),
    axesInputSince: 18,
    zeros: "neutral",
    ofRow: () => unknownLane,
  },
  ReduceLogSumExp: {
    traits: reduces(half(1, 13, { risk: leavesRange("sums exponentials"), isWide: true })),
    axesInputSince: 18,
    zeros: "count",
    ofRow: finiteIfKnown,
  },
  ReduceMax: {
    traits: reduces(half(1, 13), {
      elements: "chosen",
      scale: "first",
      keepsDigits: true,
    }),
    axesInputSince: 18,
    zeros: "count",
    ofRow: asItIs,
    combine: largerOf,
  },
  ReduceMean: {
    traits: reduces(half(1, 13), { scale: "first", keepsDigits: true }),
    axesInputSince: 18,
    zeros: "count",
    ofRow: zeroOrFinite,
  },
  ReduceMin: {
    traits: reduces(half(1, 13), {
      elements: "chosen",
      scale: "first",
      keepsDigits: true,
    }),
    axesInputSince: 18,
    zeros: "count",
    ofRow: asItIs,
    combine: smallerOf,
  },
  ReduceProd: {
    traits: reduces(half(1, 13, { risk: leavesRange("a product of many factors"), isWide: true }), {
      keepsDigits: true,
    }),
    axesInputSince: 18,
    zeros: "count",
    ofRow: zeroOrFinite,
    combine: whole(mulDims),
  },
  ReduceSum: {
    traits: computes(
      half(1, 13, { risk: { kind: "sum", of: "values", why: "a sum of many terms" }, isWide: true }),
      { layout: "reduced", sameSince: 13, scale: "first", keepsDigits: true },
    ),
    axesInputSince: 13,
    zeros: "neutral",
    ofRow: zeroOrFinite,
    combine: whole(addDims),
  },
  ReduceSumSquare: {
    traits: reduces(half(1, 13, { risk: { kind: "sum", of: "squares", why: "sums squares" }, isWide: true })),
    axesInputSince: 18,
    zeros: "neutral",
    ofRow: zeroOrFinite,
  },
};

function asItIs(lane: Lane): Lane {
  return lane;
}

function reduceAxes(context: AxisContext, { axesInputSince, zeros }: Reduction): void {
  const axes = context.axesOf(0);
  const named = namedAxes(context, axesInputSince);
  if (axes === undefined || named === undefined) return context.blockAll("reduces axes that are not known");
  const reduced = resolveAxes(named, axes.length);
  for (const at of reduced) {
    const axis = axes[at];
    if (axis === undefined) continue;
    if (zeros === "neutral") context.sumOver(axis, 0);
    else context.takeTrue(0, at, "reduces it");
  }
  const keepDims = context.int("keepdims") !== 0;
  const ones = axes.map((axis, at) => (reduced.has(at) ? context.solver.atom(1) : axis));
  context.setAxes(0, keepDims ? ones : axes.filter((_, at) => !reduced.has(at)));
}

function whole(f: (a: Dim, b: Dim) => Dim): (a: Dim, b: Dim) => Dim {
  return (a, b) => (isWhole(a) && isWhole(b) ? f(a, b) : unknownDim());
}

export const reduceOps: readonly OpDefinition[] = Object.entries(reductions).map(([type, reduction]) =>
  defineOp({
    domain: "",
    type,
    traits: reduction.traits,
    infer: (context) => [reduce(context, reduction)],
    axes: (context) => reduceAxes(context, reduction),
    lanes: (context) => reduction.ofRow(keepLane(context)),
    work: (context) => reduceWork(context, reduction),
    pass: "mean",
  }),
);

function reduce(context: OpContext, { axesInputSince, combine }: Reduction): TensorFact {
  const input = tensorAt(context, 0);
  const keepDims = context.int("keepdims") !== 0;
  const named = namedAxes(context, axesInputSince);
  if (input.shape === undefined || named === undefined) {
    return tensor(input.dtype, partlyReducedShape(context, named, keepDims));
  }
  const axes = resolveAxes(named, input.shape.length);
  const shape = reducedShape(input.shape, axes, keepDims);
  const elements =
    combine && isIntegral(input.dtype) ? reduceElements(input, input.shape, axes, shape, combine) : undefined;
  return tensor(input.dtype, shape, elements);
}

function reduceElements(
  input: TensorFact,
  shape: Shape,
  axes: ReadonlySet<number>,
  reduced: Shape,
  combine: (a: Dim, b: Dim) => Dim,
): readonly Dim[] | undefined {
  const { elements, dtype } = input;
  const sizes = numbersOf(shape);
  const size = sizeOf(reduced);
  // What an empty reduction gives is the operator's neutral element: nobody folds it.
  if (elements === undefined || dtype === undefined || sizes === undefined || size === undefined)
    return undefined;
  if (elements.length === 0) return undefined;
  const kept = stridesOf(sizes.map((extent, axis) => (axes.has(axis) ? 1 : extent)));
  const strides = stridesOf(sizes);
  const results: Dim[] = [];
  for (const [at, element] of elements.entries()) {
    let target = 0;
    for (const [axis, extent] of sizes.entries()) {
      if (!axes.has(axis)) target += (Math.floor(at / (strides[axis] ?? 1)) % extent) * (kept[axis] ?? 1);
    }
    const before = results[target];
    results[target] = before === undefined ? element : combine(before, element);
  }
  return results.map((value) => inType(value, dtype));
}

/** The largest int64 stays what it is; a sum may have to wrap. */
function inType(value: Dim, dtype: DType): Dim {
  return typeof value === "number" && Number.isSafeInteger(value) ? elementOf(value, dtype) : value;
}

function reduceWork(context: WorkContext, { axesInputSince }: Reduction) {
  const { shape } = tensorAt(context, 0);
  const named = namedAxes(context, axesInputSince);
  if (shape === undefined || named === undefined) return undefined;
  const axes = resolveAxes(named, shape.length);
  const [rows, columns] = rowsAndColumns(shape, axes);
  return rowTraffic(context, axes.size === 0 ? "elementwise" : "reduction", rows, columns);
}
