/**
 * @file What a pass proposes: edits of a model, in terms of its own nodes and values. `onnx/` turns them into bytes.
 *
 * Everything not named here stays as it is, to the byte.
 */
import type { DType } from "./dtype.ts";
import type { Graph, Node, TensorRef, ValueType } from "./model.ts";

/** Bytes that can be read at any offset: elements of a tensor, computed as they are asked for. */
export interface TensorBytes {
  readonly size: number;
  readInto(offset: number, target: Uint8Array): void;
}

/** A tensor to write. Elements are little-endian and packed, as in raw_data. */
export interface TensorSpec {
  readonly dtype: DType;
  readonly dims: readonly number[];
  readonly bytes: TensorBytes;
}

/** An attribute to write. */
export type AttributeSpec =
  | { readonly type: "int" | "float"; readonly value: number }
  | { readonly type: "string"; readonly value: string }
  | { readonly type: "ints" | "floats"; readonly values: readonly number[] }
  | { readonly type: "tensor"; readonly tensor: TensorSpec }
  /** In a function's body: the caller's attribute `to`, whose values are of type `of`. */
  | {
      readonly type: "reference";
      readonly to: string;
      readonly of: "int" | "float" | "string" | "ints" | "floats";
    };

/** A node to write. With `base`, everything the other fields do not name is copied from that node's bytes. */
export interface NodeSpec {
  readonly base?: Node;
  readonly name?: string;
  readonly opType?: string;
  readonly domain?: string;
  /** Names; "" is an omitted optional. */
  readonly inputs?: readonly string[];
  readonly outputs?: readonly string[];
  /** By name; null removes. */
  readonly attributes?: ReadonlyMap<string, AttributeSpec | null>;
}

export interface GraphPatch {
  /** What stands in a node's place, in order; an empty list removes it. */
  readonly nodes: Map<Node, readonly NodeSpec[]>;
  /** Nodes before all others, and after all others. */
  readonly first: NodeSpec[];
  readonly last: NodeSpec[];
  /** New contents of initializers, by name; null removes. */
  readonly tensors: Map<string, TensorSpec | null>;
  /** New initializers, by a name free in the whole model. */
  readonly added: Map<string, TensorSpec>;
  /** New types of declared values (value_info); null removes the declaration. */
  readonly declared: Map<string, ValueType | null>;
  /** New types of the graph's own inputs and outputs, where a pass is asked to change them. */
  readonly edges: Map<string, ValueType>;
}

/** A local function to add; its body is given whole. */
export interface FunctionSpec {
  readonly domain: string;
  readonly name: string;
  readonly inputs: readonly string[];
  readonly outputs: readonly string[];
  readonly attributes: readonly string[];
  readonly opsets: ReadonlyMap<string, number>;
  readonly nodes: readonly NodeSpec[];
}

export class Patch {
  readonly graphs = new Map<Graph, GraphPatch>();
  readonly functions: FunctionSpec[] = [];
  /** Domains to import that the model does not yet, or not in this version. */
  readonly opsets = new Map<string, number>();
  /** The same of local functions, by their bodies: imports that they have. */
  readonly functionOpsets = new Map<Graph, ReadonlyMap<string, number>>();
  /** Raises the IR version to at least this, where something added asks for it. */
  leastIrVersion = 0;
  /** metadata_props of the model to set. */
  readonly metadata = new Map<string, string>();

  get isEmpty(): boolean {
    const edited = [...this.graphs.values()].some((graph) => !isUntouched(graph));
    const sizes = [this.functions.length, this.opsets.size, this.functionOpsets.size, this.metadata.size];
    return !edited && sizes.every((size) => size === 0);
  }

  /** The edits of one graph, made when first asked for. */
  of(graph: Graph): GraphPatch {
    const known = this.graphs.get(graph);
    if (known !== undefined) return known;
    const patch: GraphPatch = {
      nodes: new Map(),
      first: [],
      last: [],
      tensors: new Map(),
      added: new Map(),
      declared: new Map(),
      edges: new Map(),
    };
    this.graphs.set(graph, patch);
    return patch;
  }

  /** What it says now, whatever is added to it later; specs are not changed once they are made. */
  snapshot(): PatchSnapshot {
    return [...entriesOf(this)];
  }

  /** Whether it says the same as when the snapshot was taken. */
  isAsIn(snapshot: PatchSnapshot): boolean {
    let at = 0;
    for (const entry of entriesOf(this)) if (entry !== snapshot[at++]) return false;
    return at === snapshot.length;
  }
}

/** Names and specs of a patch in order, with each list's name in front: equal where the patches are. */
export type PatchSnapshot = readonly unknown[];

function* entriesOf(patch: Patch): Generator<unknown> {
  yield patch.leastIrVersion;
  yield* listed("functions", patch.functions.entries());
  yield* listed("opsets", patch.opsets);
  yield* listed("functionOpsets", patch.functionOpsets);
  yield* listed("metadata", patch.metadata);
  for (const [graph, lists] of patch.graphs) {
    yield graph;
    for (const [name, list] of Object.entries(lists)) yield* listed(name, list.entries());
  }
}

function* listed(name: string, entries: Iterable<readonly [unknown, unknown]>): Generator<unknown> {
  yield name;
  for (const [key, value] of entries) {
    yield key;
    yield value;
  }
}

function isUntouched({ nodes, first, last, tensors, added, declared, edges }: GraphPatch): boolean {
  const sizes = [nodes.size, first.length, last.length, tensors.size, added.size, declared.size, edges.size];
  return sizes.every((size) => size === 0);
}

/** The elements of a stored tensor, unchanged; what transforms read from. Throws where they are not there. */
export type OpenTensor = (tensor: TensorRef) => TensorBytes;
