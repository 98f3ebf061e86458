/** @file How a rule's fix says what becomes of the nodes that it found: in terms of the graph, which is not changed meanwhile. */
import type { DType } from "./dtype.ts";
import type { Node, Value } from "./model.ts";

/** A whole number is an int and a list of such ints, as ONNX has most; `{ float: 1 }` and `{ floats: [1] }` are floats. */
export type NewAttribute =
  | number
  | string
  | readonly number[]
  | { readonly float: number }
  | { readonly floats: readonly number[] };

export interface NewNode {
  readonly op: string;
  /** ai.onnx unless given. */
  readonly domain?: string;
  /** Values of the graph, or names that the edits gave; undefined is an operand that is left out. */
  readonly inputs: readonly (Value | string | undefined)[];
  /** Names that the edits gave, or values that the replaced node had; those of the replaced node unless given. */
  readonly outputs?: readonly (Value | string)[];
  readonly attributes?: Readonly<Record<string, NewAttribute>>;
}

export interface NewTensor {
  readonly dtype: DType;
  readonly dims: readonly number[];
  readonly values: readonly number[];
}

/** What becomes of one match. Nodes of the match that nobody reads any more go by themselves. */
export interface Edits {
  /** These stand in the node's place, the last one with its name and, unless said otherwise, its outputs. */
  replace(node: Node, ...by: readonly NewNode[]): void;
  /** A new constant; returns its name. */
  constant(name: string, tensor: NewTensor): string;
  /** A name for a value between new nodes. */
  value(name: string): string;
}
