/**
 * @file The layout pass: convolutions and what lies between them on NHWC values, Transposes only at the borders.
 *
 * Every image value has up to two forms: its own name for NCHW, a new one for NHWC. A form that nobody asks for is
 * never made; one that is asked for is made once, before its first reader.
 */
import { labelOf, type Node, operatorOf, type Value } from "../../ir/model.ts";
import { type GraphPatch, type NodeSpec, Patch } from "../../ir/patch.ts";
import { nhwcDomain } from "../../ops/nhwc.ts";
import type { Pass, PassContext, PassNote, PassResult } from "../pass.ts";
import { isStored } from "../stored.ts";
import { int64Tensor } from "../tensors.ts";
import { nhwcConstant } from "./constants.ts";
import { leastIrVersion, NhwcFunctions, perm, toNchw, toNhwc } from "./functions.ts";
import { anchors, type Form, formOf, isImage, isScalar, positionInNhwc } from "./layouts.ts";
import { permOf, throughTranspose } from "./transposes.ts";

export const channelsLast: Pass = {
  name: "channels-last",
  safe: false,
  run: (context) => new LayoutPass(context).run(),
};

class LayoutPass {
  readonly #context: PassContext;
  readonly #patch = new Patch();
  readonly #graph: GraphPatch;
  readonly #functions: NhwcFunctions;
  readonly #notes: PassNote[] = [];
  /** Name of the NHWC form, where there is one by now. */
  readonly #nhwc = new Map<Value, string>();
  /** Values whose NCHW form has to be made from the NHWC one before it can be read. */
  readonly #onlyNhwc = new Set<Value>();
  #converted = 0;

  constructor(context: PassContext) {
    this.#context = context;
    this.#graph = this.#patch.of(context.model.graph);
    this.#functions = new NhwcFunctions(context.model.opsets.get("") ?? 1);
  }

