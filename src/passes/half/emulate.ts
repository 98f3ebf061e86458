/**
 * @file What a half model computes, in FP32: the model itself with every half value held in FP32, rounded to half where it
 * is made.
 *
 * ONNX Runtime's CPU provider has no bfloat16 arithmetic, and computes most of FP16 in FP32 without rounding in between.
 * This runs on it, and errs as a GPU that accumulates in FP32 does. It is made from the result, not from the decisions
 * that led there: whatever passes came behind, it is the same nodes in the same layouts.
 */
import type { Facts } from "../../facts/infer.ts";
import type { Scope } from "../../facts/scope.ts";
import { isStored, storedTensor } from "../../facts/stored.ts";
import { dtypes } from "../../ir/dtype.ts";
import { pushAll } from "../../ir/lists.ts";
import type { Node, Value, ValueType } from "../../ir/model.ts";
import type { FreshNames } from "../../ir/names.ts";
import {
  type AttributeSpec,
  type NodeSpec,
  type OpenTensor,
  Patch,
  type TensorSpec,
} from "../../ir/patch.ts";
import { movesElements } from "../../ops/ask.ts";
import { emitted } from "../../ops/emitted.ts";
import { MemoryBytes } from "../tensors.ts";
import { TransformedTensor } from "../transform-tensor.ts";
import type { HalfType } from "./accepts.ts";
import { dtypeIn } from "./slots.ts";

export interface HalfModel {
  readonly facts: Facts;
  readonly names: FreshNames;
  readonly open: OpenTensor;
}

/** Edits that leave no value of `type` in the model, its inputs and outputs included. */
export function emulateHalf(model: HalfModel, type: HalfType): Patch {
  return new Emulator(model, type).run();
}

class Emulator {
  readonly #model: HalfModel;
  readonly #type: HalfType;
  readonly #patch = new Patch();
  /** What a value is called where its readers do not find it under its own name. */
  readonly #rounded = new Map<Value, string>();

  constructor(model: HalfModel, type: HalfType) {
    this.#model = model;
    this.#type = type;
  }

  run(): Patch {
    const scopes = [...this.#model.facts.scopes()].filter((scope) => !isInFunction(scope));
    for (const scope of scopes) for (const value of scope.graph.values.values()) this.#widen(value, scope);
    for (const scope of scopes) for (const node of scope.graph.nodes) this.#emit(node, scope);
    return this.#patch;
  }

  #isHalf(value: Value | undefined, scope: Scope): boolean {
    return dtypeIn(value, scope) === this.#type;
  }

