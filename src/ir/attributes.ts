/** @file Attributes of a node by name, as written: references of function bodies are not resolved (src/facts/attributes.ts does). */
import type { AttributeValue, Graph, Node, TensorRef } from "./model.ts";

export function attributeOf(node: Node, name: string): AttributeValue | undefined {
  return node.attributes.find((attribute) => attribute.name === name)?.value;
}

export function hasAttribute(node: Node, name: string): boolean {
  return node.attributes.some((attribute) => attribute.name === name);
}

export function intAttributeOf(node: Node, name: string): number | undefined {
  return intOf(attributeOf(node, name));
}

export function intsAttributeOf(node: Node, name: string): readonly number[] | undefined {
  return intsOf(attributeOf(node, name));
}

export function floatAttributeOf(node: Node, name: string): number | undefined {
  return floatOf(attributeOf(node, name));
}

export function tensorAttributeOf(node: Node, name: string): TensorRef | undefined {
  const value = attributeOf(node, name);
  return value?.type === "tensor" ? value.tensor : undefined;
}

export function graphAttributeOf(node: Node, name: string): Graph | undefined {
  const value = attributeOf(node, name);
  return value?.type === "graph" ? value.graph : undefined;
}

export function intOf(value: AttributeValue | undefined): number | undefined {
  return value?.type === "int" ? value.value : undefined;
}

export function intsOf(value: AttributeValue | undefined): readonly number[] | undefined {
  return value?.type === "ints" ? value.values : undefined;
}

export function floatOf(value: AttributeValue | undefined): number | undefined {
  return value?.type === "float" ? value.value : undefined;
}

export function stringOf(value: AttributeValue | undefined): string | undefined {
  return value?.type === "string" ? value.value : undefined;
}