  run(): PassResult {
    for (const node of this.#context.model.graph.nodes) this.#visit(node);
    if (this.#converted === 0) return { patch: new Patch(), notes: [] };
    this.#patch.functions.push(...this.#functions.specs);
    if (this.#functions.specs.length > 0 && !this.#context.model.opsets.has(nhwcDomain)) {
      this.#patch.opsets.set(nhwcDomain, 1);
      this.#patch.leastIrVersion = leastIrVersion;
    }
    const message = `${this.#converted} convolution(s) and what lies between them on NHWC values`;
    return { patch: this.#patch, notes: [{ kind: "changed", node: undefined, message }, ...this.#notes] };
  }

  #visit(node: Node): void {
    const moved = this.#absorbTranspose(node) ?? this.#toNhwc(node);
    if (moved !== undefined) {
      this.#graph.nodes.set(node, [...moved, ...this.#neededBehind(node)]);
      return;
    }
    const conversions = node.inputs.flatMap((value) =>
      value === undefined ? [] : this.#nchwOf(value, node),
    );
    if (conversions.length > 0) this.#graph.nodes.set(node, [...conversions, { base: node }]);
  }

  /** A Transpose of an NHWC value reads it as it is. */
  #absorbTranspose(node: Node): readonly NodeSpec[] | undefined {
    const [input] = node.inputs;
    const name = input === undefined ? undefined : this.#nhwc.get(input);
    const order = permOf(node);
    if (name === undefined || order === undefined) return undefined;
    const from = order.map((axis) => positionInNhwc[axis] ?? axis);
    const isIdentity = from.every((axis, index) => axis === index);
    if (isIdentity)
      return [{ base: node, opType: "Identity", inputs: [name], attributes: new Map([["perm", null]]) }];
    return [{ base: node, inputs: [name], attributes: new Map([["perm", perm(from)]]) }];
  }

  #toNhwc(node: Node): readonly NodeSpec[] | undefined {
    const { root } = this.#context.facts;
    const found = formOf(node, root);
    if (found === undefined || !this.#pays(node, found.images)) return undefined;
    const call = found.form.kind === "function" ? this.#functions.call(node) : undefined;
    if (found.form.kind === "function" && call === undefined) return undefined;
    const conversions: NodeSpec[] = [];
    const inputs = node.inputs.map((value) => {
      if (value === undefined) return "";
      if (found.images.includes(value)) return this.#nhwcOf(value, conversions);
      return found.form.kind === "elementwise" ? this.#constantFor(value, conversions) : value.name;
    });
    const outputs = node.outputs.map((value) => (value === undefined ? "" : this.#produce(value)));
    if (anchors.has(node.opType)) this.#converted += 1;
    return [...conversions, this.#spec(node, found.form, call, inputs, outputs)];
  }

  #spec(node: Node, form: Form, call: string | undefined, inputs: string[], outputs: string[]): NodeSpec {
    if (call !== undefined) return { base: node, domain: nhwcDomain, opType: call, inputs, outputs };
    if (form.kind === "attribute") {
      const { name, value } = form;
      const spec = typeof value === "number" ? { type: "int" as const, value } : perm(value);
      return { base: node, inputs, outputs, attributes: new Map([[name, spec]]) };
    }
    if (form.kind === "input") inputs[form.index] = this.#numbers(node, form.values);
    return { base: node, inputs, outputs };
  }

  /** Convolutions always; the rest goes along where at least half of what it reads is NHWC already. */
  #pays(node: Node, images: readonly Value[]): boolean {
    if (anchors.has(node.opType)) return true;
    const ready = images.filter((value) => this.#nhwc.has(value)).length;
    return ready > 0 && 2 * ready >= images.length;
  }

  /** Declares that a node now gives `value` in NHWC, and under which name. */
  #produce(value: Value): string {
    const image: boolean = isImage(value, this.#context.facts.root);
    if (!image) return value.name;
    const name = this.#context.names.make(`${value.name}_nhwc`);
    this.#nhwc.set(value, name);
    this.#onlyNhwc.add(value);
    if (value.declared !== undefined && !value.isOutput) this.#graph.declared.set(value.name, null);
    return name;
  }

  #nhwcOf(value: Value, conversions: NodeSpec[]): string {
    const known = this.#nhwc.get(value) ?? throughTranspose(value);
    if (known !== undefined) return known;
    const name = this.#context.names.make(`${value.name}_nhwc`);
    conversions.push(this.#transpose(value.name, name, toNhwc));
    this.#nhwc.set(value, name);
    return name;
  }

  /** The Transpose that makes the NCHW form, unless it is there. */
  #nchwOf(value: Value, reader: Node | undefined): readonly NodeSpec[] {
    const name = this.#nhwc.get(value);
    if (!this.#onlyNhwc.has(value) || name === undefined) return [];
    this.#onlyNhwc.delete(value);
    this.#graph.declared.delete(value.name);
    if (reader !== undefined) {
      const message = `${operatorOf(reader)} "${labelOf(reader)}" needs "${value.name}" in NCHW`;
      this.#notes.push({ kind: "blocked", node: reader, message });
    }
    return [this.#transpose(name, value.name, toNchw)];
  }

  /** NCHW forms that cannot wait for a reader: outputs of the model, and what a subgraph reads. */
  #neededBehind(node: Node): readonly NodeSpec[] {
    return node.outputs.flatMap((value) => {
      if (value === undefined) return [];
      const captured = value.consumers.some((reader) => reader.graph !== value.graph);
      return value.isOutput || captured ? this.#nchwOf(value, undefined) : [];
    });
  }

  #constantFor(value: Value, conversions: NodeSpec[]): string {
    const { root } = this.#context.facts;
    if (isScalar(value, root) || !isStored(value, root)) return value.name;
    const known = this.#nhwc.get(value);
    if (known !== undefined) return known;
    const { name, tensor, nodes } = nhwcConstant(value, this.#context);
    if (tensor !== undefined) this.#graph.added.set(tensor.name, tensor.spec);
    conversions.push(...nodes);
    this.#nhwc.set(value, name);
    return name;
  }

  #numbers(node: Node, values: readonly number[]): string {
    const name = this.#context.names.make(`${labelOf(node)}_nhwc_sizes`);
    this.#graph.added.set(name, int64Tensor(values));
    return name;
  }

  #transpose(from: string, to: string, order: readonly number[]): NodeSpec {
    const name = this.#context.names.make(`tc_lint/Transpose/${to}`);
    return {
      name,
      opType: "Transpose",
      inputs: [from],
      outputs: [to],
      attributes: new Map([["perm", perm(order)]]),
    };
  }
}
