/** @file The two products of attention as Einsum: which axis of each operand is what. */
import { stringAttributeIn } from "../../src/facts/attributes.ts";
import type { Scope } from "../../src/facts/scope.ts";
import { type Node, operatorOf } from "../../src/ir/model.ts";

interface Equation {
  readonly left: string;
  readonly right: string;
  readonly result: string;
}

/** Two operands, each letter once in each of them. */
function equationOf(node: Node, scope: Scope): Equation | undefined {
  const text =
    operatorOf(node) === "Einsum"
      ? stringAttributeIn(node, "equation", scope)?.replaceAll(" ", "")
      : undefined;
  const [, left, right, result] = /^([A-Za-z]+),([A-Za-z]+)->([A-Za-z]+)$/.exec(text ?? "") ?? [];
  if (left === undefined || right === undefined || result === undefined) return undefined;
  const isPlain = [left, right, result].every((letters) => new Set(letters).size === letters.length);
  return isPlain ? { left, right, result } : undefined;
}

/** Axes of each tensor in the order [leading…, rows, columns] that attention has them in. */
export interface ScoreAxes {
  readonly queries: readonly number[];
  readonly keys: readonly number[];
}

/** Q [leading…, queries, size], K [leading…, keys, size] to [leading…, queries, keys]. */
export function scoreAxes(node: Node, scope: Scope): ScoreAxes | undefined {
  const equation = equationOf(node, scope);
  if (equation === undefined) return undefined;
  const { left, right, result } = equation;
  const leading = result.slice(0, -2);
  const [query = "", key = ""] = result.slice(-2);
  const size = summed(equation);
  if (size === undefined || right.includes(query) || left.includes(key)) return undefined;
  const queries = positions(left, [...leading, query, size]);
  const keys = positions(right, [...leading, key, size]);
  return queries && keys && { queries, keys };
}

export interface ValueAxes {
  readonly values: readonly number[];
  readonly result: readonly number[];
}

/** Weights [leading…, queries, keys], V [leading…, keys, size] to [leading…, queries, size], the last two in any order. */
export function valueAxes(node: Node, scope: Scope): ValueAxes | undefined {
  const equation = equationOf(node, scope);
  if (equation === undefined) return undefined;
  const { left, right, result } = equation;
  const leading = left.slice(0, -2);
  const [query = "", key = ""] = left.slice(-2);
  const size = [...result].find((letter) => !left.includes(letter));
  if (size === undefined || summed(equation) !== key) return undefined;
  const values = positions(right, [...leading, key, size]);
  const axes = positions(result, [...leading, query, size]);
  return values && axes && { values, result: axes };
}

/** The one letter that both operands have and the result does not. */
function summed({ left, right, result }: Equation): string | undefined {
  const letters = [...left].filter((letter) => !result.includes(letter));
  const [letter] = letters;
  const own = [...right].filter((other) => !result.includes(other));
  return letters.length === 1 && own.length === 1 && own[0] === letter ? letter : undefined;
}

/** Where each of `wanted` is in `letters`; undefined unless they are the same letters. */
function positions(letters: string, wanted: readonly string[]): readonly number[] | undefined {
  const found = wanted.map((letter) => letters.indexOf(letter));
  return letters.length === wanted.length && !found.includes(-1) ? found : undefined;
}