  /** Types of everything, elements of what is stored, and inputs. */
  #widen(value: Value, scope: Scope): void {
    if (value.graph !== scope.graph || !this.#isHalf(value, scope)) return;
    const graph = this.#patch.of(value.graph);
    const { declared, initializer } = value;
    if (initializer !== undefined) {
      const wide = this.#wideTensor(value);
      if (wide !== undefined) graph.tensors.set(value.name, wide);
    } else if (value.isInput && scope.parent === undefined) {
      const rounded = this.#name(value, "rounded");
      this.#rounded.set(value, rounded);
      pushAll(graph.first, this.#rounding(value, value.name, rounded));
    }
    if (declared === undefined) return;
    const types = value.isInput || value.isOutput ? graph.edges : graph.declared;
    types.set(value.name, wideType(declared, this.#type));
  }

  #wideTensor(value: Value): TensorSpec | undefined {
    const tensor = storedTensor(value);
    if (tensor === undefined || tensor.data.kind === "none") return undefined;
    const { dims } = tensor;
    if (dims.includes(0)) return { dtype: "float32", dims, bytes: new MemoryBytes(new Uint8Array(0)) };
    const bytes = new TransformedTensor(this.#model.open(tensor), { from: this.#type, to: "float32" });
    return { dtype: "float32", dims, bytes };
  }

  #name({ name }: Value, suffix: string): string {
    return this.#model.names.make(`${name}_${suffix}`);
  }

  #rounding(value: Value, from: string, to: string): NodeSpec[] {
    const half = this.#name(value, this.#type);
    return [cast(from, half, this.#type), cast(half, to, "float32")];
  }

  #emit(node: Node, scope: Scope): void {
    const isFixed = this.#makesHalfItself(node, scope);
    const before: NodeSpec[] = [];
    const behind: NodeSpec[] = [];
    const inputs = node.inputs.map((value) => {
      if (value === undefined) return "";
      const name = this.#rounded.get(value) ?? value.name;
      if (!isFixed || !this.#isHalf(value, scope)) return name;
      const half = this.#name(value, this.#type);
      before.push(cast(name, half, this.#type));
      return half;
    });
    const outputs = node.outputs.map((value) => {
      if (value === undefined) return "";
      if (!this.#isHalf(value, scope) || isStored(value, scope) || isExact(node, value, scope))
        return value.name;
      const raw = this.#name(value, "exact");
      pushAll(behind, isFixed ? [cast(raw, value.name, "float32")] : this.#rounding(value, raw, value.name));
      return raw;
    });
    const attributes = isFixed ? undefined : this.#attributes(node, scope);
    const spec: NodeSpec = { base: node, inputs, outputs, ...(attributes !== undefined && { attributes }) };
    const isSame =
      before.length + behind.length === 0 &&
      attributes === undefined &&
      inputs.every((name, position) => name === (node.inputs[position]?.name ?? ""));
    if (!isSame) this.#patch.of(node.graph).nodes.set(node, [...before, spec, ...behind]);
  }

  /** A call of a function that makes halves of its own accord: nobody edits its body. */
  #makesHalfItself(node: Node, scope: Scope): boolean {
    return (scope.children.get(node) ?? []).some((child) => {
      if (child.functionName === undefined) return false;
      return child.graph.nodes.some(
        (inner) =>
          this.#makesHalfItself(inner, child) ||
          (inner.outputs.some((value) => this.#isHalf(value, child)) &&
            !inner.inputs.some((value) => this.#isHalf(value, child))),
      );
    });
  }

  /** Types in attributes, and tensors; undefined where there is none of this type. */
  #attributes(node: Node, scope: Scope): ReadonlyMap<string, AttributeSpec> | undefined {
    const changed = new Map<string, AttributeSpec>();
    for (const { name, value } of node.attributes) {
      if (value.type === "int" && typeNames.has(name) && value.value === dtypes[this.#type].code) {
        const [output] = node.outputs;
        if (this.#isHalf(output, scope)) changed.set(name, { type: "int", value: dtypes.float32.code });
      } else if (value.type === "string" && name === "to" && value.value === "FLOAT16") {
        changed.set(name, { type: "string", value: "FLOAT" });
      } else if (value.type === "tensor" && value.tensor.dtype === this.#type) {
        const bytes = new TransformedTensor(this.#model.open(value.tensor), {
          from: this.#type,
          to: "float32",
        });
        changed.set(name, { type: "tensor", tensor: { dtype: "float32", dims: value.tensor.dims, bytes } });
      }
    }
    return changed.size === 0 ? undefined : changed;
  }
}

/** Attributes that name a type of elements. */
const typeNames: ReadonlySet<string> = new Set(["to", "dtype", "output_dtype", "output_datatype"]);

/** Moved as it is, so rounded already. */
function isExact(node: Node, output: Value, scope: Scope): boolean {
  if (!movesElements(node)) return false;
  return node.inputs.some((input) => dtypeIn(input, scope) === dtypeIn(output, scope));
}

function isInFunction(scope: Scope): boolean {
  for (let at: Scope | undefined = scope; at !== undefined; at = at.parent) {
    if (at.functionName !== undefined) return true;
  }
  return false;
}

function cast(input: string, output: string, type: HalfType | "float32"): NodeSpec {
  const attributes = new Map([["to", { type: "int", value: dtypes[type].code } as const]]);
  return { opType: emitted.Cast, inputs: [input], outputs: [output], attributes };
}

function wideType(type: ValueType, from: HalfType): ValueType {
  return type.kind === "tensor" && type.dtype === from ? { ...type, dtype: "float32" } : type;
}
