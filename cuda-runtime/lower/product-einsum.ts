/** @file Einsum: operands two at a time, from left to right, each pair a batched product of matrices. */

import { type Contraction, readEquation } from "../../src/ops/product/einsum-equation.ts";
import { isFloatStorage } from "../ir/storage.ts";
import { permuted, reshaped, type View } from "../ir/view.ts";
import { emitGemm } from "../kernels/gemm/gemm.ts";
import { emitGenericGemm } from "../kernels/gemm/generic.ts";
import { emitReduce } from "../kernels/reduce/reduce.ts";
import type { Lower, LowerContext, LowerTable } from "./context.ts";
import { alike, pendingOf } from "./product-pending.ts";

/** A tensor with a label for each axis, none of them twice. */
interface Labelled {
  readonly labels: readonly string[];
  readonly view: View;
}

const einsum: Lower = (context) => {
  const operands = Array.from({ length: context.inputCount }, (_, index) => context.input(index));
  const equation = context.string("equation") ?? context.fail("the attribute equation is missing");
  const contraction = readEquation(
    equation,
    operands.map(({ shape }) => shape),
  );
  if (contraction === undefined) return context.fail(`the runtime does not take the equation "${equation}"`);
  const [first, ...rest] = contraction.operands.map(({ labels }, index) =>
    labelled(labels, operands[index] ?? context.input(index), contraction),
  );
  if (first === undefined) return context.fail("has 0 inputs, expected at least 1");
  const { output } = contraction;
  const last = rest.at(-1);
  if (last === undefined) return context.setOutput(0, inOrder(summed(context, first, output), output));
  let left = first;
  for (const [index, right] of rest.slice(0, -1).entries()) {
    const later = rest.slice(index + 1).flatMap(({ labels }) => labels);
    left = intermediate(context, left, right, new Set([...output, ...later]));
  }
  setPair(context, left, last, output);
};

/** The operand with repeated labels as its diagonal and axes of one element repeated to the label's size. */
function labelled(labels: readonly string[], view: View, { sizes }: Contraction): Labelled {
  const unique = [...new Set(labels)];
  const axesOf = (label: string) => [...labels.keys()].filter((axis) => labels[axis] === label);
  const sizeOf = (label: string): number => {
    const size = sizes.get(label);
    if (typeof size !== "number") throw new Error(`tc-lint bug: label ${label} has no size`);
    return size;
  };
  return {
    labels: unique,
    view: {
      ...view,
      shape: unique.map(sizeOf),
      strides: unique.map((label) =>
        axesOf(label).reduce(
          (total, axis) => total + (view.shape[axis] === 1 ? 0 : (view.strides[axis] ?? 0)),
          0,
        ),
      ),
    },
  };
}

/** The axes in the order of `labels`, which are the tensor's own. */
function inOrder({ labels, view }: Labelled, order: readonly string[]): View {
  return permuted(
    view,
    order.map((label) => labels.indexOf(label)),
  );
}

/** Summed over every label that is not among `kept`. */
function summed(context: LowerContext, tensor: Labelled, kept: Iterable<string>): Labelled {
  const wanted = new Set(kept);
  const labels = tensor.labels.filter((label) => wanted.has(label));
  if (labels.length === tensor.labels.length) return tensor;
  const { view } = tensor;
  const axes = new Set([...tensor.labels.keys()].filter((axis) => !wanted.has(tensor.labels[axis] ?? "")));
  const output = context.temporary(
    view.type,
    view.shape.map((size, axis) => (axes.has(axis) ? 1 : size)),
  );
  const reduction = { pre: "none", combine: "sum", post: "none", divisor: 1 } as const;
  emitReduce(context, {
    ...reduction,
    input: view,
    axes,
    output,
    integersAs: "integer",
  });
  const remaining = [...tensor.labels.keys()].filter((axis) => !axes.has(axis));
  return {
    labels,
    view: {
      ...output,
      shape: remaining.map((axis) => output.shape[axis] ?? 1),
      strides: remaining.map((axis) => output.strides[axis] ?? 0),
    },
  };
}

interface Pair {
  /** [...batch, m, k], [...batch, k, n] */
  readonly a: View;
  readonly b: View;
  /** Labels of the batch axes, of m and of n; undefined for an axis of one element. */
  readonly batch: readonly string[];
  readonly m: string | undefined;
  readonly n: string | undefined;
}

