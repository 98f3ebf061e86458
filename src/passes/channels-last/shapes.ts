/** @file The sizes of an image, read off its NHWC form in NCHW order. */

import { intAttributeOf } from "../../ir/attributes.ts";
import type { Node } from "../../ir/model.ts";
import type { GraphPatch, NodeSpec } from "../../ir/patch.ts";
import { isOp } from "../../ops/ask.ts";
import { emitted } from "../../ops/emitted.ts";
import type { PassContext } from "../pass.ts";
import { int64Tensor } from "../tensors.ts";
import { positionInNhwc } from "./layouts.ts";

/** For a Shape: that of the NHWC form, and a Gather of the sizes asked for. Undefined for other operators. */
export function nhwcShape(
  node: Node,
  image: string,
  { names }: PassContext,
  graph: GraphPatch,
): readonly NodeSpec[] | undefined {
  const [output] = node.outputs;
  if (!isOp(node, emitted.Shape) || output === undefined) return undefined;
  const axes = positionInNhwc.slice(intAttributeOf(node, "start"), intAttributeOf(node, "end"));
  const indices = names.make(`${output.name}_axes`);
  const sizes = names.make(`${output.name}_nhwc`);
  graph.added.set(indices, int64Tensor(axes));
  const plain = new Map([
    ["start", null],
    ["end", null],
  ]);
  return [
    { base: node, inputs: [image], outputs: [sizes], attributes: plain },
    {
      name: names.make(`tc_lint/Gather/${output.name}`),
      opType: emitted.Gather,
      inputs: [sizes, indices],
      outputs: [output.name],
    },
  ];
}
