/** @file Every value in the types its readers take: Casts, and constants in place or copied. */
import { type DType, dtypes } from "../../ir/dtype.ts";
import type { Model, Node, Value, ValueType } from "../../ir/model.ts";
import type { AttributeSpec, NodeSpec, Patch } from "../../ir/patch.ts";
import { emitted } from "../../ops/emitted.ts";
import type { PassContext } from "../pass.ts";
import type { HalfType, Slot } from "./accepts.ts";
import type { Evidence } from "./evidence.ts";
import type { FloatGraph, FloatNode, FloatValue } from "./graph.ts";
import { canRead, constantAttributes, isExternal, storedAs } from "./stored-half.ts";

export type Side = HalfType | "float32";

/** By what name each side finds a value. */
interface Names {
  float32: string | undefined;
  half: string | undefined;
}

/** Puts Casts and constants into a patch, and tells the nodes what each value is called. */
export class Versions {
  readonly #graph: FloatGraph;
  readonly #half: ReadonlySet<FloatNode>;
  readonly #evidence: Evidence;
  readonly #context: PassContext;
  readonly #type: HalfType;
  readonly #patch: Patch;
  readonly names = new Map<Value, Names>();
  /** What follows a node: Casts of its outputs, half copies of a Constant. */
  readonly behind = new Map<Node, NodeSpec[]>();
  readonly outputNames = new Map<Value, string>();
  readonly attributes = new Map<Node, Map<string, AttributeSpec | null>>();
  /**
   * Constant nodes that initializers stand in for (an attribute is no place for what was in a file of its own), and Casts
   * that nothing reads any more.
   */
  readonly removed = new Set<Node>();
  casts = 0;
  constants = 0;

  constructor(
    graph: FloatGraph,
    half: ReadonlySet<FloatNode>,
    evidence: Evidence,
    context: PassContext,
    patch: Patch,
  ) {
    this.#graph = graph;
    this.#half = half;
    this.#evidence = evidence;
    this.#context = context;
    this.#type = context.options.halfType;
    this.#patch = patch;
  }

  place(): void {
    for (const value of this.#graph.values.values()) {
      if (value.isStored) this.#placeStored(value);
      else if (value.halfSource !== undefined) this.#placeWidened(value, value.halfSource);
      else this.#placeComputed(value);
    }
  }

  /** The type in which a node takes or gives a value. */
  sideOf(slot: Slot, user: FloatNode): Side {
    return slot === "half" && this.#half.has(user) ? this.#type : "float32";
  }

  /** The types that readers ask for; a reader of any type asks for none. */
  #wanted({ value, readers, scope }: FloatValue): Set<Side> {
    const wanted = new Set<Side>();
    for (const { user, slot } of readers) if (slot !== "any") wanted.add(this.sideOf(slot, user));
    if (value.isOutput)
      wanted.add(this.#isHalfEdge(value, scope.parent === undefined) ? this.#type : "float32");
    if (this.#graph.pinned.has(value)) wanted.add("float32");
    return wanted;
  }

  /** An input or output of the model that becomes half. One that a control node refers to by name does not. */
  #isHalfEdge(value: Value, isMain: boolean): boolean {
    const { halfIo } = this.#context.options;
    if (!halfIo || !isMain || value.initializer !== undefined) return false;
    return !this.#graph.pinned.has(value) && !this.#evidence.floatEdges.has(value);
  }