/** Of several labels of m (or n) the last stays, the others are batch axes along which the other operand repeats. */
function pairOf(context: LowerContext, left: Labelled, right: Labelled, kept: ReadonlySet<string>): Pair {
  const a = summed(context, left, [...kept, ...right.labels]);
  const b = summed(context, right, [...kept, ...left.labels]);
  const shared = a.labels.filter((label) => b.labels.includes(label));
  const contracted = shared.filter((label) => !kept.has(label));
  const rows = a.labels.filter((label) => !shared.includes(label));
  const columns = b.labels.filter((label) => !shared.includes(label));
  const batch = [...shared.filter((label) => kept.has(label)), ...rows.slice(0, -1), ...columns.slice(0, -1)];
  const [m, n] = [rows.at(-1), columns.at(-1)];
  const along = (tensor: Labelled, labels: readonly (string | undefined)[]) => spread(tensor, labels);
  const depth = contracted.length;
  return {
    a: mergedDepth(context, along(a, [...batch, m, ...contracted]), depth, "last"),
    b: mergedDepth(context, along(b, [...batch, ...contracted, n]), depth, "before last"),
    batch,
    m,
    n,
  };
}

/** The axes that `labels` name; one element, repeated, where the tensor lacks the label. */
function spread({ labels, view }: Labelled, wanted: readonly (string | undefined)[]): View {
  const axes = wanted.map((label) => (label === undefined ? -1 : labels.indexOf(label)));
  return {
    ...view,
    shape: axes.map((axis) => view.shape[axis] ?? 1),
    strides: axes.map((axis) => view.strides[axis] ?? 0),
  };
}

/** The `depth` axes of k as one. */
function mergedDepth(context: LowerContext, view: View, depth: number, where: "last" | "before last"): View {
  const end = where === "last" ? view.shape.length : view.shape.length - 1;
  const start = end - depth;
  const size = view.shape.slice(start, end).reduce((total, each) => total * each, 1);
  const shape = view.shape.toSpliced(start, depth, size);
  if (depth === 1) return view;
  const merged = reshaped(view, shape) ?? reshaped(context.packed(view), shape);
  return merged ?? context.fail("has contracted axes that cannot be merged");
}

/** The two multiplied and summed, in memory. */
function intermediate(
  context: LowerContext,
  left: Labelled,
  right: Labelled,
  kept: ReadonlySet<string>,
): Labelled {
  const { a, b, batch, m, n } = pairOf(context, left, right, kept);
  const shape = [
    ...batch.map((_, axis) => Math.max(a.shape[axis] ?? 1, b.shape[axis] ?? 1)),
    a.shape.at(-2) ?? 1,
    b.shape.at(-1) ?? 1,
  ];
  if (isFloatStorage(a.type) && isFloatStorage(b.type)) {
    const [x, y] = alike(context, a, b);
    const to = context.temporary(x.type, shape);
    emitGemm(context, { a: x, b: y, to });
    return withoutOnes({ labels: [...batch, m, n], view: to });
  }
  const to = context.temporary(a.type, shape);
  emitGenericGemm(context, { a, b, to });
  return withoutOnes({ labels: [...batch, m, n], view: to });
}

function withoutOnes({
  labels,
  view,
}: {
  readonly labels: readonly (string | undefined)[];
  readonly view: View;
}): Labelled {
  const axes = [...labels.keys()].filter((axis) => labels[axis] !== undefined);
  return {
    labels: labels.flatMap((label) => label ?? []),
    view: {
      ...view,
      shape: axes.map((axis) => view.shape[axis] ?? 1),
      strides: axes.map((axis) => view.strides[axis] ?? 0),
    },
  };
}

function setPair(context: LowerContext, left: Labelled, right: Labelled, output: readonly string[]): void {
  const { a, b, batch, m, n } = pairOf(context, left, right, new Set(output));
  const place = (view: View) => spread({ labels: output, view }, [...batch, m, n]);
  if (!isFloatStorage(a.type) || !isFloatStorage(b.type)) {
    emitGenericGemm(context, { a, b, to: place(context.output(0)) });
    return;
  }
  const [x, y] = alike(context, a, b);
  const channelAxis = n === undefined ? undefined : output.indexOf(n);
  const shape = context.outputShape(0);
  context.setProduct(
    0,
    pendingOf(context, { a: x, b: y, shape, type: context.outputType(0), place, channelAxis }),
  );
}

export const einsumLowerings: LowerTable = { Einsum: einsum };
