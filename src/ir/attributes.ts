/** @file Attributes of a node by name, as written: references of function bodies are not resolved. */
import type { Node } from "./model.ts";

export function hasAttribute(node: Node, name: string): boolean {
  return node.attributes.some((attribute) => attribute.name === name);
}

export function intAttributeOf(node: Node, name: string): number | undefined {
  const value = node.attributes.find((attribute) => attribute.name === name)?.value;
  return value?.type === "int" ? value.value : undefined;
}

export function intsAttributeOf(node: Node, name: string): readonly number[] | undefined {
  const value = node.attributes.find((attribute) => attribute.name === name)?.value;
  return value?.type === "ints" ? value.values : undefined;
}
