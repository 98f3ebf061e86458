/** @file What the planner holds of each value: where it is, or how it will be computed. */

import { isConstant, type Scope } from "../../src/facts/scope.ts";
import { tensorAttributeOf } from "../../src/ir/attributes.ts";
import { describeNode, operatorOf, type TensorRef, type Value } from "../../src/ir/model.ts";
import { isConstantNode } from "../../src/ops/ask.ts";
import { elementsOfFact, notStored, sizesOfFact } from "../graph/known.ts";
import type { Expr } from "../ir/expr.ts";
import { DataError, PlanError, PlanSizeError } from "../ir/step.ts";
import type { StorageType } from "../ir/storage.ts";
import { elementCount, type View } from "../ir/view.ts";
import type { CodeNumbers } from "../kernels/gemm-int8/codes.ts";
import { type Precision, storageOf } from "./precision.ts";

/** Operators whose kernels copy rows of channels by 16 bytes. */
const productOperators: ReadonlySet<string> = new Set(["Conv", "ConvTranspose", "Gemm", "MatMul"]);

export interface Slot {
  readonly name: string;
  readonly shape: readonly number[];
  /** What it is stored as when it is put into memory. */
  readonly type: StorageType;
  /** What floats were rounded to as they were made. */
  readonly codes?: CodeNumbers;
  state:
    | { readonly kind: "empty" }
    /** Not computed yet: an expression for whoever reads it, a product at its heart perhaps. */
    | { readonly kind: "lazy"; readonly expr: Expr }
    | { readonly kind: "stored"; readonly view: View }
    /** Elements known while planning. */
    | { readonly kind: "known"; readonly elements: readonly number[] }
    /** A tensor of the file, not uploaded yet. */
    | { readonly kind: "weight"; readonly tensor: TensorRef };
  /** The stored view in another type, or in memory of its own. */
  readonly converted: Map<StorageType, View>;
  /** Products read it: rows of channels should begin at multiples of 16 bytes. */
  readonly isOperand: boolean;
  /** An input or a weight keeps the model's type in memory until somebody reads it as `type`. */
  readonly isRoot: boolean;
}

/** Of a value that nothing has computed yet. Throws PlanError for what has no place in memory. */
export function newSlot(value: Value, scope: Scope, precision: Precision): Slot {
  const fact = scope.fact(value);
  const dtype = fact?.kind === "tensor" ? fact.dtype : undefined;
  const shape = sizesOfFact(fact);
  const isWeight = isConstant(value, scope.model) && value.initializer !== undefined;
  const type = storageOf({ dtype, shape, isWeight, producer: value.producer }, precision);
  const [operator, subject] = subjectOf(value, isWeight);
  if (type === undefined) throw new PlanError(operator, `${subject} ${notStored(fact)}`);
  if (shape === undefined)
    throw new DataError(operator, `${subject} has a shape that depends on data`, value.producer);
  refuseTooLarge(shape, operator, subject);
  const elements = value.initializer === undefined ? elementsOfFact(fact) : undefined;
  const state: Slot["state"] =
    isWeight && value.initializer !== undefined
      ? { kind: "weight", tensor: value.initializer }
      : elements === undefined
        ? { kind: "empty" }
        : { kind: "known", elements };
  const isOperand = value.consumers.some((node) => productOperators.has(operatorOf(node)));
  return { name: value.name, shape, type, state, converted: new Map(), isOperand, isRoot: isWeight };
}

/** The operator that makes a value, and what error messages call the value. */
function subjectOf({ name, producer }: Value, isWeight: boolean): readonly [string, string] {
  if (producer !== undefined)
    return [operatorOf(producer), `${describeNode(producer)}: its output "${name}"`];
  const kind = isWeight ? "weight" : "input";
  return [kind, `${kind} "${name}"`];
}

/** Throws PlanSizeError for what kernels cannot count. `what`: for its message. */
export function refuseTooLarge(shape: readonly number[], operator: string, what: string): void {
  const count = elementCount(shape);
  // An empty tensor may have an axis that is none the less too long.
  if (count < 2 ** 31 && shape.every((size) => size < 2 ** 31)) return;
  const found = count.toLocaleString("en-US");
  throw new PlanSizeError(
    operator,
    `${what} of [${shape.join(",")}] has ${found} elements; the runtime takes less than 2^31`,
  );
}

/** Whether the value is a tensor of the file, whichever instance of its graph it is in. */
export function isFixed(value: Value, { model }: Scope): boolean {
  if (value.initializer !== undefined) return isConstant(value, model);
  const { producer } = value;
  if (producer === undefined || !isConstantNode(producer)) return false;
  return tensorAttributeOf(producer, "value") !== undefined;
}
