/** @file Writes the Pads and Slices at one value after the other, and has its readers read what they need. */
import type { Axis } from "../../ir/axis.ts";
import { invariant } from "../../ir/errors.ts";
import { pushAll } from "../../ir/lists.ts";
import type { Value } from "../../ir/model.ts";
import type { GraphPatch, NodeSpec } from "../../ir/patch.ts";
import type { ApplyInput } from "./apply.ts";
import type { Drafts } from "./drafts.ts";
import { type Conversion, type Edge, edgeIn, edgeOut } from "./edges.ts";
import type { Conversions, Cut } from "./inner-edges.ts";

export class EdgeWriter {
  readonly #input: ApplyInput;
  readonly #graph: GraphPatch;
  readonly #drafts: Drafts;

  constructor(input: ApplyInput, graph: GraphPatch, drafts: Drafts) {
    this.#input = input;
    this.#graph = graph;
    this.#drafts = drafts;
  }

  /** What stands at a padded value that a node computes or a caller gives; nothing, at most of them. */
  convert(value: Value, axes: readonly Axis[]): void {
    const { inner, scope } = this.#input.relations;
    const here = inner.conversionsAt(value, axes, this.#input.sizes);
    const isEnd = value.isInput || value.isOutput;
    if (!isEnd && here.widened.length === 0 && here.cuts.length === 0) return;
    const { sizes, model, names } = this.#input;
    const fact = scope.fact(value);
    const dtype = fact?.kind === "tensor" ? fact.dtype : undefined;
    invariant(dtype !== undefined, `"${value.name}" is padded, but its type is not known`);
    const padded = isEnd ? names.make(`${value.name}_padded`) : value.name;
    const edge = { value, dtype, inner: padded, axes, sizes, opset: model.opsets.get("") ?? 1, names };
    if (isEnd) this.#convertEnd(edge, here);
    else if (here.widened.length > 0) this.#widen(edge, here);
    for (const cut of here.cuts) this.#cut(edge, cut);
  }

  /** Everything inside the graph reads and writes the padded value, but who takes the model's own. */
  #convertEnd(edge: Edge, { before }: Conversions): void {
    const { value, inner } = edge;
    const nodes = this.#added(value.isInput ? edgeIn(edge) : edgeOut(edge));
    // Who reads an output needs it at once.
    if (value.isOutput && before !== undefined) this.#placeBehind(value, nodes);
    else pushAll(value.isInput ? this.#graph.first : this.#graph.last, nodes);
    for (const node of value.consumers) {
      const inputs = this.#drafts.inputsOf(node);
      for (const [index, input] of node.inputs.entries()) if (input === value) inputs[index] = inner;
    }
    this.#writeAs(value, inner);
    if (before !== undefined) this.#readAs(value.name, before);
  }

  /** Its producer gives it at its true size. */
  #widen(edge: Edge, { widened, before }: Conversions): void {
    const { value, names } = edge;
    const outer = names.make(`${value.name}_true`);
    this.#writeAs(value, outer);
    this.#placeBehind(value, this.#added(edgeIn({ ...edge, outer, along: widened })));
    if (before !== undefined) this.#readAs(outer, before);
  }

  #cut(edge: Edge, cut: Cut): void {
    const { value, names } = edge;
    const outer = names.make(`${value.name}_true`);
    this.#placeBehind(value, this.#added(edgeOut({ ...edge, outer, along: cut.positions })));
    this.#readAs(outer, cut);
  }

  #added({ nodes, tensors }: Conversion): readonly NodeSpec[] {
    for (const [name, tensor] of tensors) this.#graph.added.set(name, tensor);
    return nodes;
  }

  #placeBehind({ producer }: Value, nodes: readonly NodeSpec[]): void {
    pushAll(producer === undefined ? this.#graph.first : this.#drafts.of(producer).behind, nodes);
  }

  #writeAs(value: Value, name: string): void {
    const { producer } = value;
    if (producer !== undefined) this.#drafts.outputsOf(producer)[producer.outputs.indexOf(value)] = name;
  }

  #readAs(name: string, { readers }: Cut): void {
    for (const { node, index } of readers) this.#drafts.inputsOf(node)[index] = name;
  }
}
