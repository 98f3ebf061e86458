/**
 * @file Before half: what leaves float16's range on the inputs seen is held at a power of two of its size. In FP32 the
 * model computes what it did, to the bit, denormals aside.
 */

import { storedTensor } from "../../facts/stored.ts";
import { hasAttribute } from "../../ir/attributes.ts";
import { labelOf, type Node, type Value } from "../../ir/model.ts";
import { type NodeSpec, type OpenTensor, Patch, type TensorSpec } from "../../ir/patch.ts";
import { emitted } from "../../ops/emitted.ts";
import type { Pass, PassContext, PassNote, PassResult } from "../pass.ts";
import { TransformedTensor } from "../transform-tensor.ts";
import { productGains } from "./choose.ts";
import { buildFloatGraph, type FloatGraph, type FloatNode } from "./graph.ts";
import { plainNumbers } from "./magnitudes.ts";
import { planScales, type ScalePlan } from "./rescale-plan.ts";
import { numbersAs } from "./stored-half.ts";

/** Does nothing unless FP16 is asked for, and ranges are known. */
export const rescale: Pass = { name: "half", safe: false, run };

function run(context: PassContext): PassResult {
  const nothing: PassResult = { patch: new Patch(), notes: [] };
  const { options } = context;
  if (options.halfType !== "float16" || options.ranges === undefined) return nothing;
  const graph = buildFloatGraph(context.facts, options.halfType);
  const plan = planScales(graph, context);
  if (plan.exponents.size === 0 || !isWorth(plan, graph, context)) return nothing;
  const patch = new Rescaler(graph, plan, context).run();
  return { patch, notes: [noteOf(plan, options.ranges)] };
}

/** Some product that float16 is faster at must be in it. */
function isWorth({ exponents }: ScalePlan, graph: FloatGraph, context: PassContext): boolean {
  if (context.options.halfOnlyWhereFaster !== true) return true;
  const gains = productGains(graph, context);
  return graph.nodes.some((entry) => {
    const isScaled = [...entry.node.inputs, ...entry.node.outputs].some(
      (value) => value && exponents.has(value),
    );
    return entry.isProduct && isScaled && (gains.get(entry) ?? 1) > 0;
  });
}

function noteOf(
  { exponents }: ScalePlan,
  { largest, areSamples }: NonNullable<PassContext["options"]["ranges"]>,
): PassNote {
  const [[first] = []] = exponents;
  let [deepest, seen] = [0, 0];
  for (const [{ name }, exponent] of exponents) {
    deepest = Math.max(deepest, exponent);
    seen = Math.max(seen, largest.get(name) ?? 0);
  }
  const inputs = areSamples ? "sample" : "drawn";
  const from = first?.producer === undefined ? "" : ` from "${labelOf(first.producer)}" on`;
  return {
    kind: "changed",
    node: first?.producer,
    message: `${exponents.size} values${from} reach ${Number(seen.toPrecision(3))} on ${inputs} inputs, beyond FP16: scaled down by up to 2^${deepest}, in the weights of the products that make them`,
  };
}

class Rescaler {
  readonly #graph: FloatGraph;
  readonly #plan: ScalePlan;
  readonly #context: PassContext;
  readonly #patch = new Patch();
  /** Names of values at their new scale. */
  readonly #scaled = new Map<Value, string>();
  /** By value and factor: what is scaled alike is stored once. */
  readonly #copies = new Map<string, string>();

  constructor(graph: FloatGraph, plan: ScalePlan, context: PassContext) {
    this.#graph = graph;
    this.#plan = plan;
    this.#context = context;
  }

