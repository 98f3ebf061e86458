/**
 * @file A file relabelled as a newer opset of ai.onnx, where every node in it means the same there: as it is, or in a new form that its
 * operator knows.
 */
import { type FunctionDefinition, type Graph, labelOf, type Model, type Node } from "../../ir/model.ts";
import { nodesIn } from "../../ir/nodes.ts";
import type { AttributeSpec, Patch } from "../../ir/patch.ts";
import { traitsOf } from "../../ops/ask.ts";
import type { NewForm } from "../../ops/traits.ts";
import type { PassContext } from "../pass.ts";
import { int64Tensor } from "../tensors.ts";
import { alwaysKeepsMeaning, keepsMeaning } from "./meaning.ts";

/** What would mean something else, or may. */
export interface Hurdle {
  readonly node: Node | undefined;
  readonly reason: string;
}

/** The IR version that ONNX released an opset with. Source: the table of released versions in ONNX's documentation. */
const irVersionOf: Readonly<Record<number, number>> = { 20: 9, 22: 10 };

/** Puts into the patch what makes the file one of `opset`; the patch stays as it is where something is in the way. */
export function raiseTo(
  opset: number,
  { model, names }: Pick<PassContext, "model" | "names">,
  patch: Patch,
): Hurdle | undefined {
  const functions = [...model.functions.values()];
  const forms = new Map<Node, NewForm>();
  const hurdle = functions.reduce(
    (found, each) => found ?? hurdleIn(each.graph, ownOpset(each, model), opset, forms, each),
    hurdleIn(model.graph, model.opsets.get("") ?? 1, opset, forms),
  );
  if (hurdle !== undefined) return hurdle;
  const lists = new Lists(names, patch);
  for (const [node, form] of forms) patch.of(node.graph).nodes.set(node, [rewritten(node, form, lists)]);
  patch.opsets.set("", opset);
  for (const { graph, opsets } of functions)
    if (opsets.has("")) patch.functionOpsets.set(graph, new Map([["", opset]]));
  patch.leastIrVersion = Math.max(patch.leastIrVersion, irVersionOf[opset] ?? 0);
  return undefined;
}

function ownOpset({ opsets }: FunctionDefinition, model: Model): number {
  return opsets.get("") ?? model.opsets.get("") ?? 1;
}

/** What is in the way in a graph and in those in it; new forms go to `forms`. */
function hurdleIn(
  { nodes }: Graph,
  now: number,
  opset: number,
  forms: Map<Node, NewForm>,
  within?: FunctionDefinition,
): Hurdle | undefined {
  const place = within === undefined ? "" : ` of its function ${within.domain}::${within.name}`;
  if (now > opset) return { node: undefined, reason: `opset ${now}${place} is newer` };
  if (now === opset) return undefined;
  for (const each of nodes) {
    for (const node of [each, ...nodesIn(each)]) {
      if (node.domain !== "" || isSame(node, now)) continue;
      const form = isTold(node) ? traitsOf(node)?.newForm?.(node, now) : undefined;
      if (form === undefined) {
        const reason = `${node.opType} "${labelOf(node)}"${place} is not known to mean the same in both`;
        return { node: within === undefined ? node : undefined, reason };
      }
      forms.set(node, form);
    }
  }
  return undefined;
}

function isSame(node: Node, opset: number): boolean {
  return isTold(node) ? keepsMeaning(node, opset) : alwaysKeepsMeaning(node, opset);
}

/** Whether the node says itself what its attributes are, and not whoever calls the function that it is in. */
function isTold({ attributes }: Node): boolean {
  return attributes.every(({ value }) => value.type !== "reference");
}

/** Whole numbers that several nodes of a graph read, once. */
class Lists {
  readonly #names: PassContext["names"];
  readonly #patch: Patch;
  readonly #known = new Map<Graph, Map<string, string>>();

  constructor(names: PassContext["names"], patch: Patch) {
    this.#names = names;
    this.#patch = patch;
  }

  nameOf(numbers: readonly number[], graph: Graph): string {
    const known = this.#known.get(graph) ?? new Map<string, string>();
    this.#known.set(graph, known);
    const key = numbers.join();
    const name = known.get(key) ?? this.#names.make("axes");
    known.set(key, name);
    this.#patch.of(graph).added.set(name, int64Tensor(numbers));
    return name;
  }
}

function rewritten(node: Node, { lists = {}, attributes }: NewForm, made: Lists) {
  const inputs = node.inputs.map((value) => value?.name ?? "");
  for (const [position, numbers] of Object.entries(lists))
    inputs[Number(position)] = made.nameOf(numbers, node.graph);
  const specs = Object.entries(attributes).map(([name, value]) => [name, attributeOf(value)] as const);
  return { base: node, inputs, attributes: new Map(specs) };
}

function attributeOf(value: number | string | null): AttributeSpec | null {
  if (typeof value === "string") return { type: "string", value };
  return value === null ? null : { type: "int", value };
}
