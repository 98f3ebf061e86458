/** @file Constant: a tensor written into the node, in one of the spellings its opset allows. */
import { defineOp, type OpContext, type TensorFact } from "../op.ts";
import { tensor, unknownTensor } from "../shape.ts";
import { half } from "../traits.ts";

export const constant = defineOp({
  domain: "",
  type: "Constant",
  traits: { elements: "computed", half: half(1, 13), layout: "fixed", sameSince: 7 },
  traffic: "none",
  infer: (context) => [context.tensor("value") ?? scalarOrList(context) ?? unknownTensor],
});

function scalarOrList(context: OpContext): TensorFact | undefined {
  const int = context.int("value_int");
  if (int !== undefined) return tensor("int64", [], [int]);
  const float = context.float("value_float");
  if (float !== undefined) return tensor("float32", [], [float]);
  const ints = context.ints("value_ints");
  if (ints !== undefined) return tensor("int64", [ints.length], ints);
  const floats = context.floats("value_floats");
  if (floats !== undefined) return tensor("float32", [floats.length], floats);
  if (context.string("value_string") !== undefined) return tensor("string", []);
  const strings = context.strings("value_strings");
  if (strings !== undefined) return tensor("string", [strings.length]);
  return context.tensor("sparse_value");
}
