/** @file One node of the main graph as the layout pass writes it: what it reads and gives in NHWC, its axes renumbered. */
import { Scope } from "../../facts/scope.ts";
import type { Attribute, Node, Value } from "../../ir/model.ts";
import type { AttributeSpec, NodeSpec } from "../../ir/patch.ts";
import type { Fact } from "../../ops/op.ts";
import { toNhwc } from "./functions.ts";

export class TurnedScope extends Scope {
  readonly #base: Scope;
  /** Of one node at a time: what one reads in NHWC another may read as it was. */
  readonly #turned = new Map<Value, Fact>();

  constructor(base: Scope) {
    super({ model: base.model, graph: base.graph, opsets: base.opsets });
    this.#base = base;
  }

  override fact(value: Value): Fact | undefined {
    return this.#turned.get(value) ?? this.#base.fact(value);
  }

  override outputsOf(node: Node): (Fact | undefined)[] {
    return node.outputs.map((value) => value && this.fact(value));
  }

  /** The node under `spec`, to be asked about in this scope until the next one is; undefined where it cannot be told. */
  enter(node: Node, spec: NodeSpec, numbers: ReadonlyMap<string, readonly number[]>): Node | undefined {
    this.#turned.clear();
    for (const [values, names] of [
      [node.inputs, spec.inputs],
      [node.outputs, spec.outputs],
    ] as const) {
      for (const [index, name] of (names ?? []).entries()) {
        const value = values[index];
        if (value === undefined || name === value.name) continue;
        const fact = factOf(numbers.get(name), this.#base.fact(value));
        if (fact === undefined) return undefined;
        this.#turned.set(value, fact);
      }
    }
    return spec.attributes === undefined ? node : withAttributes(node, spec.attributes);
  }
}

/** Of what has another name now: numbers that are known, or an image in NHWC. */
function factOf(numbers: readonly number[] | undefined, fact: Fact | undefined): Fact | undefined {
  if (numbers !== undefined)
    return { kind: "tensor", dtype: "int64", shape: [numbers.length], elements: numbers };
  if (fact?.kind !== "tensor" || fact.shape?.length !== toNhwc.length) return undefined;
  const { dtype, shape } = fact;
  return { kind: "tensor", dtype, shape: toNhwc.flatMap((axis) => shape[axis] ?? []) };
}

function withAttributes(node: Node, specs: ReadonlyMap<string, AttributeSpec | null>): Node | undefined {
  const kept = node.attributes.filter(({ name }) => !specs.has(name));
  const written: Attribute[] = [];
  for (const [name, value] of specs) {
    if (value === null) continue;
    if (value.type === "tensor") return undefined;
    written.push({ name, value });
  }
  return { ...node, attributes: [...kept, ...written] };
}
