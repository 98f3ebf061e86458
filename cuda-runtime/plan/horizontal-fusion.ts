/**
 * @file Products of one activation with several weights (queries, keys and values; gate and up) as one product.
 *
 * Their weights stand side by side in one matrix, made once; each result is a slice of the common one. Biases that
 * follow as an Add are taken along; any other tail stays a chain of its own.
 */
import { type Node, operatorOf, type Value } from "../../src/ir/model.ts";
import { sizesOfFact } from "../graph/known.ts";
import { plainEpilogue } from "../ir/epilogue.ts";
import { isFloatStorage } from "../ir/storage.ts";
import { elementCount, permuted, reshaped, sliced, type View } from "../ir/view.ts";
import { emitGemm } from "../kernels/gemm/gemm.ts";
import type { Frame } from "./frame.ts";
import type { PlanValues } from "./values.ts";

interface Member {
  readonly product: Node;
  readonly weight: Value;
  /** The weight is stored [N, K]. */
  readonly isTransposed: boolean;
  readonly columns: number;
  readonly bias: Value | undefined;
  /** What the member makes: the Add's output where there is a bias, else the product's. */
  readonly result: Value;
  readonly nodes: readonly Node[];
}

/** Slices begin at multiples of this many elements, so that 16-byte accesses stay possible. */
const columnAlignment = 8;

/** Lowers `node` and the products beside it as one, and says which nodes are done with; undefined where it stands alone. */
export function lowerTogether(node: Node, frame: Frame, values: PlanValues): readonly Node[] | undefined {
  const [activation] = node.inputs;
  const first = activation === undefined ? undefined : memberOf(node, activation, frame);
  // One that cannot be a member stays alone; so does a later one: those beside it are done by then.
  if (activation === undefined || first === undefined || !isAligned(first)) return undefined;
  if (frame.alone.has(activation)) return undefined;
  const members = frame.live
    .readersOf(activation)
    .map((reader) => (reader === node ? first : memberOf(reader, activation, frame)))
    .filter((member) => member !== undefined)
    .filter((member) => isAligned(member) && depthOf(member, frame) === depthOf(first, frame));
  const { type } = values.slotOf(first.result, frame);
  const refuse = () => {
    frame.alone.add(activation);
    return undefined;
  };
  if (members.length < 2 || !isFloatStorage(type)) return refuse();
  const a = values.viewOf(values.slotOf(activation, frame));
  const rows = elementCount(a.shape.slice(0, -1));
  const depth = a.shape.at(-1) ?? 1;
  const flat = reshaped(a, [rows, depth]);
  if (flat === undefined || rows === 0) return refuse();
  const { emitter } = values;
  const total = members.reduce((sum, { columns }) => sum + columns, 0);
  const weightType = type === "float32" ? "float32" : type;
  const weights = emitter.temporary(weightType, [depth, total], [1, 0]);
  const hasBias = members.some(({ bias }) => bias !== undefined);
  const bias = hasBias ? emitter.temporary("float32", [total]) : undefined;
  const to = emitter.temporary(type, [rows, total]);
  let start = 0;
  for (const member of members) {
    writeMember(member, frame, values, {
      weight: sliced(weights, 1, start, member.columns),
      bias: bias === undefined ? undefined : sliced(bias, 0, start, member.columns),
    });
    start += member.columns;
  }
  emitGemm(emitter, {
    a: emitter.packed(flat, { type: weightType, ...(isRowMajor(flat) ? {} : { order: [0, 1] }) }),
    b: weights,
    to,
    epilogue: { ...plainEpilogue, bias },
  });
  setResults(members, to, frame, values);
  return members.flatMap(({ nodes }) => nodes);
}

function isRowMajor(view: View): boolean {
  return view.strides[1] === 1;
}

function isAligned({ columns }: Member): boolean {
  return columns % columnAlignment === 0;
}

function depthOf({ weight, isTransposed }: Member, { scope }: Frame): unknown {
  return scope.shape(weight)?.[isTransposed ? 1 : 0];
}

function writeMember(
  { weight, isTransposed, bias, columns }: Member,
  frame: Frame,
  values: PlanValues,
  to: { readonly weight: View; readonly bias: View | undefined },
): void {
  const { emitter } = values;
  const stored = values.rawViewOf(values.slotOf(weight, frame));
  emitter.copy(isTransposed ? permuted(stored, [1, 0]) : stored, to.weight);
  if (to.bias === undefined) return;
  const from =
    bias === undefined ? emitter.constant("float32", [1], [0]) : values.rawViewOf(values.slotOf(bias, frame));
  emitter.copy(
    { ...from, shape: bias === undefined ? [1] : [columns], strides: [bias === undefined ? 0 : 1] },
    to.bias,
  );
}

function setResults(members: readonly Member[], to: View, frame: Frame, values: PlanValues): void {
  let start = 0;
  for (const { columns, result } of members) {
    const part = sliced(to, 1, start, columns);
    const { shape } = values.slotOf(result, frame);
    const view = reshaped(part, shape);
    if (view === undefined) throw new Error(`tc-lint bug: a slice of rows has no shape ${shape.join("x")}`);
    values.setView(result, view, frame);
    start += columns;
  }
}

/** The product as a member: its weight a stored matrix, nothing but a bias behind it. */
function memberOf(node: Node, activation: Value, frame: Frame): Member | undefined {
  const { live, macros, scope } = frame;
  const [left, weight, third] = node.inputs;
  const [output] = node.outputs;
  if (left !== activation || weight?.initializer === undefined || output === undefined || macros.has(node))
    return undefined;
  if (node.graph !== scope.graph || !live.has(node) || output.isOutput) return undefined;
  const isTransposed = orientationOf(node);
  const sizes = sizesOfFact(scope.fact(weight));
  if (isTransposed === undefined || sizes?.length !== 2) return undefined;
  const columns = sizes[isTransposed ? 0 : 1] ?? 0;
  const bare = { product: node, weight, isTransposed, columns };
  if (third !== undefined) {
    return isBias(third, columns, frame)
      ? { ...bare, bias: third, result: output, nodes: [node] }
      : undefined;
  }
  const [add, ...more] = live.readersOf(output);
  const sum = add?.outputs[0];
  if (
    add === undefined ||
    more.length > 0 ||
    operatorOf(add) !== "Add" ||
    sum === undefined ||
    macros.has(add)
  ) {
    return { ...bare, bias: undefined, result: output, nodes: [node] };
  }
  const other = add.inputs.find((input) => input !== output);
  if (other === undefined || !isBias(other, columns, frame) || sum.isOutput) {
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

function isBias(value: Value, columns: number, { scope }: Frame): boolean {
  const sizes = sizesOfFact(scope.fact(value));
  return value.initializer !== undefined && sizes?.length === 1 && sizes[0] === columns;
}
