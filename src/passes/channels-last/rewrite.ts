/** @file One walk over the graph, node by node: each on NHWC values if it can be and pays, else as it was. */
import { pushAll } from "../../ir/lists.ts";
import { labelOf, type Node, type Value } from "../../ir/model.ts";
import type { AttributeSpec, GraphPatch, NodeSpec } from "../../ir/patch.ts";
import { isOp } from "../../ops/ask.ts";
import { emitted } from "../../ops/emitted.ts";
import { nhwcDomain } from "../../ops/nhwc.ts";
import type { PassContext } from "../pass.ts";
import { int64Tensor } from "../tensors.ts";
import { removeUnread } from "../unread.ts";
import { chainFrom } from "./chains.ts";
import { movableEdges } from "./edges.ts";
import { type Border, ValueForms } from "./forms.ts";
import { NhwcFunctions, perm } from "./functions.ts";
import { anchors, type Form, formOf, positionInNhwc } from "./layouts.ts";
import { NhwcConvs } from "./nhwc-conv.ts";
import { type Region, Regions } from "./nhwc-regions.ts";
import { nhwcShape } from "./shapes.ts";
import { permOf } from "./transposes.ts";

export class LayoutRewrite {
  readonly functions: NhwcFunctions;
  readonly convolutions: NhwcConvs;
  /** The convolutions that are NHWC now. */
  readonly converted: Node[] = [];
  readonly #context: PassContext;
  readonly #graph: GraphPatch;
  readonly #forms: ValueForms;
  /** Chains, by their last node: they are called where that stood. */
  readonly #chains = new Map<Node, readonly Node[]>();
  readonly #inChain = new Set<Node>();

  readonly #regions = new Regions();
  readonly #excluded: ReadonlySet<Node>;

  /** Convolutions in `excluded` stay as they are. */
  constructor(context: PassContext, graph: GraphPatch, excluded: ReadonlySet<Node> = new Set()) {
    this.#context = context;
    this.#excluded = excluded;
    this.#graph = graph;
    this.functions = new NhwcFunctions(context.model);
    this.convolutions = new NhwcConvs(context, graph);
    const edges = context.options.nhwcIo ? movableEdges(context) : new Set<Value>();
    this.#forms = new ValueForms(context, graph, edges);
  }

  get borders(): readonly Border[] {
    return this.#forms.borders;
  }

  /** Names of inputs and outputs that are NHWC now. */
  get edges(): readonly string[] {
    return this.#forms.edges;
  }

