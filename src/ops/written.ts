/** @file Nodes of ai.onnx that tools write into a graph of their own. */
import { type DType, dtypes } from "../ir/dtype.ts";
import type { NodeSpec } from "../ir/patch.ts";

export function castNode(input: string, output: string, to: DType): NodeSpec {
  const attributes = new Map([["to", { type: "int", value: dtypes[to].code } as const]]);
  return { opType: "Cast", inputs: [input], outputs: [output], attributes };
}

/** a + b, elementwise. */
export function sumNode(a: string, b: string, output: string): NodeSpec {
  return { opType: "Add", inputs: [a, b], outputs: [output] };
}

/** a · b, elementwise. */
export function scaledNode(a: string, b: string, output: string): NodeSpec {
  return { opType: "Mul", inputs: [a, b], outputs: [output] };
}

/** The product of two matrices of codes, in int32. */
export function productOfCodes(a: string, b: string, output: string): NodeSpec {
  return { opType: "MatMulInteger", inputs: [a, b], outputs: [output] };
}