  run(): Patch {
    for (const value of this.#plan.exponents.keys()) {
      this.#scaled.set(value, this.#context.names.make(`${value.name}_scaled`));
    }
    for (const node of this.#context.model.graph.nodes) this.#emit(node);
    return this.#patch;
  }

  #emit(node: Node): void {
    const entry = this.#graph.byNode.get(node);
    const rule = entry && this.#plan.rules.get(entry);
    const inputs = node.inputs.map((value) => {
      if (value === undefined) return "";
      const scaled = rule === undefined ? undefined : this.#scaled.get(value);
      return scaled ?? this.#storedName(value, entry) ?? value.name;
    });
    const outputs = node.outputs.map((value) => (value && this.#scaled.get(value)) ?? value?.name ?? "");
    const differs = (names: readonly string[], values: Node["inputs"]) =>
      names.some((name, position) => name !== (values[position]?.name ?? ""));
    if (!differs(inputs, node.inputs) && !differs(outputs, node.outputs)) return;
    const behind = node.outputs.flatMap((value) => (value === undefined ? [] : this.#unscaled(value)));
    this.#patch.of(node.graph).nodes.set(node, [{ base: node, inputs, outputs }, ...behind]);
  }

  /** A stored operand at the scale that its reader now has. */
  #storedName(value: Value, entry: FloatNode | undefined): string | undefined {
    const rule = entry && this.#plan.rules.get(entry);
    if (rule === undefined) return undefined;
    const { exponents } = this.#plan;
    const of = (each: Value | undefined) => (each && exponents.get(each)) ?? 0;
    let exponent = 0;
    if (rule.kind === "homogeneous") exponent = rule.stored.includes(value) ? -of(rule.values[0]) : 0;
    else if (value === rule.weight) exponent = of(rule.input) - of(rule.output);
    else if (value === rule.bias) exponent = -of(rule.output);
    return exponent === 0 ? undefined : this.#copy(value, 2 ** exponent);
  }

  #copy(value: Value, factor: number): string {
    const key = `${value.id} ${factor}`;
    const known = this.#copies.get(key);
    if (known !== undefined) return known;
    const tensor = times(value, factor, this.#context.open);
    const graph = this.#patch.of(value.graph);
    // Read once, it is changed where it is.
    const isOwn = value.consumers.length === 1 && !value.isInput && !value.isOutput;
    const name = isOwn ? value.name : this.#context.names.make(`${value.name}_scaled`);
    (isOwn && value.initializer !== undefined ? graph.tensors : graph.added).set(name, tensor);
    if (isOwn && value.producer !== undefined) graph.nodes.set(value.producer, []);
    this.#copies.set(key, name);
    return name;
  }

  /** As it was, for those who need it so; nothing where nobody does. */
  #unscaled(value: Value): NodeSpec[] {
    const [scaled, exponent] = [this.#scaled.get(value), this.#plan.exponents.get(value)];
    if (scaled === undefined || exponent === undefined) return [];
    const isRead = value.consumers.some((node) => {
      const reader = this.#graph.byNode.get(node);
      return reader === undefined || !this.#plan.rules.has(reader);
    });
    const graph = this.#patch.of(value.graph);
    if (!isRead && !value.isOutput) {
      if (value.declared !== undefined) graph.declared.set(value.name, null);
      return [];
    }
    const factor = this.#context.names.make(`${value.name}_scale`);
    graph.added.set(factor, numbersAs([2 ** exponent], [], "float32"));
    return [{ opType: emitted.Mul, inputs: [scaled, factor], outputs: [value.name] }];
  }
}

function times(value: Value, factor: number, open: OpenTensor): TensorSpec {
  const tensor = storedTensor(value);
  if (tensor === undefined) {
    const numbers = plainNumbers(value) ?? [];
    const isOne = value.producer !== undefined && hasAttribute(value.producer, "value_float");
    return numbersAs(
      numbers.map((number) => number * factor),
      isOne ? [] : [numbers.length],
      "float32",
    );
  }
  const map = (values: Float64Array) => {
    for (let index = 0; index < values.length; index++) values[index] = (values[index] ?? 0) * factor;
  };
  const bytes = new TransformedTensor(open(tensor), { from: "float32", to: "float32", map });
  return { dtype: "float32", dims: tensor.dims, bytes };
}
