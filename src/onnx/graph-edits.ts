/** @file The edits of one graph: nodes, initializers and declarations, where the patch says so. */
import { InputError } from "../ir/errors.ts";
import type { Graph, TensorRef, ValueType } from "../ir/model.ts";
import type { GraphPatch, NodeSpec, TensorSpec } from "../ir/patch.ts";
import { Cursor } from "../wire/cursor.ts";
import type { ByteSource } from "../wire/source.ts";
import type { Edit, Segment } from "../wire/splice.ts";
import {
  bytesSegment,
  field,
  keptTensorFields,
  nodeMessage,
  type Placement,
  tensorMessage,
  tensorName,
  valueInfoMessage,
} from "./encode.ts";
import { graphFields, valueInfoFields } from "./fields.ts";
import type { DataFile } from "./new-data.ts";

/** Small tensors stay in the model, as exporters have it. */
const inlineBytes = 1024;

/**
 * How the graph holds constants. `initializers`: as such. `inputs`: as initializers that are inputs too, as IR 3 has it.
 * `nodes`: as Constants, in front; function bodies, and subgraphs of IR 3, whose inputs are their owner's business.
 */
export type ConstantStyle = "initializers" | "inputs" | "nodes";

/** Where the graph is, as far as it says how it is written. */
export interface GraphForm {
  readonly node: number;
  readonly valueInfo: number;
  /** Whether it is a GraphProto, with inputs, outputs and initializers as messages. */
  readonly isGraph: boolean;
  readonly constants: ConstantStyle;
  /** The IR version is raised past 3: inputs that name an initializer go, or it would be a default and no constant. */
  readonly dropsDefaults: boolean;
}

/** What becomes of an initializer; null where it goes. */
interface InitializerChange {
  readonly old: TensorRef;
  readonly spec: TensorSpec | null;
}

type Place = Pick<Edit, "offset" | "length">;

/** Of the current field, its tag included. */
function placeOf({ tagStart: offset, start, length }: Cursor): Place {
  return { offset, length: start + length - offset };
}

/** The edits of one graph, found in one walk over its fields. */
export class GraphEdits {
  readonly #source: ByteSource;
  readonly #graph: Graph;
  readonly #patch: GraphPatch;
  readonly #data: DataFile;
  readonly #form: GraphForm;
  /** By where they are. */
  readonly #nodes: ReadonlyMap<number, readonly NodeSpec[]>;
  readonly #tensors: ReadonlyMap<number, InitializerChange>;
  readonly #edits: Edit[] = [];

