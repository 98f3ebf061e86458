/** @file Operators that half precision does not suit, with the reason as a report gives it. */
import type { Scope } from "../../facts/scope.ts";
import { divideExactly, product } from "../../ir/dim.ts";
import type { Node, Value } from "../../ir/model.ts";
import { own } from "../../ir/own.ts";
import { findOp } from "../../ops/registry.ts";
import { isOp, originOf } from "./follow.ts";
import type { FloatNode } from "./graph.ts";

export function isProduct(node: Node): boolean {
  return findOp(node.domain, node.opType)?.product === true;
}

/** Lose digits that no range helps against. */
const imprecise: Readonly<Record<string, string>> = {
  CumSum: "a running sum adds small terms to a large one",
  CumProd: "a running product leaves the range",
  Sin: "an angle loses its digits to whole turns",
  Cos: "an angle loses its digits to whole turns",
  Tan: "an angle loses its digits to whole turns",
  Mod: "a remainder loses its digits to the quotient",
  GridSample: "coordinates need more digits than half has",
  AffineGrid: "coordinates need more digits than half has",
  DeformConv: "coordinates need more digits than half has",
  DFT: "a transform over many terms",
  STFT: "a transform over many terms",
  Det: "a determinant cancels",
  LpNormalization: "a norm sums squares",
  MeanVarianceNormalization: "a variance sums squares",
};

/** Leave the range of float16 for ordinary inputs; ranges seen on samples can clear them. */
const overflowing: Readonly<Record<string, string>> = {
  ReduceL2: "a norm sums squares",
  ReduceSumSquare: "sums squares",
  ReduceLogSum: "a logarithm of a sum",
  ReduceLogSumExp: "sums exponentials",
  ReduceProd: "a product of many factors",
  LpPool: "a norm sums squares",
  GlobalLpPool: "a norm sums squares",
  LRN: "sums squares",
  Log: "a logarithm of numbers near zero",
  Sinh: "an exponential",
  Cosh: "an exponential",
};

export function imprecision(node: Node): string | undefined {
  if (node.domain !== "") return undefined;
  return isAccumulating(node) ? "adds many elements up in one place" : own(imprecise, node.opType);
}

/** A scatter that combines what meets; plain ones only move. */
function isAccumulating(node: Node): boolean {
  if (!isOp(node, "ScatterElements", "ScatterND", "TensorScatter")) return false;
  const reduction = node.attributes.find(({ name }) => name === "reduction")?.value;
  return reduction !== undefined && !(reduction.type === "string" && reduction.value === "none");
}

/** More terms than this overflow where their mean is above 255. */
const manyTerms = 256;

/** Why a node may leave the range of float16 although its constants do not. */
export function overflow(entry: FloatNode): string | undefined {
  const { node } = entry;
  if (node.domain !== "") return undefined;
  if (isSquare(node)) return "a square overflows from 256 on";
  if (node.opType === "Pow") return powerRisk(entry);
  if (node.opType === "Exp")
    return isShifted(node.inputs[0]) ? undefined : "an exponential overflows from 11.1 on";
  if (isOp(node, "ReduceSum", "ReduceL1")) return isLongSum(entry) ? "a sum of many terms" : undefined;
  return own(overflowing, node.opType);
}

export function isSquare(node: Node): boolean {
  return isOp(node, "Mul") && node.inputs[0] !== undefined && node.inputs[0] === node.inputs[1];
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
      if (isOp(reader, ...saturating)) continue;
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
