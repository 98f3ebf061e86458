/**
 * @file Products of one activation with several weights (queries, keys and values; gate and up) as one product: the pass
 * that finds them.
 *
 * Biases that follow as an Add are taken along; any other tail stays a chain of its own.
 */
import { intAttributeOf } from "../../src/ir/attributes.ts";
import { type Node, operatorOf, type Value } from "../../src/ir/model.ts";
import { isIdentity } from "../../src/ops/ask.ts";
import { isCall } from "../graph/calls.ts";
import { sizesOfFact } from "../graph/known.ts";
import type { FusedOperator, FusionGraph, ProductMember } from "./fused.ts";

/** Slices begin at multiples of this many elements, so that 16-byte accesses stay possible. */
const columnAlignment = 8;

/**
 * With each group in place of its first product. The others stay in the list, to be left out once the group is lowered:
 * where the activation turns out not to be a matrix of rows, each is a product by itself.
 */
export function fuseHorizontally(
  operators: readonly FusedOperator[],
  graph: FusionGraph,
): readonly FusedOperator[] {
  const grouped = new Set<Node>();
  // Activations whose readers were looked at: each is, once.
  const seen = new Set<Value>();
  return operators.map((operator) => {
    if (operator.kind !== "node" || grouped.has(operator.node)) return operator;
    const { node } = operator;
    const [activation] = node.inputs;
    if (activation === undefined || seen.has(activation)) return operator;
    const members = membersFrom(node, activation, graph);
    if (members.length > 0) seen.add(activation);
    if (members.length < 2) return operator;
    for (const { nodes } of members) for (const member of nodes) grouped.add(member);
    return { kind: "products", node, activation, members };
  });
}

/** The product and those beside it; none where it cannot be one of several. */
function membersFrom(node: Node, activation: Value, graph: FusionGraph): readonly ProductMember[] {
  const first = memberOf(node, activation, graph);
  if (first === undefined || !isAligned(first)) return [];
  return graph.live
    .readersOf(activation)
    .map((reader) => (reader === node ? first : memberOf(reader, activation, graph)))
    .filter((member) => member !== undefined)
    .filter((member) => isAligned(member) && depthOf(member, graph) === depthOf(first, graph));
}

function isAligned({ columns }: ProductMember): boolean {
  return columns % columnAlignment === 0;
}

/** What members have to have in common. */
function depthOf({ weight, isTransposed, bits }: ProductMember, { scope }: FusionGraph): unknown {
  if (bits !== undefined) return `${bits.k} in ${bits.blockSize}${bits.zeros === undefined ? "" : ", zeros"}`;
  return scope.shape(weight)?.[isTransposed ? 1 : 0];
}

/** The product as a member: its weight a stored matrix, nothing but a bias behind it. */
function memberOf(node: Node, activation: Value, graph: FusionGraph): ProductMember | undefined {
  const { live, macros, scope } = graph;
  const [left, ...operands] = node.inputs;
  const [weight, third] = operands.map((operand) => operand && behindIdentity(operand));
  const [output] = node.outputs;
  if (left !== activation || weight?.initializer === undefined || output === undefined || macros.has(node))
    return undefined;
  if (isCall(node, scope) || node.graph !== scope.graph || !live.has(node) || live.isSeen(output))
    return undefined;
  const isTransposed = orientationOf(node);
  const sizes = sizesOfFact(scope.fact(weight));
  const bits = bitsOf(node);
  if (bits === undefined && (isTransposed === undefined || sizes?.length !== 2)) return undefined;
  const columns = bits?.n ?? sizes?.[isTransposed === true ? 0 : 1] ?? 0;
  const bare = { product: node, weight, isTransposed: isTransposed ?? true, columns, bits };
  if (third !== undefined && bits === undefined) {
    return isBias(third, columns, graph)
      ? { ...bare, bias: third, result: output, nodes: [node] }
      : undefined;
  }
  const [add, ...more] = live.readersOf(output);
  const sum = add?.outputs[0];
  if (
    add === undefined ||
    more.length > 0 ||
    operatorOf(add) !== "Add" ||
    isCall(add, scope) ||
    sum === undefined ||
    macros.has(add)
  ) {
    return { ...bare, bias: undefined, result: output, nodes: [node] };
  }
  const operand = add.inputs.find((input) => input !== output);
  const other = operand && behindIdentity(operand);
  if (other === undefined || !isBias(other, columns, graph) || graph.live.isSeen(sum)) {
    return { ...bare, bias: undefined, result: output, nodes: [node] };
  }
  return { ...bare, bias: other, result: sum, nodes: [node, add] };
}

/** Whether the weight is stored [N, K]; undefined for what is no plain product. */
function orientationOf(node: Node): boolean | undefined {
  const operator = operatorOf(node);
  if (operator === "MatMul") return false;
  if (operator !== "Gemm") return undefined;
  const numbers = new Map(
    node.attributes.flatMap(({ name, value }) =>
      value.type === "int" || value.type === "float" ? [[name, value.value] as const] : [],
    ),
  );
  if (
    (numbers.get("alpha") ?? 1) !== 1 ||
    (numbers.get("beta") ?? 1) !== 1 ||
    (numbers.get("transA") ?? 0) !== 0
  ) {
    return undefined;
  }
  return (numbers.get("transB") ?? 0) !== 0;
}

/** Of weights in blocks of 4 bits, all of them tensors of the file; undefined for other products. */
function bitsOf(node: Node): ProductMember["bits"] {
  if (operatorOf(node) !== "com.microsoft::MatMulNBits") return undefined;
  const [, codes, scales, zeros, ...more] = node.inputs;
  const [n, k, blockSize] = ["N", "K", "block_size"].map((name) => intAttributeOf(node, name));
  const isStored = [codes, scales, zeros].every((input) => input === undefined || input.initializer);
  if (!isStored || scales === undefined || more.some((input) => input !== undefined)) return undefined;
  if (n === undefined || k === undefined || blockSize === undefined) return undefined;
  if ((intAttributeOf(node, "bits") ?? 4) !== 4) return undefined;
  return { n, k, blockSize, scales, zeros };
}

function isBias(value: Value, columns: number, { scope }: FusionGraph): boolean {
  const sizes = sizesOfFact(scope.fact(value));
  return value.initializer !== undefined && sizes?.length === 1 && sizes[0] === columns;
}

/** Exporters store equal tensors once (biases that are all zero), and hand them on. */
function behindIdentity(value: Value): Value {
  let at = value;
  for (let producer = at.producer; isIdentity(producer); producer = at.producer) {
    const [input] = producer?.inputs ?? [];
    if (input === undefined) break;
    at = input;
  }
  return at;
}
