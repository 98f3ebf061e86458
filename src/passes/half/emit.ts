/** @file The patch: nodes with the inputs, outputs and attributes of the types they compute in. */
import type { Node } from "../../ir/model.ts";
import { type AttributeSpec, type NodeSpec, Patch } from "../../ir/patch.ts";
import { isConstantNode, isFilled, isOp } from "../../ops/ask.ts";
import { emitted } from "../../ops/emitted.ts";
import type { PassContext } from "../pass.ts";
import type { HalfType } from "./accepts.ts";
import type { Evidence } from "./evidence.ts";
import type { FloatGraph, FloatNode } from "./graph.ts";
import { dtypeIn } from "./slots.ts";
import { fillAs } from "./stored-half.ts";
import { castTo, Versions } from "./versions.ts";

export interface Emitted {
  readonly patch: Patch;
  readonly casts: number;
  /** Initializers and Constant nodes that are half now, or have a half copy. */
  readonly constants: number;
}

export function emitHalf(
  graph: FloatGraph,
  half: ReadonlySet<FloatNode>,
  evidence: Evidence,
  context: PassContext,
): Emitted {
  return new Emitter(graph, half, evidence, context).run();
}

class Emitter {
  readonly #graph: FloatGraph;
  readonly #evidence: Evidence;
  readonly #context: PassContext;
  readonly #type: HalfType;
  readonly #patch = new Patch();
  readonly #versions: Versions;

  constructor(graph: FloatGraph, half: ReadonlySet<FloatNode>, evidence: Evidence, context: PassContext) {
    this.#graph = graph;
    this.#evidence = evidence;
    this.#context = context;
    this.#type = context.options.halfType;
    this.#versions = new Versions(graph, half, evidence, context, this.#patch);
  }

  run(): Emitted {
    this.#versions.place();
    for (const entry of this.#graph.nodes) this.#setType(entry);
    for (const scope of this.#graph.scopes) for (const node of scope.graph.nodes) this.#emitNode(node);
    const { casts, constants } = this.#versions;
    return { patch: this.#patch, casts, constants };
  }

  /** Operators whose type is in an attribute. */
  #setType(entry: FloatNode): void {
    const { node, outputs } = entry;
    const [output] = node.outputs;
    if (output === undefined || isConstantNode(node)) return;
    const { attributes } = this.#versions;
    const side = this.#versions.sideOf(outputs[0] ?? "other", entry);
    if (isOp(node, emitted.Cast) && side !== "float32") {
      attributes.set(node, new Map(castTo(side, this.#context.model)));
    }
    if (!isFilled(node) || outputs[0] !== "half") return;
    const least = this.#evidence.masks.clamps.get(output);
    if (side === "float32" && least === undefined) return;
    const tensor = fillAs(output, entry.scope, side, least);
    attributes.set(node, new Map([["value", { type: "tensor", tensor }]]));
  }

  #emitNode(node: Node): void {
    const { removed, behind, outputNames, attributes } = this.#versions;
    const following = behind.get(node) ?? [];
    if (removed.has(node)) {
      this.#patch.of(node.graph).nodes.set(node, following);
      return;
    }
    const inputs = this.#inputNames(node);
    const outputs = node.outputs.map((value) =>
      value === undefined ? "" : (outputNames.get(value) ?? value.name),
    );
    const typed = this.#castsNothing(node) ? identity : { attributes: attributes.get(node) };
    const spec: NodeSpec = {
      base: node,
      ...(differs(inputs, node.inputs) && { inputs }),
      ...(differs(outputs, node.outputs) && { outputs }),
      ...(typed.attributes !== undefined && { ...typed, attributes: typed.attributes }),
    };
    if (Object.keys(spec).length === 1 && following.length === 0) return;
    this.#patch.of(node.graph).nodes.set(node, [spec, ...following]);
  }

  #inputNames(node: Node): string[] {
    const entry = this.#graph.byNode.get(node);
    return node.inputs.map((value, position) => {
      if (value === undefined) return "";
      const names = this.#versions.names.get(value);
      const slot = entry?.inputs[position];
      if (names === undefined || entry === undefined || slot === undefined || slot === "other") {
        return value.name;
      }
      const isHalf = this.#versions.sideOf(slot, entry) !== "float32" || this.#castsToHalf(entry);
      const { float32, half } = names;
      return (isHalf ? (half ?? float32) : (float32 ?? half)) ?? value.name;
    });
  }

  /** From half, where that is there. */
  #castsToHalf(entry: FloatNode): boolean {
    if (!isOp(entry.node, emitted.Cast)) return false;
    const [slot] = entry.outputs;
    if (slot === "other") return dtypeIn(entry.node.outputs[0], entry.scope) === this.#type;
    return this.#versions.sideOf(slot ?? "other", entry) !== "float32";
  }

  /** A Cast from half to half: ONNX Runtime trips over those. */
  #castsNothing(node: Node): boolean {
    const entry = this.#graph.byNode.get(node);
    const [input] = node.inputs;
    if (entry === undefined || input === undefined || !this.#castsToHalf(entry)) return false;
    return this.#versions.names.get(input)?.half !== undefined;
  }
}

const identity = {
  opType: emitted.Identity,
  attributes: new Map<string, AttributeSpec | null>([
    ["to", null],
    ["saturate", null],
    ["round_mode", null],
  ]),
};

function differs(names: readonly string[], values: Node["inputs"]): boolean {
  return names.some((name, position) => name !== (values[position]?.name ?? ""));
}
