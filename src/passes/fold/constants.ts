/** @file Values known element by element become initializers: shape arithmetic of static shapes goes. */
import { type DType, dtypes } from "../../ir/dtype.ts";
import type { Node } from "../../ir/model.ts";
import { numbersOf } from "../../ops/shape.ts";
import { canEncode, encodeNumbers, int64Tensor, MemoryBytes } from "../tensors.ts";
import type { Draft, Made } from "./draft.ts";
import { doubtfulValues } from "./exact.ts";

/** Operators of the nodes that went. */
export function foldConstants(draft: Draft): readonly string[] {
  const doubtful = doubtfulValues(draft);
  const folded = draft.nodes.flatMap((node) => {
    const values = foldedOutputs(draft, node, doubtful);
    return values === undefined ? [] : [{ node, values }];
  });
  for (const { node } of folded) draft.remove(node);
  for (const { values } of folded)
    for (const [name, made] of values) if (draft.isNeeded(name)) draft.make(name, made);
  return folded.map(({ node }) => node.opType);
}

/** Contents of every output, where all are known and none is an output of the model. */
function foldedOutputs(
  draft: Draft,
  node: Node,
  doubtful: ReadonlySet<string>,
): ReadonlyMap<string, Made> | undefined {
  if ((node.opType === "Constant" && node.domain === "") || draft.isLeftOut(node)) return undefined;
  const names = draft.outputsOf(node).filter((name) => name !== "");
  if (names.length === 0) return undefined;
  const values = new Map<string, Made>();
  for (const name of names) {
    const made = draft.isOutput(name) || doubtful.has(name) ? undefined : knownContents(draft, name);
    if (made === undefined) return undefined;
    values.set(name, made);
  }
  return values;
}

function knownContents(draft: Draft, name: string): Made | undefined {
  const { dtype, shape, elements } = draft.factOf(name);
  const dims = numbersOf(shape);
  const numbers = numbersOf(elements);
  if (dtype === undefined || dims === undefined || numbers === undefined) return undefined;
  if (!canEncode(dtype) || !numbers.every((value) => isExact(value, dtype))) return undefined;
  return { spec: { dtype, dims, bytes: new MemoryBytes(encodeNumbers(dtype, numbers)) }, numbers };
}

/** An integer that was rounded when it was read cannot be written. */
function isExact(value: number, dtype: DType): boolean {
  return dtypes[dtype].kind === "float" || Number.isSafeInteger(value);
}

/**
 * Targets of Reshape in which one size is computed: that axis takes what remains, which needs no computing.
 * Changed nodes.
 */
export function simplifyTarget(draft: Draft, node: Node): boolean {
  const [, target] = draft.inputsOf(node);
  if (target === undefined || draft.storedOf(target) !== undefined) return false;
  const { elements } = draft.factOf(target);
  const open = elements?.filter((size) => typeof size !== "number");
  if (elements === undefined || open?.length !== 1) return false;
  const sizes = elements.map((size) => (typeof size === "number" ? size : -1));
  if (sizes.some((size, axis) => size <= 0 && typeof elements[axis] === "number")) return false;
  const base = `${draft.outputsOf(node)[0] ?? ""}_shape`;
  draft.setInput(node, 1, draft.add(base, { spec: int64Tensor(sizes), numbers: sizes }));
  return true;
}
