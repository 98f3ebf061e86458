/** @file A normalization that a product's weights can take. */
import type { CostedProduct } from "./context.ts";
import { intAttributeIn, isOp, isStored, type Node, onlyReader } from "./graph.ts";

/** The only reader of a product with stored weights, where it scales and shifts by stored numbers alone. */
export function foldableNormalization({ node, scope, weight }: CostedProduct): Node | undefined {
  if (weight === undefined || !isOp(node, "Conv", "ConvTranspose", "Gemm")) return undefined;
  const bias = node.inputs[2];
  if (bias !== undefined && !isStored(bias, scope)) return undefined;
  const reader = onlyReader(node.outputs[0]);
  if (reader === undefined || reader.graph !== node.graph || !isOp(reader, "BatchNormalization"))
    return undefined;
  const [, ...parameters] = reader.inputs;
  const isInference = (intAttributeIn(reader, "training_mode", scope) ?? 0) === 0;
  return isInference && parameters.every((value) => isStored(value, scope)) ? reader : undefined;
}
