/** @file Nodes that change nothing, and that ONNX Runtime drops as it loads a file: others of the kind it runs. */
import type { Scope } from "../facts/scope.ts";
import type { Node } from "../ir/model.ts";
import { isCast, isRepeating, isSliceOfInputs, neutralElement } from "../ops/ask.ts";
import { copiesWhole } from "./traffic.ts";
import { constantElements } from "./values.ts";

/** Source: CastElimination, ExpandElimination, EliminateSlice and NoopElimination, at its basic level. */
export function isIdle(node: Node, scope: Scope): boolean {
  const [from, to] = [node.inputs[0], node.outputs[0]].map((value) => {
    const fact = value === undefined ? undefined : scope.fact(value);
    return fact?.kind === "tensor" ? fact : undefined;
  });
  if (isCast(node)) return from?.dtype !== undefined && from.dtype === to?.dtype;
  const isFixed = from?.shape?.every((dim) => typeof dim === "number") === true;
  if (isRepeating(node)) return isFixed && copiesWhole(node, scope);
  return isSliceOfInputs(node) ? takesAll(node, scope) : addsNothing(node, scope);
}

/** The end that stands for whatever there is, as the file says it: a size, though it be the whole, is not looked at. */
const lastInteger = 2 ** 63;

function takesAll({ inputs: [, starts, ends, , steps] }: Node, scope: Scope): boolean {
  const isEach = (value: typeof starts, wanted: number) =>
    constantElements(value, scope)?.every((element) => element === wanted) === true;
  return isEach(starts, 0) && isEach(ends, lastInteger) && (steps === undefined || isEach(steps, 1));
}

/** A neutral element of no more axes than the other operand has. */
function addsNothing(node: Node, scope: Scope): boolean {
  const neutral = neutralElement(node);
  return (
    neutral?.inputs.some((at) => {
      const [elements, own] = [constantElements(node.inputs[at], scope), scope.shape(node.inputs[at])];
      const other = scope.shape(node.inputs[1 - at]);
      const isNeutral = elements?.length === 1 && elements[0] === neutral.value;
      return isNeutral && own !== undefined && other !== undefined && own.length <= other.length;
    }) === true
  );
}
