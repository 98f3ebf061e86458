/** @file Einsum: any sum of products over labelled axes, as products of two operands from left to right. */

import { attributeOf } from "../../ir/attributes.ts";
import { addDims, type Dim, mulDims, product } from "../../ir/dim.ts";
import { type DType, dtypes } from "../../ir/dtype.ts";
import { textOf } from "../../ir/message.ts";
import { unknownLane } from "../axes.ts";
import { defineOp, type OpContext, ShapeError } from "../op.ts";
import { asTensor, tensor } from "../shape.ts";
import { half } from "../traits.ts";
import type { GemmWork, TrafficWork, Work } from "../work.ts";
import { einsumAxes, einsumLane } from "./einsum-axes.ts";
import { type Contraction, readEquation } from "./einsum-equation.ts";
import { multiplyType, sharedTypeOf } from "./operands.ts";

export const einsum = defineOp({
  domain: "",
  type: "Einsum",
  traits: { elements: "computed", half: half(12, undefined), layout: "fixed", sameSince: 12 },
  product: true,
  infer(context) {
    const contraction = contractionOf(context);
    const shape = contraction?.output.map((label) => sizeOf(label, contraction));
    return [tensor(operandType(context), shape)];
  },
  work(context) {
    const contraction = contractionOf(context);
    const dtype = multiplyType(operandType(context));
    return contraction === undefined || dtype === undefined ? undefined : einsumWork(contraction, dtype);
  },
  axes(context) {
    const contraction = contractionOf(context);
    if (contraction === undefined) context.blockAll("has operands of unknown sizes");
    else einsumAxes(context, contraction);
  },
  lanes(context) {
    const contraction = contractionOf(context);
    return contraction === undefined ? unknownLane : einsumLane(context, contraction);
  },
});

function contractionOf(context: OpContext): Contraction | undefined {
  const equation = context.string("equation");
  if (equation === undefined) throw new ShapeError(textOf`the attribute equation ${whyUnread(context)}`);
  return readEquation(
    equation,
    context.inputs.map((input) => asTensor(input).shape),
  );
}

function whyUnread({ node }: OpContext): string {
  const value = attributeOf(node, "equation");
  if (value === undefined) return "is missing";
  if (value.type !== "other" || value.bytes === undefined) return "is no text";
  return `is too long: it has ${value.bytes} bytes, and at most 65536 are read`;
}

function operandType(context: OpContext): DType | undefined {
  return sharedTypeOf("operands", context.inputs.map(asTensor));
}

function sizeOf(label: string, { sizes }: Contraction): Dim {
  return sizes.get(label) ?? 1;
}

/** Axes by the part they play in a product of two operands. */
interface Roles {
  readonly batch: readonly string[];
  readonly m: readonly string[];
  readonly n: readonly string[];
  readonly k: readonly string[];
}

function einsumWork(contraction: Contraction, dtype: DType): Work[] {
  const [first = [], ...rest] = contraction.operands.map((_, at) => ownLabels(contraction, at));
  if (rest.length === 0) return [walk(contraction, [first], contraction.output, dtype)];
  const works: Work[] = [];
  let left = first;
  for (const [at, right] of rest.entries()) {
    const later = rest.slice(at + 1).flat();
    const kept = new Set([...contraction.output, ...later]);
    const roles = rolesOf(left, right, kept);
    const isLast = at === rest.length - 1;
    const result = isLast ? contraction.output : [...roles.batch, ...roles.m, ...roles.n];
    // Without an axis to sum over nothing is contracted: operands are multiplied lane by lane.
    if (roles.k.length === 0) works.push(walk(contraction, [left, right], result, dtype));
    else works.push(gemmOf(contraction, left, right, roles, result, dtype));
    left = result;
  }
  return works;
}

/** Labels of an operand in order, once each (a diagonal is one axis), without axes that are broadcast from 1. */
function ownLabels(contraction: Contraction, operand: number): readonly string[] {
  const axes = contraction.operands[operand];
  const own = axes?.labels.filter((label, axis) => axes.dims[axis] !== 1 || sizeOf(label, contraction) === 1);
  return [...new Set(own)];
}

function rolesOf(left: readonly string[], right: readonly string[], kept: ReadonlySet<string>): Roles {
  const both = left.filter((label) => right.includes(label));
  return {
    batch: both.filter((label) => kept.has(label)),
    k: both.filter((label) => !kept.has(label)),
    m: left.filter((label) => kept.has(label) && !right.includes(label)),
    n: right.filter((label) => kept.has(label) && !left.includes(label)),
  };
}

/** The operand that holds the innermost kept axis of the result plays B, whose columns are contiguous in it. */
function gemmOf(
  contraction: Contraction,
  left: readonly string[],
  right: readonly string[],
  roles: Roles,
  result: readonly string[],
  dtype: DType,
): GemmWork {
  const innermost = result.findLast((label) => roles.m.includes(label) || roles.n.includes(label));
  const swapped = innermost !== undefined && roles.m.includes(innermost);
  const [a, b] = swapped ? [right, left] : [left, right];
  const [m, n] = swapped ? [roles.n, roles.m] : [roles.m, roles.n];
  const extent = (labels: readonly string[]) => product(labels.map((label) => sizeOf(label, contraction)));
  return {
    kind: "gemm",
    batch: extent(roles.batch),
    m: extent(m),
    n: extent(n),
    k: extent(roles.k),
    transA: innermostRole(a, m, roles.k) === "kept",
    // A vector is a column, as in MatMul.
    transB: n.length > 0 && innermostRole(b, n, roles.k) === "summed",
    sharedB: roles.batch.length === 0,
    dtype,
  };
}

function innermostRole(
  labels: readonly string[],
  kept: readonly string[],
  summed: readonly string[],
): "kept" | "summed" | undefined {
  const last = labels.findLast((label) => kept.includes(label) || summed.includes(label));
  if (last === undefined) return undefined;
  return kept.includes(last) ? "kept" : "summed";
}

/** A pass over every combination of the operands' axes that contracts nothing. */
function walk(
  contraction: Contraction,
  operands: readonly (readonly string[])[],
  result: readonly string[],
  dtype: DType,
): TrafficWork {
  const extent = (labels: readonly string[]) => product(labels.map((label) => sizeOf(label, contraction)));
  const bytes = (labels: readonly string[]) => mulDims(extent(labels), Math.ceil(dtypes[dtype].bits / 8));
  const all = [...new Set(operands.flat())];
  const summed = all.filter((label) => !result.includes(label));
  const columns = summed.length > 0 ? summed : all.slice(-1);
  const rows = all.filter((label) => !columns.includes(label));
  const movesOnly = operands.length === 1 ? "copy" : "elementwise";
  return {
    kind: "traffic",
    pattern: summed.length > 0 ? "reduction" : movesOnly,
    rows: extent(rows),
    columns: extent(columns),
    bytesRead: operands.reduce<Dim>((total, labels) => addDims(total, bytes(labels)), 0),
    bytesWritten: bytes(result),
    dtype,
  };
}
