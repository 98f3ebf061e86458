/** @file Attributes of a node by name, in one instance of its graph: a reference of a function body is what the call gives. */
import { floatOf, intOf, intsOf, stringOf } from "../ir/attributes.ts";
import type { AttributeValue, Node } from "../ir/model.ts";
import { resolveAttribute } from "./context.ts";
import type { Scope } from "./scope.ts";

export function attributeIn(node: Node, name: string, scope: Scope): AttributeValue | undefined {
  const attribute = node.attributes.find((each) => each.name === name);
  return attribute && resolveAttribute(attribute, scope)?.value;
}

export function intAttributeIn(node: Node, name: string, scope: Scope): number | undefined {
  return intOf(attributeIn(node, name, scope));
}

export function intsAttributeIn(node: Node, name: string, scope: Scope): readonly number[] | undefined {
  return intsOf(attributeIn(node, name, scope));
}

export function floatAttributeIn(node: Node, name: string, scope: Scope): number | undefined {
  return floatOf(attributeIn(node, name, scope));
}

export function stringAttributeIn(node: Node, name: string, scope: Scope): string | undefined {
  return stringOf(attributeIn(node, name, scope));
}
