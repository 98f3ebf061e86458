/**
 * @file Of every operator that a pass writes: since which opset it has which inputs, attributes and element types.
 *
 * Facts of ONNX's operator changelog, put down independently of what the passes take for granted.
 */
import { inferFacts } from "../../src/facts/infer.ts";
import { type DType, dtypes } from "../../src/ir/dtype.ts";
import { labelOf, type Model, type Node, operatorOf } from "../../src/ir/model.ts";
import { emittedOperators } from "../../src/ops/emitted.ts";

type Types = ReadonlySet<DType>;

const setOf = (...types: readonly (DType | readonly DType[])[]): Types => new Set(types.flat());
const floats = ["float16", "float32", "float64"] as const;
const small = ["int8", "int16", "uint8", "uint16"] as const;
const large = ["int32", "int64", "uint32", "uint64"] as const;
const others = ["bool", "string", "complex64", "complex128"] as const;
const tensors = setOf(floats, small, large, others);
const tensorsBf = setOf(floats, small, large, others, "bfloat16");
const numbers = setOf(floats, small, large);
const late = setOf(Object.keys(dtypes) as DType[]);
const indices = setOf("int32", "int64");
const sizes = setOf("int64");
const castable = setOf(floats, small, large, "bool");

interface Version {
  readonly since: number;
  /** Types of each input; the last goes for all that follow where `variadic`. */
  readonly inputs: readonly Types[];
  readonly least: number;
  readonly variadic?: true;
  readonly attributes?: Readonly<Record<string, "int" | "float" | "string" | "ints" | "floats" | "tensor">>;
  /** Attributes that have no default. */
  readonly required?: readonly string[];
}

/** Newest last. */
const schemas: Readonly<Record<string, readonly Version[]>> = {
  Add: [
    { since: 7, least: 2, inputs: [setOf(floats, large), setOf(floats, large)] },
    { since: 13, least: 2, inputs: [setOf(floats, large, "bfloat16"), setOf(floats, large, "bfloat16")] },
    {
      since: 14,
      least: 2,
      inputs: [setOf(floats, small, large, "bfloat16"), setOf(floats, small, large, "bfloat16")],
    },
  ],
  Cast: [
    { since: 6, least: 1, inputs: [castable], attributes: { to: "int" }, required: ["to"] },
    {
      since: 9,
      least: 1,
      inputs: [setOf([...castable], "string")],
      attributes: { to: "int" },
      required: ["to"],
    },
    {
      since: 13,
      least: 1,
      inputs: [setOf([...castable], "string", "bfloat16")],
      attributes: { to: "int" },
      required: ["to"],
    },
    { since: 19, least: 1, inputs: [late], attributes: { to: "int", saturate: "int" }, required: ["to"] },
  ],
  Concat: [
    {
      since: 4,
      least: 1,
      variadic: true,
      inputs: [tensors],
      attributes: { axis: "int" },
      required: ["axis"],
    },
    {
      since: 13,
      least: 1,
      variadic: true,
      inputs: [tensorsBf],
      attributes: { axis: "int" },
      required: ["axis"],
    },
  ],
  Expand: [
    { since: 8, least: 2, inputs: [tensors, sizes] },
    { since: 13, least: 2, inputs: [tensorsBf, sizes] },
  ],
  Gather: [
    { since: 1, least: 2, inputs: [tensors, indices], attributes: { axis: "int" } },
    { since: 13, least: 2, inputs: [tensorsBf, indices], attributes: { axis: "int" } },
  ],
  Identity: [
    { since: 1, least: 1, inputs: [tensors] },
    { since: 13, least: 1, inputs: [tensorsBf] },
    { since: 19, least: 1, inputs: [late] },
  ],
  Max: [
    { since: 6, least: 1, variadic: true, inputs: [setOf(floats)] },
    { since: 12, least: 1, variadic: true, inputs: [numbers] },
    { since: 13, least: 1, variadic: true, inputs: [setOf([...numbers], "bfloat16")] },
  ],
  Pad: [
    {
      since: 2,
      least: 1,
      inputs: [setOf(floats)],
      attributes: { pads: "ints", mode: "string", value: "float" },
      required: ["pads"],
    },
    { since: 11, least: 2, inputs: [numbers, sizes, numbers], attributes: { mode: "string" } },
    { since: 13, least: 2, inputs: [tensorsBf, sizes, tensorsBf], attributes: { mode: "string" } },
    { since: 18, least: 2, inputs: [tensorsBf, sizes, tensorsBf, indices], attributes: { mode: "string" } },
    { since: 21, least: 2, inputs: [late, sizes, late, indices], attributes: { mode: "string" } },
  ],
  Shape: [
    { since: 1, least: 1, inputs: [tensors] },
    { since: 13, least: 1, inputs: [tensorsBf] },
    { since: 15, least: 1, inputs: [tensorsBf], attributes: { start: "int", end: "int" } },
    { since: 19, least: 1, inputs: [late], attributes: { start: "int", end: "int" } },
  ],
  Slice: [
    {
      since: 1,
      least: 1,
      inputs: [tensors],
      attributes: { starts: "ints", ends: "ints", axes: "ints" },
      required: ["starts", "ends"],
    },
    { since: 10, least: 3, inputs: [tensors, indices, indices, indices, indices] },
    { since: 13, least: 3, inputs: [tensorsBf, indices, indices, indices, indices] },
  ],
  Transpose: [
    { since: 1, least: 1, inputs: [tensors], attributes: { perm: "ints" } },
    { since: 13, least: 1, inputs: [tensorsBf], attributes: { perm: "ints" } },
    { since: 21, least: 1, inputs: [late], attributes: { perm: "ints" } },
  ],
};

