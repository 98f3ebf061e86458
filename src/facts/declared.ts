/** @file Declared types (inputs, outputs, value_info) beside what inference found. */
import { collectSymbols, type Dim, isUnknown, type Shape, unknownDim } from "../ir/dim.ts";
import type { Value, ValueType } from "../ir/model.ts";
import type { Fact, TensorFact } from "../ops/op.ts";
import { unknownTensor } from "../ops/shape.ts";
import type { Bindings } from "./bind.ts";

/** A declared type as a fact, with the given symbols bound. */
export function factOfType(type: ValueType, bindings: Bindings): Fact {
  switch (type.kind) {
    case "tensor":
      return {
        kind: "tensor",
        dtype: type.dtype,
        shape: type.shape === undefined ? undefined : bindings.shape(type.shape),
      };
    case "sequence":
    case "optional":
      return {
        kind: type.kind,
        element: type.element === undefined ? undefined : factOfType(type.element, bindings),
      };
    default:
      return { kind: type.kind };
  }
}

export interface Merged {
  readonly fact: Fact | undefined;
  /** Both sides know, and they differ; the fact keeps what was inferred. */
  readonly contradiction: boolean;
}

/** What inference found, with its gaps filled from the declaration of `value`. */
export function mergeDeclared(inferred: Fact | undefined, value: Value, bindings: Bindings): Merged {
  const { declared } = value;
  if (declared === undefined) return { fact: inferred, contradiction: false };
  if (declared.kind === "tensor" && (inferred === undefined || inferred.kind === "tensor")) {
    return mergeTensor(inferred ?? unknownTensor, declared, value.name, bindings);
  }
  // An unknown tensor stands for "anything" until an operator says that it is one.
  if (inferred === undefined || isBlank(inferred)) {
    return { fact: factOfType(declared, bindings), contradiction: false };
  }
  if (inferred.kind !== declared.kind) return { fact: inferred, contradiction: true };
  if (
    (inferred.kind === "sequence" && declared.kind === "sequence") ||
    (inferred.kind === "optional" && declared.kind === "optional")
  ) {
    if (inferred.element !== undefined || declared.element === undefined) {
      return { fact: inferred, contradiction: false };
    }
    return { fact: { ...inferred, element: factOfType(declared.element, bindings) }, contradiction: false };
  }
  return { fact: inferred, contradiction: false };
}

function isBlank(fact: Fact): boolean {
  return fact.kind === "tensor" && fact.dtype === undefined && fact.shape === undefined;
}

function mergeTensor(
  inferred: TensorFact,
  declared: Extract<ValueType, { kind: "tensor" }>,
  name: string,
  bindings: Bindings,
): Merged {
  const dtype = inferred.dtype ?? declared.dtype;
  let contradiction = dtype !== declared.dtype && declared.dtype !== undefined;
  let shape = inferred.shape;
  if (declared.shape !== undefined) {
    if (shape !== undefined && shape.length !== declared.shape.length) {
      return { fact: inferred, contradiction: true };
    }
    contradiction ||= differs(shape, declared.shape);
    shape = fillShape(shape, declared.shape, name, bindings);
  }
  if (dtype === inferred.dtype && shape === inferred.shape) return { fact: inferred, contradiction };
  return { fact: { ...inferred, dtype, shape }, contradiction };
}

function differs(inferred: Shape | undefined, declared: Shape): boolean {
  if (inferred === undefined) return false;
  return inferred.some((dim, axis) => {
    const stated = declared[axis];
    return typeof dim === "number" && typeof stated === "number" && dim !== stated;
  });
}

/** `inferred` itself where the declaration adds nothing. */
function fillShape(
  inferred: Shape | undefined,
  declared: Shape,
  name: string,
  bindings: Bindings,
): Shape | undefined {
  let filled: Dim[] | undefined = inferred === undefined ? declared.map(() => unknownDim()) : undefined;
  for (let axis = 0; axis < declared.length; axis++) {
    const stated = declared[axis] ?? unknownDim();
    const known = inferred?.[axis];
    if (known !== undefined && !isUnknown(known)) continue;
    // An axis the file leaves open carries a name made from the value's: on an intermediate value it tells nothing.
    if (typeof stated !== "number" && stated.key === `${name}_d${axis}`) continue;
    filled ??= [...(inferred ?? [])];
    filled[axis] = bindings.dim(stated);
  }
  return filled ?? inferred;
}

/** Adds the names of the symbols in the fact's shapes. */
export function collectFactSymbols(fact: Fact | undefined, into: Set<string>): void {
  if (fact?.kind === "tensor") {
    for (const dim of fact.shape ?? []) if (typeof dim !== "number") collectSymbols(dim, into);
  } else if (fact?.kind === "sequence" || fact?.kind === "optional") {
    collectFactSymbols(fact.element, into);
  }
}
