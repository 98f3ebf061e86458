/** @file Transposes that are there already and change the layout themselves. */
import type { Node, Value } from "../../ir/model.ts";
import { permutationOf } from "../../ops/ask.ts";
import { toNchw, toNhwc } from "./functions.ts";

/** The order of a Transpose over four axes. */
export function permOf(node: Node): readonly number[] | undefined {
  const order = permutationOf(node);
  return order?.length === 4 ? order : undefined;
}

/** Where a Transpose makes NCHW out of NHWC: what it reads, whose own axes are the NHWC form. */
export function throughTranspose(value: Value): Value | undefined {
  const order = value.producer === undefined ? undefined : permOf(value.producer);
  if (order === undefined) return undefined;
  return toNchw.every((axis, index) => order[index] === axis) ? value.producer?.inputs[0] : undefined;
}

/** A Transpose from one layout to the other. */
export function changesLayout(node: Node): boolean {
  const order = permOf(node);
  return (
    order !== undefined && [toNchw, toNhwc].some((layout) => layout.every((axis, at) => order[at] === axis))
  );
}
