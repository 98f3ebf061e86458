/** @file The way back: calls of the functions that the layout pass writes as what stands in them, between its Transposes. */
import { attributeIn } from "../../facts/attributes.ts";
import type { Facts } from "../../facts/infer.ts";
import { isNhwcBody, spellsLayout } from "../../facts/nhwc-body.ts";
import type { Scope } from "../../facts/scope.ts";
import type { Node, Value } from "../../ir/model.ts";
import { type AttributeSpec, type NodeSpec, Patch } from "../../ir/patch.ts";
import { FreshNames } from "../names.ts";
import { plainAttribute } from "./functions.ts";

/** What is not turned back stays a call. Operators have the names that their calls have. */
export function turnedBack({ root }: Facts): Patch {
  const patch = new Patch();
  const graph = patch.of(root.graph);
  const names = new FreshNames(root.model);
  for (const [call, [body]] of root.children) {
    if (body === undefined || !isNhwcBody(body) || body.opsets.get("") !== root.opsets.get("")) continue;
    const specs = bodyOf(call, body, names);
    if (specs !== undefined) graph.nodes.set(call, specs);
  }
  return patch;
}

function bodyOf(call: Node, body: Scope, names: FreshNames): NodeSpec[] | undefined {
  const known = new Map<Value, string>();
  for (const [at, value] of body.graph.inputs.entries()) known.set(value, call.inputs[at]?.name ?? "");
  for (const [at, value] of body.graph.outputs.entries()) known.set(value, call.outputs[at]?.name ?? "");
  const nameOf = (value: Value | undefined): string => {
    if (value === undefined) return "";
    const name = known.get(value) ?? names.make(`${call.outputs[0]?.name ?? ""}_${value.name}`);
    known.set(value, name);
    return name;
  };
  const specs: NodeSpec[] = [];
  for (const node of body.graph.nodes) {
    const attributes = attributesOf(node, body);
    if (attributes === undefined) return undefined;
    const { opType, domain } = node;
    const name = spellsLayout(node, body) ? "" : call.name;
    const [inputs, outputs] = [node.inputs.map(nameOf), node.outputs.map(nameOf)];
    specs.push({ opType, domain, name, inputs, outputs, attributes });
  }
  return specs;
}

/** As the call gives them; undefined where one is of a kind that these functions do not have. */
function attributesOf(node: Node, body: Scope): Map<string, AttributeSpec> | undefined {
  const specs = new Map<string, AttributeSpec>();
  for (const { name } of node.attributes) {
    const value = attributeIn(node, name, body);
    if (value === undefined) continue;
    const spec = plainAttribute(value);
    if (spec === undefined) return undefined;
    specs.set(name, spec);
  }
  return specs;
}
