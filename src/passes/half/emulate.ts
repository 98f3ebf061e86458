/**
 * @file What a half model computes, in FP32: every value that it holds in half is rounded to half and back.
 *
 * ONNX Runtime's CPU provider has no bfloat16 arithmetic, and computes most of FP16 in FP32 without rounding in between.
 * This runs on it, and errs as a GPU that accumulates in FP32 does.
 */
import { dtypes } from "../../ir/dtype.ts";
import type { Node, Value } from "../../ir/model.ts";
import { type NodeSpec, Patch } from "../../ir/patch.ts";
import type { PassContext } from "../pass.ts";
import { encodeNumbers, MemoryBytes } from "../tensors.ts";
import type { HalfType } from "./accepts.ts";
import { chooseHalf } from "./choose.ts";
import { type Evidence, findEvidence } from "./evidence.ts";
import { buildFloatGraph, type FloatGraph, type FloatNode, type FloatValue } from "./graph.ts";

/** The model of the same decisions as the half pass takes, with the types it has now. */
export function emulateHalf(context: PassContext): Patch {
  const graph = buildFloatGraph(context.facts, context.options.halfType);
  const evidence = findEvidence(graph, context);
  return new Emulator(graph, chooseHalf(graph, evidence, context), evidence, context).run();
}

class Emulator {
  readonly #graph: FloatGraph;
  readonly #half: ReadonlySet<FloatNode>;
  readonly #evidence: Evidence;
  readonly #context: PassContext;
  readonly #type: HalfType;
  readonly #patch = new Patch();
  /** Names of rounded values, for readers in half. */
  readonly #rounded = new Map<Value, string>();
  /** Names of clamped mask constants, for readers in FP32. */
  readonly #clamped = new Map<Value, string>();
  /** New names of results before they are rounded. */
  readonly #raw = new Map<Value, string>();
  readonly #behind = new Map<Node, NodeSpec[]>();

  constructor(graph: FloatGraph, half: ReadonlySet<FloatNode>, evidence: Evidence, context: PassContext) {
    this.#graph = graph;
    this.#half = half;
    this.#evidence = evidence;
    this.#context = context;
    this.#type = context.options.halfType;
  }

  run(): Patch {
    for (const value of this.#graph.values.values()) this.#round(value);
    for (const scope of this.#graph.scopes) for (const node of scope.graph.nodes) this.#emit(node);
    return this.#patch;
  }

  #isHalf(use: { readonly user: FloatNode; readonly slot: string } | undefined): boolean {
    return use?.slot === "half" && this.#half.has(use.user);
  }

  /** A result in half goes on under its own name, rounded; anything else is rounded for those who read it in half. */
  #round({ value, producer, readers }: FloatValue): void {
    const isMadeHalf = this.#isHalf(producer);
    const isReadHalf = readers.some((reader) => this.#isHalf(reader));
    const from = isMadeHalf ? this.#name(value, "exact") : value.name;
    if (isMadeHalf) this.#raw.set(value, from);
    const least = this.#evidence.masks.clamps.get(value);
    const clamped = least === undefined ? from : this.#clamp(value, from, least);
    if (!isMadeHalf && !isReadHalf) return;
    const rounded = isMadeHalf ? value.name : this.#name(value, "rounded");
    if (!isMadeHalf) this.#rounded.set(value, rounded);
    this.#follow(value, this.#casts(value, clamped, rounded));
  }

  #clamp(value: Value, from: string, least: number): string {
    const [bound, clamped] = [this.#name(value, "least"), this.#name(value, "clamped")];
    const dtype = "float32";
    const bytes = new MemoryBytes(encodeNumbers(dtype, [least]));
    this.#patch.of(value.graph).added.set(bound, { dtype, dims: [], bytes });
    this.#follow(value, [{ opType: "Max", name: clamped, inputs: [from, bound], outputs: [clamped] }]);
    if (from === value.name) this.#clamped.set(value, clamped);
    return clamped;
  }

  #name({ name }: Value, suffix: string): string {
    return this.#context.names.make(`${name}_${suffix}`);
  }

  #follow({ producer, graph }: Value, specs: readonly NodeSpec[]): void {
    if (producer === undefined) this.#patch.of(graph).first.push(...specs);
    else this.#behind.set(producer, [...(this.#behind.get(producer) ?? []), ...specs]);
  }

  #casts(value: Value, from: string, to: string): NodeSpec[] {
    const half = this.#name(value, this.#type);
    const cast = (input: string, output: string, type: HalfType | "float32"): NodeSpec => ({
      opType: "Cast",
      name: output,
      inputs: [input],
      outputs: [output],
      attributes: new Map([["to", { type: "int", value: dtypes[type].code }]]),
    });
    return [cast(from, half, this.#type), cast(half, to, "float32")];
  }

  #emit(node: Node): void {
    const entry = this.#graph.byNode.get(node);
    const behind = this.#behind.get(node) ?? [];
    const inputs = node.inputs.map((value, position) => {
      if (value === undefined) return "";
      const isHalf = entry?.inputs[position] === "half" && this.#half.has(entry);
      return (isHalf ? this.#rounded : this.#clamped).get(value) ?? value.name;
    });
    const outputs = node.outputs.map((value) => (value && this.#raw.get(value)) ?? value?.name ?? "");
    const changesInputs = inputs.some((name, position) => name !== (node.inputs[position]?.name ?? ""));
    const changesOutputs = outputs.some((name, position) => name !== (node.outputs[position]?.name ?? ""));
    if (!changesInputs && !changesOutputs && behind.length === 0) return;
    const spec: NodeSpec = {
      base: node,
      ...(changesInputs && { inputs }),
      ...(changesOutputs && { outputs }),
    };
    this.#patch.of(node.graph).nodes.set(node, [spec, ...behind]);
  }
}
