/** @file Operators that half precision does not suit, with the reason as a report gives it. */

import type { Scope } from "../../facts/scope.ts";
import { attributeOf, hasAttribute, stringOf } from "../../ir/attributes.ts";
import { divideExactly, product } from "../../ir/dim.ts";
import type { Node, Value } from "../../ir/model.ts";
import { isOneOf, isOp, isSquare, traitsOf } from "../../ops/ask.ts";
import { originOf } from "./follow.ts";
import type { FloatNode } from "./graph.ts";

export function imprecision(node: Node): string | undefined {
  if (isAccumulating(node)) return "accumulates many elements";
  const risk = traitsOf(node)?.half.risk;
  return risk?.kind === "digits" ? risk.why : undefined;
}

/** A scatter that combines what meets; plain ones only move. */
function isAccumulating(node: Node): boolean {
  if (!isOp(node, "ScatterElements", "ScatterND", "TensorScatter")) return false;
  return hasAttribute(node, "reduction") && stringOf(attributeOf(node, "reduction")) !== "none";
}

/** More terms than this overflow where their mean is above 255. */
const manyTerms = 256;

/** Why a node may leave the range of float16 although its constants do not. */
export function overflow(entry: FloatNode): string | undefined {
  const { node } = entry;
  if (isSquare(node)) return "a square overflows from 256 on";
  const risk = traitsOf(node)?.half.risk;
  switch (risk?.kind) {
    case "power":
      return powerRisk(entry);
    case "exponential":
      return isShifted(node.inputs[0]) ? undefined : "an exponential overflows from 11.1 on";
    case "sum":
      // Squares overflow from 256 on, however few there are.
      return risk.of === "squares" || isLongSum(entry) ? risk.why : undefined;
    case "range":
      return risk.why;
    default:
      return undefined;
  }
}

function powerRisk({ node, scope }: FloatNode): string | undefined {
  const [bases, exponents] = node.inputs.map((value) => numbersOf(value, scope));
  if (exponents === undefined) return "a power overflows";
  if (exponents.every((exponent) => exponent >= 0 && exponent <= 1)) return undefined;
  const isFine = (base: number) => exponents.every((exponent) => Math.abs(base ** exponent) < modest);
  return bases?.every(isFine) === true ? undefined : "a power overflows";
}

/** What float16 holds with room to spare. */
const modest = 4096;

function numbersOf(value: Value | undefined, scope: Scope): readonly number[] | undefined {
  const fact = value === undefined ? undefined : scope.fact(value);
  const elements = fact?.kind === "tensor" ? fact.elements : undefined;
  return elements?.every((each) => typeof each === "number") ? elements : undefined;
}

/** exp(x − max x), as a softmax written out has it, is at most 1. */
export function isShifted(value: Value | undefined): boolean {
  if (value === undefined) return false;
  const { producer } = originOf(value);
  const shift = isOp(producer, "Sub") ? producer?.inputs[1] : undefined;
  return shift !== undefined && isOp(originOf(shift).producer, "ReduceMax");
}

/** A symbolic axis may be of any size, whatever it is now: a sum over it counts as long. */
function isLongSum({ node, scope }: FloatNode): boolean {
  const [input] = node.inputs;
  const [output] = node.outputs;
  if (input !== undefined && isBounded(input)) return false;
  const [before, after] = [scope.shape(input), scope.shape(output)];
  if (before === undefined || after === undefined) return true;
  const terms = divideExactly(product(before), product(after));
  return typeof terms !== "number" || terms >= manyTerms;
}

/** Terms of at most 1: float16 counts them without overflow as far as sums over one axis go. */
function isBounded(value: Value): boolean {
  const { producer } = originOf(value);
  if (isOp(producer, "Exp")) return isShifted(producer?.inputs[0]);
  return isOp(producer, "Softmax", "Sigmoid", "HardSigmoid", "Tanh", "Erf");
}

const saturating = ["Tanh", "Sigmoid", "HardSigmoid", "Erf"];

/**
 * Whether everything a power reaches ends in a function that infinity saturates as the power itself would:
 * tanh(c · (x + a · x³)). On the way only constants and the base itself are added and multiplied.
 */
export function saturates(node: Node, isConstant: (value: Value) => boolean): boolean {
  const [base] = node.inputs;
  const [start] = node.outputs;
  if (base === undefined || start === undefined) return false;
  const pending = [start];
  const seen = new Set(pending);
  for (let value = pending.pop(); value !== undefined; value = pending.pop()) {
    if (value.isOutput || value.consumers.length === 0) return false;
    for (const reader of value.consumers) {
      if (isOneOf(reader, saturating)) continue;
      if (!isOp(reader, "Add", "Mul") || seen.size > 16) return false;
      const others = reader.inputs.filter((input) => input !== value);
      if (others.length !== 1) return false;
      if (!others.every((other) => other !== undefined && (other === base || isConstant(other))))
        return false;
      for (const output of reader.outputs) {
        if (output === undefined || seen.has(output)) continue;
        seen.add(output);
        pending.push(output);
      }
    }
  }
  return true;
}
