/** @file What the operator of a node says of it: for walks over a graph. */
import { intsAttributeOf } from "../ir/attributes.ts";
import type { Node } from "../ir/model.ts";
import { findOp } from "./registry.ts";
import type { Decision, Elements, Traits } from "./traits.ts";

/** Undefined for an operator that tc-lint does not know, and for a call of a local function. */
export function traitsOf({ domain, opType }: Node): Traits | undefined {
  return findOp(domain, opType)?.traits;
}

export function isProduct({ domain, opType }: Node): boolean {
  return findOp(domain, opType)?.product === true;
}

/** How values decide an output of the node; undefined where they do not, or it is not known how. */
export function decisionAt(node: Node, output: number): Decision | undefined {
  const decision = traitsOf(node)?.decides?.(node);
  return decision?.kind === "place" && decision.output !== output ? undefined : decision;
}

/** A node that only holds a tensor. */
export function isConstantNode(node: Node): boolean {
  return isOp(node, "Constant");
}

/** Several values one after another along an axis. */
export function isConcat(node: Node | undefined): boolean {
  return isOp(node, "Concat");
}

/** Hands on what it reads. */
export function isIdentity(node: Node | undefined): boolean {
  return isOp(node, "Identity");
}

/** x · x, as exporters write a square. */
export function isSquare(node: Node): boolean {
  return (
    isOp(node, "Mul") &&
    node.inputs.length === 2 &&
    node.inputs[0] !== undefined &&
    node.inputs[0] === node.inputs[1]
  );
}

/** A body that runs several times: Loop counts and may stop, Scan goes along an axis. */
export function loopKind(node: Node | undefined): "loop" | "scan" | undefined {
  if (isOp(node, "Loop")) return "loop";
  return isOp(node, "Scan") ? "scan" : undefined;
}

/** Whether a condition chooses between graphs. */
export function isBranching(node: Node): boolean {
  return isOp(node, "If");
}

export function isTranspose(node: Node): boolean {
  return isOp(node, "Transpose");
}

/** Whether filters go over images. */
export function isConvolution(node: Node): boolean {
  return isOp(node, "Conv", "ConvTranspose");
}

/** Whether two matrices of floats are multiplied. */
export function isMatrixProduct(node: Node): boolean {
  return isOp(node, "MatMul", "Gemm");
}

/** Whether the results are parts of the first input, by bounds along its axes. */
export function isSlicing(node: Node): boolean {
  return isOp(node, "Slice", "Split");
}

/** Parts of the first input from starts to ends, which inputs 1 and 2 name, by steps that input 4 does. */
export function isSliceOfInputs(node: Node): boolean {
  return isOp(node, "Slice") && node.inputs.length > 2;
}

const neutralElements: Readonly<Record<string, { readonly value: number; readonly operands: number }>> = {
  Add: { value: 0, operands: 2 },
  Mul: { value: 1, operands: 2 },
  Sub: { value: 0, operands: 1 },
  Div: { value: 1, operands: 1 },
};

/** The number that changes nothing of the other operand, as one of inputs; none for other operators. */
export function neutralElement(
  node: Node,
): { readonly value: number; readonly inputs: readonly number[] } | undefined {
  const found = node.domain === "" ? neutralElements[node.opType] : undefined;
  return found && { value: found.value, inputs: found.operands === 2 ? [0, 1] : [1] };
}

/** Whether the first input is repeated along its axes. */
export function isRepeating(node: Node): boolean {
  return isOp(node, "Expand");
}

/** The same by how often along each axis, which need not be of one element. */
export function isTiling(node: Node): boolean {
  return isOp(node, "Tile");
}

/** The first input in another type, which the node names. */
export function isCast(node: Node): boolean {
  return isOp(node, "Cast");
}

/** Whether places along one axis are picked by an input. */
export function isGathering(node: Node): boolean {
  return isOp(node, "Gather");
}

/** The order of a Transpose, as its attribute says it; undefined for another operator, and for the reverse order. */
export function permutationOf(node: Node): readonly number[] | undefined {
  return isOp(node, "Transpose") ? intsAttributeOf(node, "perm") : undefined;
}

/** Of one number, however many there are. */
export function isFilled(node: Node | undefined): boolean {
  return isOp(node, "ConstantOfShape");
}

/** Codes to numbers, of ai.onnx. */
export function isDequantizing(node: Node | undefined): boolean {
  return isOp(node, "DequantizeLinear");
}

/** Numbers to codes by a scale that the graph gives, of ai.onnx. */
export function isRoundingToCodes(node: Node): boolean {
  return isOp(node, "QuantizeLinear");
}

/** Rounds to codes as it runs: by itself, or as a product of codes. */
export function isQuantizing({ domain, opType }: Node): boolean {
  const isOwn = opType === "QuantizeLinear" || opType === "DynamicQuantizeLinear";
  const op = findOp(domain, opType);
  return op !== undefined && (isOwn || op.codes !== undefined);
}

/** Draws numbers that no input determines, whatever it is asked for. */
export function isRandom({ domain, opType }: Node): boolean {
  return findOp(domain, opType)?.random === "always";
}

/** Whether the node is of ai.onnx, and of one of these types. Each a parameter: asked of every node many times, and a list of them would be made each time. */
export function isOp(
  node: Node | undefined,
  type: string,
  second?: string,
  third?: string,
  fourth?: string,
  fifth?: string,
  sixth?: string,
): boolean {
  if (node?.domain !== "") return false;
  const { opType } = node;
  return (
    opType === type ||
    opType === second ||
    opType === third ||
    opType === fourth ||
    opType === fifth ||
    opType === sixth
  );
}

/** The same of a list. */
export function isOneOf(node: Node | undefined, types: readonly string[]): boolean {
  return node?.domain === "" && types.includes(node.opType);
}

/** The first input in another shape: no element goes, comes or changes its place. */
export function isReshaping(node: Node): boolean {
  return traitsOf(node)?.elements === "same";
}

/** The first input in another order or shape: each element once. */
export function isView(node: Node): boolean {
  const elements = traitsOf(node)?.elements;
  return elements === "same" || elements === "permuted";
}

const moving: Readonly<Record<Elements, boolean>> = {
  same: true,
  permuted: true,
  moved: true,
  converted: false,
  chosen: false,
  picked: false,
  computed: false,
};

/** Every element of the results is one of the inputs', or a filler. */
export function movesElements(node: Node): boolean {
  const elements = traitsOf(node)?.elements;
  return elements !== undefined && moving[elements];
}

/** Results hold nothing that the first input does not: what suits it suits them. */
export function handsOnElements(node: Node): boolean {
  return movesElements(node) || traitsOf(node)?.elements === "chosen";
}

/** Moves elements, or gives them another type. */
export function carriesElements(node: Node): boolean {
  return movesElements(node) || traitsOf(node)?.elements === "converted";
}
