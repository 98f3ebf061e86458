/** @file A constant that broadcasts against NCHW values, made to broadcast against NHWC ones. */
import type { Value } from "../../ir/model.ts";
import type { NodeSpec, TensorSpec } from "../../ir/patch.ts";
import type { PassContext } from "../pass.ts";
import { storedTensor } from "../stored.ts";
import { perm, toNhwc } from "./functions.ts";

export interface NhwcConstant {
  readonly name: string;
  readonly tensor: { readonly name: string; readonly spec: TensorSpec } | undefined;
  readonly nodes: readonly NodeSpec[];
}

/** A copy of four axes in NHWC order; where elements would have to move, a Transpose that runtimes fold. */
export function nhwcConstant(value: Value, context: PassContext): NhwcConstant {
  const stored = storedTensor(value);
  if (stored?.dtype === undefined) throw new Error(`tc-lint bug: constant "${value.name}" has no tensor`);
  const { dtype } = stored;
  const dims = [...new Array<number>(4 - stored.dims.length).fill(1), ...stored.dims];
  const bytes = context.open(stored);
  const name = context.names.make(`${value.name}_nhwc`);
  const moved = toNhwc.map((axis) => dims[axis] ?? 1);
  if (dims.filter((dim) => dim !== 1).length <= 1) {
    return { name, tensor: { name, spec: { dtype, dims: moved, bytes } }, nodes: [] };
  }
  const plain = context.names.make(`${value.name}_nchw`);
  const node: NodeSpec = {
    name: context.names.make(`tc_lint/Transpose/${name}`),
    opType: "Transpose",
    inputs: [plain],
    outputs: [name],
    attributes: new Map([["perm", perm(toNhwc)]]),
  };
  return { name, tensor: { name: plain, spec: { dtype, dims, bytes } }, nodes: [node] };
}
