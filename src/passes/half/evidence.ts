/** @file Which nodes stay FP32, and why: constants, observed ranges, operators, and what these imply for neighbours. */
import { storedTensor } from "../../facts/stored.ts";
import { pushAll } from "../../ir/lists.ts";
import { labelOf, type Value } from "../../ir/model.ts";
import { carriesElements, isDequantizing, isFilled, isOneOf, isOp, isSquare } from "../../ops/ask.ts";
import type { PassContext } from "../pass.ts";
import type { HalfType } from "./accepts.ts";
import { inputsOf, originOf, outputsOf, readersOf } from "./follow.ts";
import { formats } from "./formats.ts";
import type { FloatGraph, FloatNode, FloatValue } from "./graph.ts";
import { kernelLack } from "./kernels.ts";
import { Magnitudes } from "./magnitudes.ts";
import { findMasks, type Masks } from "./masks.ts";
import { imprecision, overflow, saturates } from "./operators.ts";
import { Positions } from "./positions.ts";
import { findBareNormalizations, findWholeNumbers } from "./whole-numbers.ts";

export interface Evidence {
  /** Nodes that stay FP32, with the reason for each. */
  readonly reasons: ReadonlyMap<FloatNode, string>;
  readonly masks: Masks;
  /** Inputs and outputs of the model that stay FP32 where those become half. */
  readonly floatEdges: ReadonlySet<Value>;
  /** Those of the nodes that the stack has no kernel of in half. */
  readonly withoutKernel: ReadonlySet<FloatNode>;
}

export function findEvidence(graph: FloatGraph, context: PassContext): Evidence {
  return new Finder(graph, context).find();
}

class Finder {
  readonly #graph: FloatGraph;
  readonly #context: PassContext;
  readonly #type: HalfType;
  readonly #magnitudes: Magnitudes;
  readonly #positions: Positions;
  readonly #masks: Masks;
  readonly #reasons = new Map<FloatNode, string>();
  readonly #largeOutputs = new Set<Value>();
  readonly #withoutKernel = new Set<FloatNode>();

  constructor(graph: FloatGraph, context: PassContext) {
    this.#graph = graph;
    this.#context = context;
    this.#type = context.options.halfType;
    this.#magnitudes = new Magnitudes(context.open);
    this.#positions = new Positions(graph);
    this.#masks = findMasks(graph, this.#magnitudes, this.#positions, this.#type);
  }

