/** @file What a pattern asks of a single tensor or node, beside its place in the graph. */
import { type Dim, type Shape, sameDim } from "../../ir/dim.ts";
import type { DType } from "../../ir/dtype.ts";
import type { Node } from "../../ir/model.ts";
import { atOnce } from "./answers.ts";
import type { Bindings } from "./bindings.ts";
import type { GraphFacts } from "./graph-facts.ts";
import type {
  AttributeFact,
  AttributePattern,
  Conditions,
  OpOptions,
  ShapePattern,
  TensorOptions,
} from "./pattern.ts";

/** What was asked for, and what is there. */
export interface Wrong {
  readonly expected: string;
  readonly found: string;
}

/** Half precision keeps eleven bits, single 24. */
const [halfStep, singleStep] = [1e-3, 1e-5];

export const checks = {
  isNear: (found: number, expected: number) => Math.abs(found - expected) <= halfStep * Math.abs(expected),
};

export function wrongDtype(wanted: TensorOptions["dtype"], dtype: DType | undefined): Wrong | undefined {
  if (wanted === undefined) return undefined;
  const types = [wanted].flat();
  if (dtype !== undefined && types.includes(dtype)) return undefined;
  return { expected: types.join(" or "), found: dtype ?? "an unknown type" };
}

/** The bindings with the pattern's dimensions, or what is wrong with the shape. */
export function boundShape(
  wanted: ShapePattern | undefined,
  shape: Shape | undefined,
  found: Bindings,
): Bindings | Wrong {
  if (wanted === undefined) return found;
  const expected = `the shape [${wanted.join(", ")}]`;
  if (shape === undefined) return { expected, found: "an unknown one" };
  const isOpen = wanted[0] === "...";
  const sizes = isOpen ? wanted.slice(1) : wanted;
  const dims = isOpen ? shape.slice(Math.max(0, shape.length - sizes.length)) : shape;
  if (dims.length !== sizes.length) return { expected, found: shapeText(shape) };
  let bound = found;
  for (const [index, size] of sizes.entries()) {
    const dim = dims[index];
    if (dim === undefined) return { expected, found: shapeText(shape) };
    if (size === "_") continue;
    const known: Dim | undefined = typeof size === "number" ? size : bound.dim(size);
    if (known === undefined && typeof size === "string") bound = bound.with({ kind: "dim", name: size, dim });
    else if (known !== undefined && !sameDim(known, dim)) {
      const because = typeof size === "string" ? ` (${size} is ${String(known)} before)` : "";
      return { expected: `${expected}${because}`, found: shapeText(shape) };
    }
  }
  return bound;
}

function shapeText(shape: Shape): string {
  return `[${shape.map(String).join(", ")}]`;
}

export function wrongAttribute(
  wanted: OpOptions["attributes"],
  node: Node,
  facts: GraphFacts,
): Wrong | undefined {
  for (const [name, pattern] of Object.entries(wanted ?? {})) {
    const value = facts.attribute(node, name);
    if (atOnce(`the condition of attribute "${name}"`, isAttribute(pattern, value))) continue;
    const expected = typeof pattern === "function" ? "another value" : JSON.stringify(pattern);
    return {
      expected: `attribute ${name}: ${expected}`,
      found: value === undefined ? "none" : JSON.stringify(value),
    };
  }
  return undefined;
}

function isAttribute(pattern: AttributePattern, value: AttributeFact): boolean {
  if (typeof pattern === "function") return pattern(value);
  if (typeof pattern === "number") return typeof value === "number" && isEqual(value, pattern);
  if (typeof pattern === "string") return value === pattern;
  return (
    Array.isArray(value) &&
    value.length === pattern.length &&
    pattern.every((each, index) => typeof value[index] === "number" && isEqual(value[index], each))
  );
}

function isEqual(found: number, expected: number): boolean {
  return Number.isInteger(expected) && Number.isInteger(found)
    ? found === expected
    : Math.abs(found - expected) <= singleStep * Math.abs(expected);
}

/** The first condition that does not hold. */
export function wrongCondition<T>(
  where: Conditions<T> | undefined,
  subject: T,
  facts: GraphFacts,
): string | undefined {
  for (const [name, holds] of Object.entries(where ?? {}))
    if (!atOnce(`the condition "${name}"`, holds(subject, facts))) return name;
  return undefined;
}