  /** Values that Transposes of the model turned, which are gone or change nothing now. */
  get unturned(): readonly Value[] {
    return this.#context.model.graph.nodes.flatMap((node) => {
      const specs = this.#graph.nodes.get(node);
      const [input] = node.inputs;
      if (!isOp(node, emitted.Transpose) || specs === undefined || input === undefined) return [];
      if (this.#inChain.has(node)) return [];
      return specs.every(({ opType }) => opType === emitted.Identity) ? [input] : [];
    });
  }

  /** What hangs together, and whether it pays. */
  get regions(): readonly Region[] {
    return this.#regions.list(this.converted, this.borders, this.unturned, this.#context);
  }

  run(): void {
    const { graph } = this.#context.model;
    for (const node of graph.nodes) this.#visit(node);
    removeUnread(graph, this.#graph, this.#context);
  }

  #visit(node: Node): void {
    if (this.#inChain.has(node)) return;
    const moved = this.#toChain(node) ?? this.#absorb(node) ?? this.#toNhwc(node) ?? this.#asItIs(node);
    if (moved !== undefined) this.#graph.nodes.set(node, [...moved, ...this.#neededBehind(node)]);
  }

  /** NCHW values under the names they have by now; undefined where nothing changes. */
  #asItIs(node: Node): readonly NodeSpec[] | undefined {
    const conversions = node.inputs.flatMap((value) =>
      value === undefined ? [] : this.#forms.asNchw(value, node),
    );
    const isRenamed = node.inputs.some(
      (value) => value !== undefined && this.#forms.nchwName(value) !== value.name,
    );
    if (!isRenamed) return conversions.length === 0 ? undefined : [...conversions, { base: node }];
    const inputs = node.inputs.map((value) => (value === undefined ? "" : this.#forms.nchwName(value)));
    return [...conversions, { base: node, inputs }];
  }

  /** Operators that can say in their own words that what they read is NHWC: Transpose and Shape. */
  #absorb(node: Node): readonly NodeSpec[] | undefined {
    const [input] = node.inputs;
    const name = this.#forms.knownNhwc(input);
    if (name === undefined) return undefined;
    if (this.#forms.onlyNhwc(input) !== undefined) {
      const shape = nhwcShape(node, name, this.#context, this.#graph);
      if (shape !== undefined) return shape;
    }
    const order = permOf(node);
    if (order === undefined) return undefined;
    const from = order.map((axis) => positionInNhwc[axis] ?? axis);
    const isIdentity = from.every((axis, index) => axis === index);
    if (isIdentity)
      return [
        { base: node, opType: emitted.Identity, inputs: [name], attributes: new Map([["perm", null]]) },
      ];
    return [{ base: node, inputs: [name], attributes: new Map([["perm", perm(from)]]) }];
  }

  #toChain(node: Node): readonly NodeSpec[] | undefined {
    const ready = this.#chains.get(node);
    if (ready !== undefined) return this.#call(ready);
    const [image] = node.inputs;
    if (image === undefined || !this.#forms.hasNhwc(image)) return undefined;
    const nodes = chainFrom(node, this.#context.facts.root);
    const last = nodes?.at(-1);
    if (nodes === undefined || last === undefined || !this.functions.canCall(...nodes)) return undefined;
    this.#chains.set(last, nodes);
    for (const inner of nodes.slice(0, -1)) {
      if (inner !== node) this.#inChain.add(inner);
      this.#graph.nodes.set(inner, []);
      for (const value of inner.outputs)
        if (value?.declared !== undefined) this.#graph.declared.set(value.name, null);
    }
    return [];
  }

  #call(nodes: readonly Node[]): readonly NodeSpec[] {
    const [image] = nodes[0]?.inputs ?? [];
    const last = nodes.at(-1);
    const [output] = last?.outputs ?? [];
    if (image === undefined || last === undefined || output === undefined)
      throw new Error("tc-lint bug: a chain without ends");
    const conversions: NodeSpec[] = [];
    const { name, operands } = this.functions.chain(nodes);
    const inputs = [this.#forms.asNhwc(image, conversions), ...operands];
    const none = new Map(last.attributes.map(({ name: key }): [string, null] => [key, null]));
    const outputs = [this.#forms.produce(output)];
    this.#regions.join(last, [image, output]);
    return [
      ...conversions,
      { base: last, domain: nhwcDomain, opType: name, inputs, outputs, attributes: none },
    ];
  }

  #toNhwc(node: Node): readonly NodeSpec[] | undefined {
    const found = this.#excluded.has(node) ? undefined : formOf(node, this.#context.facts.root);
    if (found === undefined || !this.#pays(node, found)) return undefined;
    const { form, images } = found;
    if (form.kind === "function" && !this.functions.canCall(node)) return undefined;
    const conversions: NodeSpec[] = [];
    const inputs = node.inputs.map((value) => {
      if (value === undefined) return "";
      if (images.includes(value)) return this.#forms.asNhwc(value, conversions);
      if (form.kind === "elementwise") return this.#forms.constant(value);
      pushAll(conversions, this.#forms.asNchw(value, node));
      return this.#forms.nchwName(value);
    });
    const isPlain = form.kind === "function" && form.result === "plain";
    const outputs = node.outputs.map((value) =>
      value === undefined ? "" : isPlain ? value.name : this.#forms.produce(value),
    );
    if (anchors.has(node.opType)) this.converted.push(node);
    this.#regions.join(node, isPlain ? images : [...images, ...node.outputs]);
    return [...conversions, ...this.#specs(node, form, inputs, outputs)];
  }

  #specs(node: Node, form: Form, inputs: string[], outputs: string[]): readonly NodeSpec[] {
    switch (form.kind) {
      case "function": {
        const isForCuda = this.#context.options.nhwcForm === "ort-cuda";
        const own = isForCuda ? this.convolutions.convert(node, inputs, outputs) : undefined;
        if (own !== undefined) return own;
        const opType = this.functions.call(node, form.result);
        return [{ base: node, domain: nhwcDomain, opType, inputs, outputs }];
      }
      case "attribute": {
        const { name, value } = form;
        const spec: AttributeSpec = typeof value === "number" ? { type: "int", value } : perm(value);
        return [{ base: node, inputs, outputs, attributes: new Map([[name, spec]]) }];
      }
      case "input":
        inputs[form.index] = this.#numbers(node, form.values);
        return [{ base: node, inputs, outputs }];
      default:
        return [{ base: node, inputs, outputs }];
    }
  }

  /** Convolutions always; the rest goes along where at least half of what it reads is NHWC already. */
  #pays(node: Node, { form, images }: { form: Form; images: readonly Value[] }): boolean {
    if (anchors.has(node.opType)) return true;
    if (form.kind === "function" && form.result === "plain")
      return images.every((value) => this.#forms.onlyNhwc(value) !== undefined);
    const ready = images.filter((value) => this.#forms.hasNhwc(value)).length;
    return ready > 0 && 2 * ready >= images.length;
  }

  /** NCHW forms that cannot wait for a reader. */
  #neededBehind(node: Node): readonly NodeSpec[] {
    return node.outputs.flatMap((value) =>
      value !== undefined && this.#forms.isNeededAtOnce(value) ? this.#forms.asNchw(value, undefined) : [],
    );
  }

  #numbers(node: Node, values: readonly number[]): string {
    const name = this.#context.names.make(`${labelOf(node)}_nhwc_sizes`);
    this.#graph.added.set(name, int64Tensor(values));
    return name;
  }
}