  constructor(source: ByteSource, graph: Graph, patch: GraphPatch, data: DataFile, form: GraphForm) {
    this.#source = source;
    this.#graph = graph;
    this.#patch = patch;
    this.#data = data;
    this.#form = form;
    this.#nodes = new Map([...patch.nodes].map(([node, specs]) => [node.span.offset, specs]));
    this.#tensors = new Map(
      [...patch.tensors].flatMap(([name, spec]) => {
        const old = graph.values.get(name)?.initializer;
        return old === undefined ? [] : [[old.span.offset, { old, spec }]];
      }),
    );
  }

  build(): readonly Edit[] {
    const { offset, length } = this.#graph.span;
    const cursor = new Cursor(this.#source, offset, length);
    let started = false;
    while (cursor.next()) {
      if (cursor.field === this.#form.node && !started) {
        started = true;
        this.#insert(cursor.tagStart, this.#inFront());
      }
      const specs = cursor.field === this.#form.node ? this.#nodes.get(cursor.start) : undefined;
      if (specs !== undefined) this.#placeNodes(cursor, specs);
      const place = placeOf(cursor);
      const replacement = this.#replacementOf(cursor);
      if (replacement !== undefined) this.#replace(place, replacement);
    }
    const behind = [...(started ? [] : this.#inFront()), ...this.#nodeFields(this.#patch.last)];
    this.#insert(offset + length, [...behind, ...this.#addedInputs()]);
    return this.#edits;
  }

  #inFront(): readonly Segment[] {
    return [...this.#addedTensors(), ...this.#nodeFields(this.#patch.first)];
  }

  /** A node that only gets neighbours is not rewritten: graphs inside it may have edits of their own. */
  #placeNodes(cursor: Cursor, specs: readonly NodeSpec[]): void {
    const kept = specs.findIndex((spec) => isUnchanged(spec) && spec.base?.span.offset === cursor.start);
    if (kept < 0) {
      this.#replace(placeOf(cursor), this.#nodeFields(specs));
      return;
    }
    this.#insert(cursor.tagStart, this.#nodeFields(specs.slice(0, kept)));
    this.#insert(cursor.start + cursor.length, this.#nodeFields(specs.slice(kept + 1)));
  }

  #replacementOf(cursor: Cursor): readonly Segment[] | undefined {
    if (cursor.field === this.#form.valueInfo) return this.#valueInfo(cursor, this.#patch.declared);
    if (!this.#form.isGraph) return undefined;
    switch (cursor.field) {
      case graphFields.input:
        return this.#input(cursor);
      case graphFields.output:
        return this.#valueInfo(cursor, this.#patch.edges);
      case graphFields.initializer:
        return this.#initializer(cursor);
      default:
        return undefined;
    }
  }

  /** One that declares an initializer says and becomes what that becomes. */
  #input(cursor: Cursor): readonly Segment[] | undefined {
    if (this.#form.constants !== "inputs" && !this.#form.dropsDefaults)
      return this.#valueInfo(cursor, this.#patch.edges);
    const name = textField(this.#source, cursor, valueInfoFields.name);
    const { initializer, declared } = this.#graph.values.get(name) ?? {};
    const spec = this.#patch.tensors.get(name);
    if (initializer !== undefined && (spec === null || this.#form.dropsDefaults)) return [];
    const isSame = spec === undefined || spec === null || describes(declared, spec);
    const type = this.#patch.edges.get(name) ?? (isSame ? undefined : typeOf(spec));
    return type && field(cursor.field, [bytesSegment(valueInfoMessage(name, type))]);
  }

  #valueInfo(cursor: Cursor, types: ReadonlyMap<string, ValueType | null>): readonly Segment[] | undefined {
    if (types.size === 0) return undefined;
    const name = textField(this.#source, cursor, valueInfoFields.name);
    const type = types.get(name);
    if (type === undefined) return undefined;
    return type === null ? [] : field(cursor.field, [bytesSegment(valueInfoMessage(name, type))]);
  }

  /** Steps into it. */
  #initializer(cursor: Cursor): readonly Segment[] | undefined {
    const change = this.#tensors.get(cursor.start);
    if (change === undefined) return undefined;
    const { old, spec } = change;
    if (spec === null) return [];
    const isOut = old.data.kind === "external" || this.#isTaken(spec);
    const placement: Placement = isOut ? this.#data.place(spec) : { kind: "inline" };
    return field(graphFields.initializer, tensorMessage(spec, keptTensorFields(cursor), placement));
  }

  #addedTensors(): readonly Segment[] {
    if (this.#form.constants === "nodes") {
      return [...this.#patch.added].flatMap(([name, tensor]) =>
        this.#nodeFields([constantNode(name, tensor)]),
      );
    }
    return [...this.#patch.added].flatMap(([name, spec]) => {
      const placement: Placement = this.#isExternal(spec) ? this.#data.place(spec) : { kind: "inline" };
      return field(graphFields.initializer, tensorMessage(spec, [tensorName(name)], placement));
    });
  }

  #addedInputs(): readonly Segment[] {
    if (this.#form.constants !== "inputs") return [];
    return [...this.#patch.added].flatMap(([name, spec]) =>
      field(graphFields.input, [bytesSegment(valueInfoMessage(name, typeOf(spec)))]),
    );
  }

  /** A new tensor goes where the graph keeps its other large ones; so does one of weights that are not there. */
  #isExternal(spec: TensorSpec): boolean {
    if (spec.bytes.size <= inlineBytes) return !isThere(spec);
    if (this.#data.takesAll) return true;
    for (const { initializer } of this.#graph.values.values())
      if (initializer?.data.kind === "external") return true;
    return false;
  }

  #isTaken({ bytes }: TensorSpec): boolean {
    return this.#data.takesAll && bytes.size > inlineBytes;
  }

  #nodeFields(specs: readonly NodeSpec[]): Segment[] {
    return specs.flatMap((spec) => field(this.#form.node, nodeMessage(this.#source, spec)));
  }

  #replace(place: Place, replacement: readonly Segment[]): void {
    this.#edits.push({ parent: this.#graph.span, ...place, replacement });
  }

  #insert(offset: number, replacement: readonly Segment[]): void {
    if (replacement.length > 0)
      this.#edits.push({ parent: this.#graph.span, offset, length: 0, replacement });
  }
}

/** A spec that says nothing but which node. */
function isUnchanged(spec: NodeSpec): boolean {
  return Object.entries(spec).every(([key, value]) => key === "base" || value === undefined);
}

/** A small tensor that is computed from weights that are not there: inside, nobody could read the model around it. */
function isThere({ bytes }: TensorSpec): boolean {
  try {
    bytes.readInto(0, new Uint8Array(bytes.size));
    return true;
  } catch (error) {
    if (error instanceof InputError && error.code === "weights-missing") return false;
    throw error;
  }
}

function constantNode(name: string, tensor: TensorSpec): NodeSpec {
  const attributes = new Map([["value", { type: "tensor" as const, tensor }]]);
  return { opType: "Constant", name, inputs: [], outputs: [name], attributes };
}

function typeOf({ dtype, dims }: TensorSpec): ValueType {
  return { kind: "tensor", dtype, shape: dims };
}

function describes(declared: ValueType | undefined, { dtype, dims }: TensorSpec): boolean {
  if (declared?.kind !== "tensor" || declared.dtype !== dtype) return false;
  return declared.shape?.length === dims.length && declared.shape.every((dim, axis) => dim === dims[axis]);
}

/** A text field of the message under the cursor. */
export function textField(source: ByteSource, { start, length }: Cursor, number: number): string {
  const cursor = new Cursor(source, start, length);
  while (cursor.next()) if (cursor.field === number) return cursor.text();
  return "";
}