/** What a pass wrote: nodes that the model had not, under their name and operator. */
export function emittedNodes(before: Model, after: Model): readonly Node[] {
  const there = new Set(before.graph.nodes.map((node) => `${labelOf(node)} ${operatorOf(node)}`));
  return after.graph.nodes.filter((node) => !there.has(`${labelOf(node)} ${operatorOf(node)}`));
}

/** Of the emitted nodes, those that ONNX does not define so in the model's opset, and operators that no list has. */
export function schemaProblems(before: Model, after: Model): string[] {
  const { root } = inferFacts(after);
  const opset = after.opsets.get("") ?? 1;
  return emittedNodes(before, after).flatMap((node) => {
    if (node.domain !== "") return [];
    const say = (what: string) => `${node.opType} "${node.name}" in opset ${opset}: ${what}`;
    if (!emittedOperators.has(node.opType)) return [say("is not among the operators that passes write")];
    const version = schemas[node.opType]?.findLast(({ since }) => since <= opset);
    if (version === undefined) return [say("is not there")];
    const typeAt = (index: number) => {
      const value = node.inputs[index];
      const fact = value && root.fact(value);
      return fact?.kind === "tensor" ? fact.dtype : undefined;
    };
    return [...inputProblems(node, version, typeAt), ...attributeProblems(node, version)].map(say);
  });
}

function inputProblems(node: Node, version: Version, typeAt: (index: number) => DType | undefined): string[] {
  const { inputs, least, variadic } = version;
  if (node.inputs.length < least) return [`has ${node.inputs.length} inputs, needs ${least}`];
  if (node.inputs.length > inputs.length && variadic !== true) return [`has ${node.inputs.length} inputs`];
  return node.inputs.flatMap((_, index) => {
    const type = typeAt(index);
    const allowed = inputs[Math.min(index, inputs.length - 1)];
    if (type === undefined) return [`input ${index} has no known type`];
    return allowed?.has(type) === true ? [] : [`does not take ${type} as input ${index}`];
  });
}

function attributeProblems(node: Node, { attributes = {}, required = [] }: Version): string[] {
  const wrong = node.attributes.flatMap(({ name, value }) =>
    attributes[name] === value.type ? [] : [`attribute ${name} (${value.type}) is not defined`],
  );
  const missing = required.filter((name) => !node.attributes.some((each) => each.name === name));
  return [...wrong, ...missing.map((name) => `attribute ${name} is missing`)];
}
