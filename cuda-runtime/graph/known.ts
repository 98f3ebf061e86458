/** @file Values whose elements are known while planning need no step. */
import type { Scope } from "../../src/facts/scope.ts";
import { isUnknown } from "../../src/ir/dim.ts";
import type { Value } from "../../src/ir/model.ts";
import type { Fact } from "../../src/ops/op.ts";
import { isStorageType, type StorageType, storageTypes } from "../ir/storage.ts";

/** Elements as numbers where all of them are known. */
export function elementsOfFact(fact: Fact | undefined): readonly number[] | undefined {
  if (fact?.kind !== "tensor" || fact.elements === undefined) return undefined;
  const { elements } = fact;
  return elements.every((element) => typeof element === "number")
    ? (elements as readonly number[])
    : undefined;
}

/** The type that the model gives it, where the GPU has that. */
export function storageOfFact(fact: Fact | undefined): StorageType | undefined {
  return fact?.kind === "tensor" && isStorageType(fact.dtype) ? fact.dtype : undefined;
}

/** Sizes as numbers, or undefined where one is not known. */
export function sizesOfFact(fact: Fact | undefined): readonly number[] | undefined {
  if (fact?.kind !== "tensor" || fact.shape === undefined) return undefined;
  const { shape } = fact;
  return shape.every((dim) => typeof dim === "number") ? (shape as readonly number[]) : undefined;
}

const kindTexts = {
  sequence: "a sequence",
  optional: "an optional",
  map: "a map",
  sparse: "a sparse tensor",
  opaque: "an opaque value",
} as const satisfies Record<Exclude<Fact["kind"], "tensor">, string>;

/** For messages: `float32[2,?]`, or what else it is. */
export function describeFact(fact: Fact | undefined): string {
  if (fact?.kind !== "tensor") return fact === undefined ? "not known" : kindTexts[fact.kind];
  const sizes = fact.shape?.map((dim) => (isUnknown(dim) ? "?" : String(dim))).join(",") ?? "…";
  return `${fact.dtype ?? "?"}[${sizes}]`;
}

/** For messages, of a value without a place in GPU memory: what it is, and what would have one. */
export function notStored(fact: Fact | undefined): string {
  if (fact === undefined) return "has no known type";
  if (fact.kind !== "tensor") return `is ${describeFact(fact)}, expected a tensor`;
  return `has ${fact.dtype ?? "unknown"} elements, expected ${Object.keys(storageTypes).join(", ")}`;
}

export function knownElementsOf(value: Value, scope: Scope): readonly number[] | undefined {
  return elementsOfFact(scope.fact(value));
}
