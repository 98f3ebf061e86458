/** @file Why a pattern does not fit: of everything that was tried, what came nearest. */
import { labelOf, type Node, operatorOf, type Value } from "../../ir/model.ts";
import type { Bindings } from "./bindings.ts";

/** A part of a pattern, below others. */
export interface Path {
  /** `operand "w" (input 1)`; empty for the node that the pattern ends in. */
  readonly part: string;
  readonly above: Path | undefined;
}

export interface Miss {
  readonly at: Path;
  readonly expected: string;
  readonly found: string;
  /** What did fit. */
  readonly taken: Bindings;
}

/** Keeps the miss that most had fitted before; of equals the first. */
export class Trace {
  #nearest: Miss | undefined;

  miss(miss: Miss): void {
    if (this.#nearest === undefined || miss.taken.size > this.#nearest.taken.size) this.#nearest = miss;
  }

  get nearest(): Miss | undefined {
    return this.#nearest;
  }
}

/** From the node that the pattern ends in. */
export function partsOf(at: Path): readonly string[] {
  const parts: string[] = [];
  for (let path: Path | undefined = at; path !== undefined; path = path.above)
    if (path.part !== "") parts.unshift(path.part);
  return parts;
}

/** `Mul "mul_0"`. */
export function describeNodeOf(node: Node): string {
  return `${operatorOf(node)} "${labelOf(node)}"`;
}

export function describeValue(value: Value): string {
  if (value.producer !== undefined) return `"${value.name}" of ${describeNodeOf(value.producer)}`;
  if (value.initializer !== undefined) return `the constant "${value.name}"`;
  return value.isInput ? `the input "${value.name}"` : `"${value.name}" from outside`;
}
