/** @file ONNX's own operator tests as seen by inference: declared inputs in, outputs compared with their declaration. */
import { readdirSync, readFileSync } from "node:fs";
import path from "node:path";
import { constantFact } from "../../src/facts/constant.ts";
import { inferFacts } from "../../src/facts/infer.ts";
import type { Value, ValueType } from "../../src/ir/model.ts";
import { graphFields, modelFields } from "../../src/onnx/fields.ts";
import { modelFromBytes, openModel } from "../../src/onnx/open.ts";
import type { Fact } from "../../src/ops/op.ts";
import { lengthPrefixed } from "../../src/wire/splice.ts";

export interface NodeTestResult {
  readonly test: string;
  /** What is wrong, in words; empty where inference and declaration agree. */
  readonly contradictions: readonly string[];
  readonly skipped: readonly string[];
  /** Per tensor output: whether dtype and every size are numbers, from types alone and with the inputs' elements. */
  readonly outputs: readonly {
    readonly name: string;
    readonly known: boolean;
    readonly knownFromData: boolean;
  }[];
}

export function runNodeTest(folder: string, test: string): NodeTestResult {
  using model = openModel(path.join(folder, test, "model.onnx"));
  const facts = inferFacts(model, { useDeclared: false });
  const withData = inferFacts(model, {
    useDeclared: false,
    inputs: inputFacts(path.join(folder, test), model.graph.inputs),
  });
  const outputs = model.graph.outputs.filter((value) => value.declared?.kind === "tensor");
  return {
    test,
    contradictions: model.graph.outputs.flatMap((value) => [
      ...compare(value, facts.root.fact(value)),
      ...compare(value, withData.root.fact(value)),
    ]),
    skipped: [...facts.skipped, ...withData.skipped].map(({ reason }) => reason),
    outputs: outputs.map((value) => ({
      name: value.name,
      known: isKnown(facts.root.fact(value)),
      knownFromData: isKnown(withData.root.fact(value)),
    })),
  };
}

function isKnown(fact: Fact | undefined): boolean {
  if (fact?.kind !== "tensor" || fact.dtype === undefined) return false;
  return fact.shape?.every((dim) => typeof dim === "number") ?? false;
}

function compare(value: Value, fact: Fact | undefined): string[] {
  const { declared } = value;
  if (declared === undefined || fact === undefined || agree(fact, declared)) return [];
  return [`${value.name}: inferred ${textOfFact(fact)}, declared ${textOfType(declared)}`];
}

function agree(fact: Fact, declared: ValueType): boolean {
  if (fact.kind === "tensor" && fact.dtype === undefined && fact.shape === undefined) return true;
  if (fact.kind !== declared.kind) return false;
  if (fact.kind === "tensor" && declared.kind === "tensor") {
    if (fact.dtype !== undefined && declared.dtype !== undefined && fact.dtype !== declared.dtype)
      return false;
    const { shape } = declared;
    if (fact.shape === undefined || shape === undefined) return true;
    if (fact.shape.length !== shape.length) return false;
    return fact.shape.every((dim, axis) => {
      const stated = shape[axis];
      return typeof dim !== "number" || typeof stated !== "number" || dim === stated;
    });
  }
  if ((fact.kind === "sequence" || fact.kind === "optional") && "element" in declared) {
    return (
      fact.element === undefined || declared.element === undefined || agree(fact.element, declared.element)
    );
  }
  return true;
}

function textOfFact(fact: Fact): string {
  if (fact.kind === "tensor") return `${fact.dtype}[${fact.shape?.join(",") ?? "…"}]`;
  return fact.kind === "sequence" || fact.kind === "optional"
    ? `${fact.kind}(${fact.element === undefined ? "?" : textOfFact(fact.element)})`
    : fact.kind;
}

function textOfType(type: ValueType): string {
  if (type.kind === "tensor") return `${type.dtype}[${type.shape?.join(",") ?? "…"}]`;
  return type.kind === "sequence" || type.kind === "optional"
    ? `${type.kind}(${type.element === undefined ? "?" : textOfType(type.element)})`
    : type.kind;
}

/** Facts with elements for the tensor inputs whose test data is here. */
function inputFacts(folder: string, inputs: readonly Value[]): Map<string, Fact> {
  const facts = new Map<string, Fact>();
  const data = path.join(folder, "test_data_set_0");
  for (const file of readdirSync(data)) {
    const index = /^input_(\d+)\.pb$/.exec(file)?.[1];
    const input = index === undefined ? undefined : inputs[Number(index)];
    if (input?.declared?.kind !== "tensor") continue;
    const fact = tensorFact(readFileSync(path.join(data, file)));
    if (fact !== undefined) facts.set(input.name, fact);
  }
  return facts;
}

/** A file that is a TensorProto, read as the one initializer of a model. */
function tensorFact(bytes: Uint8Array): Fact | undefined {
  const graph = Buffer.concat([lengthPrefixed(graphFields.initializer, bytes.length), bytes]);
  const model = modelFromBytes(Buffer.concat([lengthPrefixed(modelFields.graph, graph.length), graph]));
  for (const { initializer } of model.graph.values.values()) {
    if (initializer !== undefined) return constantFact(initializer, model.reader);
  }
  return undefined;
}