  #placeStored(entry: FloatValue): void {
    const { value } = entry;
    const wanted = this.#wanted(entry);
    const least = this.#evidence.masks.clamps.get(value);
    const isThere = canRead(value, this.#context.open);
    const isMoved = value.producer !== undefined && !isThere;
    const staysFloat = wanted.has("float32") || value.isOutput || !wanted.has(this.#type) || isMoved;
    const names: Names = { float32: staysFloat ? value.name : undefined, half: undefined };
    this.names.set(value, names);
    if (staysFloat && least !== undefined) this.#replaceStored(value, "float32", least);
    if (!wanted.has(this.#type)) return;
    names.half = staysFloat ? this.#fresh(value) : value.name;
    if (staysFloat && !isThere) {
      this.#addCast(value, value.name, names.half, this.#type);
      return;
    }
    this.constants += 1;
    if (staysFloat) this.#copyStored(value, names.half, least);
    else this.#replaceStored(value, this.#type, least);
  }

  /** In its place, under its name. */
  #replaceStored(value: Value, to: Side, least: number | undefined): void {
    const tensor = storedAs(value, to, least, this.#context.open);
    const patch = this.#patch.of(value.graph);
    if (value.producer === undefined) patch.tensors.set(value.name, tensor);
    else if (isExternal(value)) {
      patch.added.set(value.name, tensor);
      this.removed.add(value.producer);
    } else this.attributes.set(value.producer, constantAttributes(value.producer, tensor));
    if (to === "float32" || value.declared === undefined) return;
    // Before IR 4 every initializer is listed as an input too.
    const types = value.isInput ? patch.edges : patch.declared;
    types.set(value.name, typeAs(value.declared, to));
  }

  #copyStored(value: Value, name: string, least: number | undefined): void {
    const tensor = storedAs(value, this.#type, least, this.#context.open);
    const { producer } = value;
    if (producer === undefined || isExternal(value)) this.#patch.of(value.graph).added.set(name, tensor);
    else {
      const attributes = constantAttributes(producer, tensor);
      this.#follow(producer, { base: producer, name, outputs: [name], attributes });
    }
  }

  /** Both types are there: what was cast to FP32 is half before the Cast. */
  #placeWidened(entry: FloatValue, source: Value): void {
    const { value } = entry;
    const wanted = this.#wanted(entry);
    const isRead = wanted.has("float32") || value.isOutput || !wanted.has(this.#type);
    this.names.set(value, { float32: isRead ? value.name : undefined, half: source.name });
    if (isRead || value.producer === undefined) return;
    this.removed.add(value.producer);
    if (value.declared !== undefined) this.#patch.of(value.graph).declared.set(value.name, null);
  }

  #placeComputed(entry: FloatValue): void {
    const { value, producer, scope } = entry;
    const wanted = this.#wanted(entry);
    const isHalfInput = value.isInput && this.#isHalfEdge(value, scope.parent === undefined);
    const isMadeHalf =
      producer === undefined ? isHalfInput : this.sideOf(producer.slot, producer.user) !== "float32";
    const native: Side = isMadeHalf ? this.#type : "float32";
    const owner = this.#ownerOfName(entry, native);
    const other: Side = native === "float32" ? this.#type : "float32";
    const isNeeded = (side: Side) => side === native || wanted.has(side);
    const nameFor = (side: Side) => {
      if (!isNeeded(side)) return undefined;
      return side === owner ? value.name : this.#fresh(value, side);
    };
    const names: Names = { float32: nameFor("float32"), half: nameFor(this.#type) };
    this.names.set(value, names);
    const made = native === "float32" ? names.float32 : names.half;
    const cast = native === "float32" ? names.half : names.float32;
    if (made !== undefined && made !== value.name) this.outputNames.set(value, made);
    if (made !== undefined && cast !== undefined) this.#addCast(value, made, cast, other);
    if (owner !== "float32") this.#retype(value);
  }

  /** Who goes by the name in the file: whatever the outside sees, else the type that the value is made in. */
  #ownerOfName({ value, scope }: FloatValue, native: Side): Side {
    if (this.#graph.pinned.has(value)) return "float32";
    const isEdge = value.isInput || value.isOutput;
    if (!isEdge) return native;
    return this.#isHalfEdge(value, scope.parent === undefined) ? this.#type : "float32";
  }

  #retype(value: Value): void {
    if (value.declared === undefined) return;
    const patch = this.#patch.of(value.graph);
    const types = value.isInput || value.isOutput ? patch.edges : patch.declared;
    types.set(value.name, typeAs(value.declared, this.#type));
  }

  #addCast(value: Value, from: string, to: string, type: Side): void {
    this.casts += 1;
    const spec: NodeSpec = {
      opType: emitted.Cast,
      name: to,
      inputs: [from],
      outputs: [to],
      attributes: castTo(type, this.#context.model),
    };
    if (value.producer === undefined) this.#patch.of(value.graph).first.push(spec);
    else this.#follow(value.producer, spec);
  }

  #follow(node: Node, spec: NodeSpec): void {
    const list = this.behind.get(node) ?? [];
    list.push(spec);
    this.behind.set(node, list);
  }

  #fresh({ name }: Value, side: Side = this.#type): string {
    return this.#context.names.make(`${name}_${side}`);
  }
}

/** The attribute of a Cast. */
export function castTo(type: DType, model: Model): ReadonlyMap<string, AttributeSpec> {
  // Before opset 6 the type is given by name.
  const isByName = (model.opsets.get("") ?? 1) < 6;
  const attribute: AttributeSpec = isByName
    ? { type: "string", value: type === "float32" ? "FLOAT" : "FLOAT16" }
    : { type: "int", value: dtypes[type].code };
  return new Map([["to", attribute]]);
}

function typeAs(type: ValueType, dtype: DType): ValueType {
  return type.kind === "tensor" ? { ...type, dtype } : type;
}
