/** @file Values known element by element become initializers: shape arithmetic of static shapes goes. */
import { type DType, dtypes } from "../../ir/dtype.ts";
import type { Node } from "../../ir/model.ts";
import { isConstantNode } from "../../ops/ask.ts";
import { numbersOf } from "../../ops/shape.ts";
import { canEncode, encodeNumbers, int64Tensor, MemoryBytes } from "../tensors.ts";
import type { Known, Made } from "./contents.ts";
import type { Draft } from "./draft.ts";
import { doubtfulValues } from "./exact.ts";
import { withinBound } from "./growth.ts";

/** Adds to `computed` the operators of the nodes that went; whether any did. */
export function foldConstants(draft: Draft, computed: string[]): boolean {
  const doubtful = doubtfulValues(draft);
  const candidates = draft.nodes.flatMap((node) => {
    const values = foldedOutputs(draft, node, doubtful);
    return values === undefined ? [] : [{ node, values }];
  });
  const folded = withinBound(draft, candidates);
  for (const { node } of folded) draft.remove(node);
  for (const { node, values } of folded) {
    computed.push(node.opType);
    for (const [name, known] of values) if (draft.isNeeded(name)) draft.make(name, madeOf(known));
  }
  return folded.length > 0;
}

/** Contents of every output, where all are known and none is an output of the model. */
function foldedOutputs(
  draft: Draft,
  node: Node,
  doubtful: ReadonlySet<string>,
): ReadonlyMap<string, Known> | undefined {
  if (isConstantNode(node) || draft.isLeftOut(node)) return undefined;
  const names = draft.outputsOf(node).filter((name) => name !== "");
  if (names.length === 0) return undefined;
  const values = new Map<string, Known>();
  for (const name of names) {
    const known = draft.isOutput(name) || doubtful.has(name) ? undefined : knownContents(draft, name);
    if (known === undefined) return undefined;
    values.set(name, known);
  }
  return values;
}

function knownContents(draft: Draft, name: string): Known | undefined {
  const { dtype, shape, elements } = draft.factOf(name);
  const dims = numbersOf(shape);
  const numbers = numbersOf(elements);
  if (dtype === undefined || dims === undefined || numbers === undefined) return undefined;
  return canEncode(dtype) && numbers.every((value) => isExact(value, dtype))
    ? { dtype, dims, numbers }
    : undefined;
}

function madeOf({ dtype, dims, numbers }: Known): Made {
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
