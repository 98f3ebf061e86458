/** @file What rules may ask of a graph's nodes and values, in one instance of it. */
import { attributeIn } from "../../facts/attributes.ts";
import { constantBehind } from "../../facts/origin.ts";
import type { Scope } from "../../facts/scope.ts";
import type { Shape } from "../../ir/dim.ts";
import type { DType } from "../../ir/dtype.ts";
import { labelOf, type Node, operatorOf, type Value } from "../../ir/model.ts";
import { constantElements, sizesOf } from "../../workload/values.ts";
import type { AttributeFact } from "./pattern.ts";

export class GraphFacts {
  readonly scope: Scope;
  readonly #bindings: ReadonlyMap<string, number>;

  constructor(scope: Scope, bindings: ReadonlyMap<string, number>) {
    this.scope = scope;
    this.#bindings = bindings;
  }

  /** `Conv`, or `com.microsoft::FusedConv` outside ai.onnx. */
  operator(node: Node): string {
    return operatorOf(node);
  }

  /** The node's name, else its operator with its first output. */
  label(node: Node): string {
    return labelOf(node);
  }

  /** The version of an operator set that the model imports; 0 for none. */
  opset(domain = ""): number {
    return this.scope.opsets.get(domain) ?? 0;
  }

  dtype(value: Value | undefined): DType | undefined {
    const fact = value === undefined ? undefined : this.scope.fact(value);
    return fact?.kind === "tensor" ? fact.dtype : undefined;
  }

  /** Numbers and expressions over symbols; undefined where not even the rank is known. */
  shape(value: Value | undefined): Shape | undefined {
    return this.scope.shape(value);
  }

  /** The shape in numbers, symbols at the sizes that the model is priced at; undefined where some stay unknown. */
  sizes(value: Value | undefined): readonly number[] | undefined {
    return value === undefined ? undefined : sizesOf(value, this.scope, { bindings: this.#bindings });
  }

  /** Stored with the model, possibly behind views and conversions. */
  isConst(value: Value | undefined): boolean {
    return value !== undefined && constantBehind(value, this.scope) !== undefined;
  }

  /** Elements of a small constant; undefined for what is computed, large, or not there. */
  elements(value: Value | undefined): readonly number[] | undefined {
    return constantElements(value, this.scope);
  }

  /** Undefined where it is not there, and for tensors and graphs. */
  attribute(node: Node, name: string): AttributeFact {
    const attribute = attributeIn(node, name, this.scope);
    switch (attribute?.type) {
      case "int":
      case "float":
      case "string":
        return attribute.value;
      case "ints":
      case "floats":
      case "strings":
        return attribute.values;
      default:
        return undefined;
    }
  }
}
