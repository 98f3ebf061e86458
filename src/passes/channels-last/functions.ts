/** @file NHWC operators as model-local functions in the domain `tc_lint.nhwc`: Transpose, the operator, Transpose. */
import type { Node } from "../../ir/model.ts";
import type { AttributeSpec, FunctionSpec } from "../../ir/patch.ts";
import { nhwcDomain } from "../../ops/nhwc.ts";

/** Functions came with IR version 8. Source: onnx.proto. */
export const leastIrVersion = 8;

export const toNchw = [0, 3, 1, 2];
export const toNhwc = [0, 2, 3, 1];

type Plain = "int" | "float" | "string" | "ints" | "floats";

/**
 * Collects the functions that calls need. One function for each operator, number of inputs and set of attributes: a
 * body can neither omit an input nor take an attribute that the caller leaves out.
 */
export class NhwcFunctions {
  readonly #specs = new Map<string, FunctionSpec>();
  readonly #opset: number;

  constructor(opset: number) {
    this.#opset = opset;
  }

  get specs(): readonly FunctionSpec[] {
    return [...this.#specs.values()];
  }

  /** Name of the function that computes `node` on NHWC values; undefined where its attributes cannot be passed on. */
  call(node: Node): string | undefined {
    const attributes: [string, Plain][] = [];
    for (const { name, value } of node.attributes) {
      if (!isPlain(value.type)) return undefined;
      attributes.push([name, value.type]);
    }
    attributes.sort(([a], [b]) => (a < b ? -1 : 1));
    const present = node.inputs.map((input) => input !== undefined);
    const key = [node.opType, ...present, ...attributes.flat()].join(" ");
    const known = this.#specs.get(key);
    if (known !== undefined) return known.name;
    const same = [...this.#specs.values()].filter(
      ({ name }) => name.replace(/_\d+$/, "") === node.opType,
    ).length;
    const name = same === 0 ? node.opType : `${node.opType}_${same + 1}`;
    this.#specs.set(key, this.#spec(name, node.opType, present, attributes));
    return name;
  }

  #spec(
    name: string,
    opType: string,
    present: readonly boolean[],
    attributes: readonly (readonly [string, Plain])[],
  ): FunctionSpec {
    const inputs = present.map((_, index) => `x${index}`);
    const references = attributes.map(([to, of]): [string, AttributeSpec] => [
      to,
      { type: "reference", to, of },
    ]);
    const operands = ["nchw", ...inputs.slice(1).map((input, index) => (present[index + 1] ? input : ""))];
    return {
      domain: nhwcDomain,
      name,
      inputs,
      outputs: ["y"],
      attributes: attributes.map(([attribute]) => attribute),
      opsets: new Map([["", this.#opset]]),
      nodes: [
        {
          opType: "Transpose",
          inputs: ["x0"],
          outputs: ["nchw"],
          attributes: new Map([["perm", perm(toNchw)]]),
        },
        { opType, inputs: operands, outputs: ["out"], attributes: new Map(references) },
        {
          opType: "Transpose",
          inputs: ["out"],
          outputs: ["y"],
          attributes: new Map([["perm", perm(toNhwc)]]),
        },
      ],
    };
  }
}

export function perm(values: readonly number[]): AttributeSpec {
  return { type: "ints", values };
}

function isPlain(type: string): type is Plain {
  return ["int", "float", "string", "ints", "floats"].includes(type);
}