  find(): Evidence {
    for (const node of this.#graph.nodes) {
      const reason = this.#context.leftOut?.(labelOf(node.node));
      if (reason !== undefined) this.#keep(node, reason);
    }
    for (const value of this.#graph.values.values()) {
      this.#judgeRange(value);
      if (value.isStored || isFilled(value.value.producer)) this.#judgeConstant(value);
    }
    const { nodes, inputs } = findWholeNumbers(this.#graph);
    for (const node of nodes) this.#keep(node, "an integer is computed from it");
    const bare = findBareNormalizations(this.#graph);
    for (const node of bare.nodes)
      this.#keep(node, "a normalization without an epsilon divides by their variance, which may round to 0");
    const { held, inputs: masks } = this.#masks;
    for (const node of held) this.#keep(node, "may add a mask that is −∞ in half precision");
    for (const node of this.#graph.nodes) this.#judgeNode(node);
    const floatEdges = new Set([...inputs, ...bare.inputs, ...masks, ...this.#largeOutputs]);
    return { reasons: this.#reasons, masks: this.#masks, floatEdges, withoutKernel: this.#withoutKernel };
  }

  #keep(node: FloatNode, reason: string): boolean {
    if (this.#reasons.has(node)) return false;
    this.#reasons.set(node, reason);
    return true;
  }

  /** What was seen on samples: both who makes it and who reads it hold it in FP32. */
  #judgeRange(value: FloatValue): void {
    const { maxObserved, label } = formats[this.#type];
    const seen = this.#context.options.ranges?.largest.get(value.value.name);
    if (seen === undefined || value.isStored || this.#masks.reached.has(value.value)) return;
    // An infinity on samples is a mask: half has it too.
    if (seen <= maxObserved || seen === Infinity) return;
    if (value.value.isOutput) this.#largeOutputs.add(value.value);
    this.#holdInFloat(
      value,
      `reaches ${rounded(seen)} on ${this.#context.options.ranges?.areSamples ? "sample" : "drawn"} inputs, too close to the largest ${label} number`,
    );
  }

  #judgeConstant(value: FloatValue): void {
    const magnitude = this.#magnitudes.of(value);
    if (magnitude === undefined || magnitude.largest === 0) return;
    const { max, minNormal, label, isNarrow } = formats[this.#type];
    const { largest, lowest, vanishing } = magnitude;
    if (largest > max && !this.#masks.clamps.has(value.value)) {
      const extreme = -lowest > max ? lowest : largest;
      this.#spreadLarge(value, `the constant ${rounded(extreme)} is out of ${label}'s range`);
    }
    const isLost = isNarrow && vanishing > 0;
    if (largest >= minNormal && !isLost) return;
    const what = isLost
      ? `${vanishing} lanes of "${value.value.name}" underflow`
      : `the constant ${rounded(largest)} underflows`;
    const reason = `${what} in ${label}`;
    for (const reader of readersOf(value)) {
      if (isBias(reader, value)) continue;
      if (this.#keep(reader, reason) && (isLost || !reader.isProduct)) this.#spreadFine(reader, reason);
    }
  }

  #holdInFloat(value: FloatValue, reason: string): void {
    if (value.producer?.slot === "half") this.#keep(value.producer.user, reason);
    for (const { user, slot } of value.readers) if (slot === "half") this.#keep(user, reason);
  }

  /** A number out of range goes on through nodes that move and combine it. */
  #spreadLarge(start: FloatValue, reason: string): void {
    const pending = [start];
    for (let value = pending.pop(); value !== undefined; value = pending.pop()) {
      for (const reader of readersOf(value)) {
        if (isBounding(reader, value)) continue;
        if (!this.#keep(reader, reason)) continue;
        if (
          carriesElements(reader.node) ||
          isOp(reader.node, "Where", "Neg") ||
          this.#meetsConstants(reader, value)
        )
          pushAll(pending, outputsOf(reader, this.#graph));
      }
    }
    if (start.producer?.slot === "half" && !start.isStored) this.#keep(start.producer.user, reason);
  }

  /**
   * Squares, and sums with a tiny constant, span more powers of two than half has, until a root or a reciprocal
   * brings them back: mean(x²) + ε of a normalization.
   */
  #spreadFine(start: FloatNode, reason: string): void {
    const pending = outputsOf(start, this.#graph);
    for (let value = pending.pop(); value !== undefined; value = pending.pop()) {
      for (const reader of readersOf(value)) {
        const { node } = reader;
        const divides = isOp(node, "Div") && node.inputs[1] === value.value;
        const ends = divides || isOp(node, "Log");
        const goesOn = carriesElements(node) || isOneOf(node, fineOps) || this.#meetsConstants(reader, value);
        if (!(ends || goesOn) || !this.#keep(reader, reason)) continue;
        if (isOp(node, "Reciprocal")) this.#keepScaled(reader, reason);
        else if (goesOn) pushAll(pending, outputsOf(reader, this.#graph));
      }
    }
  }

  /** Arithmetic of a value with constants, or with what is made from whole numbers. */
  #meetsConstants(reader: FloatNode, { value }: FloatValue): boolean {
    if (!isOp(reader.node, "Add", "Sub", "Mul", "Max", "Clip")) return false;
    return inputsOf(reader, this.#graph).every(
      (input) => input.value === value || input.isStored || this.#positions.isWhole(input.value),
    );
  }

  /** x · (1 / σ). */
  #keepScaled(reciprocal: FloatNode, reason: string): void {
    for (const value of outputsOf(reciprocal, this.#graph)) {
      for (const reader of readersOf(value)) if (isOp(reader.node, "Mul")) this.#keep(reader, reason);
    }
  }

  #judgeNode(entry: FloatNode): void {
    const { node } = entry;
    this.#judgeKernel(entry);
    const lost = imprecision(node);
    if (lost !== undefined) this.#keep(entry, lost);
    if (this.#positions.computes(entry)) this.#keep(entry, "computes with positions or sizes");
    if (this.#isQuantized(entry)) this.#keep(entry, "computes with 8-bit integers");
    this.#judgeCentering(entry);
    if (!formats[this.#type].isNarrow || this.#isSeenSmall(entry)) return;
    const reason = overflow(entry);
    if (reason === undefined || this.#isSaturating(entry)) return;
    this.#keep(entry, reason);
    if (isOp(node, "Log")) this.#keepBefore(entry, reason);
    else this.#spreadFine(entry, reason);
  }

  /** What would not run. A node that takes no half in any way needs no reason. */
  #judgeKernel(entry: FloatNode): void {
    if (![...entry.inputs, ...entry.outputs].includes("half")) return;
    const lack = kernelLack(entry.node, entry.scope, this.#type, this.#context.target);
    if (lack === undefined) return;
    this.#withoutKernel.add(entry);
    this.#keep(entry, lack);
  }

  /** Every range of the node was observed on inputs that the model is used on, and small. */
  #isSeenSmall(entry: FloatNode): boolean {
    const { ranges } = this.#context.options;
    if (ranges?.areSamples !== true) return false;
    const { maxObserved } = formats[this.#type];
    const values = [...inputsOf(entry, this.#graph), ...outputsOf(entry, this.#graph)];
    return values.every(
      ({ value, isStored }) => isStored || (ranges.largest.get(value.name) ?? Infinity) <= maxObserved,
    );
  }

  #isSaturating({ node }: FloatNode): boolean {
    if (!isOp(node, "Pow") && !isSquare(node)) return false;
    return saturates(node, (value) => this.#graph.values.get(value)?.isStored === true);
  }

  /** A logarithm is only as good as the small numbers it is given. */
  #keepBefore(log: FloatNode, reason: string): void {
    for (const { producer } of inputsOf(log, this.#graph)) {
      if (producer !== undefined && !producer.user.isProduct) this.#keep(producer.user, reason);
    }
  }

  /** x − mean(x), before its square: what is left after large numbers cancel. */
  #judgeCentering(entry: FloatNode): void {
    if (!isOp(entry.node, "Sub")) return;
    const [x, mean] = entry.node.inputs;
    const { producer } = mean === undefined ? {} : originOf(mean);
    if (!isOp(producer, "ReduceMean") || producer?.inputs[0] !== x) return;
    const squared = outputsOf(entry, this.#graph).some((value) =>
      [...readersOf(value)].some(({ node }) => isSquare(node) || isOp(node, "Pow")),
    );
    const averaging = producer && this.#graph.byNode.get(producer);
    if (!squared || averaging === undefined) return;
    const reason = "a variance loses digits where large numbers cancel";
    this.#keep(entry, reason);
    this.#keep(averaging, reason);
  }

  /** Reads activations that were 8-bit codes. */
  #isQuantized(entry: FloatNode): boolean {
    return inputsOf(entry, this.#graph).some(({ value }) => {
      const { producer } = originOf(value);
      const dequantize = producer && isDequantizing(producer) ? this.#graph.byNode.get(producer) : undefined;
      const codes = producer?.inputs[0];
      return dequantize?.outputs[0] === "float" && (codes === undefined || storedTensor(codes) === undefined);
    });
  }
}

const fineOps = ["ReduceMean", "ReduceSum", "ReduceMax", "Sqrt", "Reciprocal"];

/** What half loses of a small bias, it loses of the sum as well: as much, at the most. */
function isBias({ node, isProduct }: FloatNode, { value }: FloatValue): boolean {
  return isProduct && isOp(node, "Conv", "ConvTranspose", "Gemm") && node.inputs.indexOf(value) === 2;
}

const bounding = ["Clip", "Min", "Max", "Less", "Greater", "LessOrEqual", "GreaterOrEqual"];

/** An infinite bound bounds as well, and compares as well. */
function isBounding({ node }: FloatNode, value: FloatValue): boolean {
  if (!value.isStored) return false;
  return isOneOf(node, bounding);
}

function rounded(value: number): string {
  return String(Number(value.toPrecision(3)));
}
