/** @file `com.microsoft::NhwcConv`, which ONNX Runtime computes with CUDA: weights [M,kH,kW,C/group]. */

import { isStored, storedTensor } from "../../facts/stored.ts";
import type { DType } from "../../ir/dtype.ts";
import type { Node, Value } from "../../ir/model.ts";
import type { AttributeSpec, GraphPatch, NodeSpec } from "../../ir/patch.ts";
import { emitted } from "../../ops/emitted.ts";
import type { PassContext } from "../pass.ts";
import { nhwcTensor } from "./constants.ts";
import { perm, toNhwc } from "./functions.ts";

export const microsoft = "com.microsoft";

/** Its type constraint. Source: ONNX Runtime's ContribOperators.md. */
const types: ReadonlySet<DType> = new Set(["float16", "float32", "float64"]);

export class NhwcConvs {
  readonly #context: PassContext;
  readonly #graph: GraphPatch;
  readonly #weights = new Map<Value, string>();

  constructor(context: PassContext, graph: GraphPatch) {
    this.#context = context;
    this.#graph = graph;
  }

  /** Whether anything was written that needs the domain. */
  get isUsed(): boolean {
    return this.#weights.size > 0;
  }

  /** The node on NHWC values, `inputs` and `outputs` already their names; undefined where it has no such form. */
  convert(
    node: Node,
    inputs: readonly string[],
    outputs: readonly string[],
  ): readonly NodeSpec[] | undefined {
    const [, weight] = node.inputs;
    if (node.opType !== "Conv" || weight === undefined) return undefined;
    const fact = this.#context.facts.root.fact(weight);
    if (fact?.kind !== "tensor" || fact.dtype === undefined || !types.has(fact.dtype)) return undefined;
    const kernel = fact.shape?.slice(2).flatMap((dim) => (typeof dim === "number" ? [dim] : []));
    if (kernel?.length !== 2) return undefined;
    const conversions: NodeSpec[] = [];
    const moved = this.#weightOf(weight, conversions);
    const attributes = new Map<string, AttributeSpec>([["kernel_shape", { type: "ints", values: kernel }]]);
    const names = inputs.map((name, index) => (index === 1 ? moved : name));
    return [
      ...conversions,
      { base: node, domain: microsoft, opType: "NhwcConv", inputs: names, outputs, attributes },
    ];
  }

  #weightOf(value: Value, conversions: NodeSpec[]): string {
    const known = this.#weights.get(value);
    if (known !== undefined) return known;
    const name = this.#context.names.make(`${value.name}_nhwc`);
    this.#weights.set(value, name);
    const stored = isStored(value, this.#context.facts.root) ? storedTensor(value) : undefined;
    if (stored === undefined) {
      const attributes = new Map([["perm", perm(toNhwc)]]);
      const label = this.#context.names.make(`tc_lint/Transpose/${name}`);
      conversions.push({
        name: label,
        opType: emitted.Transpose,
        inputs: [value.name],
        outputs: [name],
        attributes,
      });
      return name;
    }
    this.#graph.added.set(name, nhwcTensor(stored, this.#context));
    return name;
  }
}
