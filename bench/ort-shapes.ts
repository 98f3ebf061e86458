/**
 * @file Inferred shapes against the shapes ONNX Runtime really makes: every value of every zoo model.
 *
 *   node scripts/run.mjs bench/ort-shapes.ts [name …]
 *
 * Each model gets its weights back in a temporary folder, every value becomes a graph output, and one run on seeded
 * inputs gives the true shapes (and elements, where inference folds). Models with more weights than `maxWeightBytes` are left out. Exit code 1 on a difference.
 */
import { execFileSync } from "node:child_process";
import { existsSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import path from "node:path";
import { InferenceSession, Tensor } from "onnxruntime-node";
import { inferFacts } from "../src/facts/infer.ts";
import { evaluateDim } from "../src/ir/dim.ts";
import { type DType, dtypeOfCode } from "../src/ir/dtype.ts";
import type { Model, Value } from "../src/ir/model.ts";
import { graphFields, modelFields, valueInfoFields } from "../src/onnx/fields.ts";
import { openModel } from "../src/onnx/open.ts";
import type { Fact } from "../src/ops/op.ts";
import { numbersOf } from "../src/ops/shape.ts";
import { lengthPrefixed } from "../src/wire/splice.ts";

const maxWeightBytes = 600e6;
/** Run from the repository's root. */
const zoo = path.resolve("..", "shared", "zoo");

interface ManifestInput {
  readonly name: string;
  readonly dtype: number;
  readonly example: readonly number[];
}

interface ManifestEntry {
  readonly inputs: readonly ManifestInput[];
  readonly weights: readonly { readonly length: number }[];
}

interface Comparison {
  readonly compared: number;
  /** How many of them inference folded to constants, which must be right too. */
  readonly elements: number;
  /** Values of which inference does not know every size. */
  readonly unknown: readonly string[];
  readonly differences: readonly string[];
}

async function main(names: readonly string[]): Promise<void> {
  if (!existsSync(zoo)) {
    console.error(`skipped: ${path.relative(".", zoo)} is not here`);
    process.exitCode = 1;
    return;
  }
  const manifest: Readonly<Record<string, ManifestEntry>> = JSON.parse(
    readFileSync(path.join(zoo, "manifest.json"), "utf8"),
  );
  const total = { models: 0, compared: 0, elements: 0, unknown: 0, differences: 0 };
  for (const [name, entry] of Object.entries(manifest)) {
    if (names.length > 0 && !names.includes(name)) continue;
    const weightBytes = entry.weights.reduce((bytes, { length }) => bytes + length, 0);
    if (weightBytes > maxWeightBytes) {
      console.log(`${name}: left out, ${Math.round(weightBytes / 1e6)} MB of weights`);
      continue;
    }
    const { compared, elements, unknown, differences } = await compareModel(name, entry);
    console.log(
      `${name}: ${compared} values (${elements} folded) compared, ${unknown.length} not known, ${differences.length} differences`,
    );
    for (const line of [...unknown, ...differences]) console.log(`  ${line}`);
    total.models++;
    total.compared += compared;
    total.elements += elements;
    total.unknown += unknown.length;
    total.differences += differences.length;
  }
  console.log(
    `${total.models} models, ${total.compared} values (${total.elements} folded) compared: ${total.differences} differences, ${total.unknown} not known`,
  );
  if (total.differences > 0 || total.compared === 0) process.exitCode = 1;
}

async function compareModel(name: string, entry: ManifestEntry): Promise<Comparison> {
  const folder = mkdtempSync(path.join(tmpdir(), "tc-lint-shapes-"));
  try {
    execFileSync(process.execPath, [path.join(zoo, "materialize.mjs"), folder, name], { stdio: "pipe" });
    const file = path.join(folder, `${name}.onnx`);
    using model = openModel(file);
    const values = model.graph.nodes.flatMap((node) => node.outputs.filter((value) => value !== undefined));
    const probe = path.join(folder, "probe.onnx");
    writeFileSync(probe, withOutputs(readFileSync(file), values));
    return compareShapes(model, values, entry, await run(probe, entry.inputs));
  } finally {
    rmSync(folder, { recursive: true, force: true });
  }
}

/** Parsers merge a second `graph` field into the first: its outputs come on top. */
function withOutputs(bytes: Uint8Array, values: readonly Value[]): Uint8Array {
  const outputs = values.flatMap((value) => {
    if (value.isOutput) return [];
    const name = Buffer.from(value.name, "utf8");
    const info = Buffer.concat([lengthPrefixed(valueInfoFields.name, name.length), name]);
    return [Buffer.concat([lengthPrefixed(graphFields.output, info.length), info])];
  });
  const graph = Buffer.concat(outputs);
  return Buffer.concat([bytes, lengthPrefixed(modelFields.graph, graph.length), graph]);
}

async function run(
  probe: string,
  inputs: readonly ManifestInput[],
): Promise<InferenceSession.OnnxValueMapType> {
  const session = await InferenceSession.create(probe, {
    graphOptimizationLevel: "disabled",
    logSeverityLevel: 3,
  });
  try {
    const feeds = Object.fromEntries(inputs.map((input, index) => [input.name, seeded(input, index + 1)]));
    return await session.run(feeds);
  } finally {
    await session.release();
  }
}

/** Uniform numbers in [0, 1); integers are 0 or 1, which every vocabulary and every mask has. */
function seeded({ dtype, example }: ManifestInput, seed: number): Tensor {
  const count = example.reduce((product, size) => product * size, 1);
  let state = seed * 0x9e3779b1;
  const next = () => {
    state = (Math.imul(state, 1664525) + 1013904223) >>> 0;
    return state / 2 ** 32;
  };
  const numbers = Array.from({ length: count }, next);
  if (dtypeOfCode(dtype) === "int64") {
    return new Tensor(
      "int64",
      BigInt64Array.from(numbers, (number) => BigInt(Math.round(number))),
      example,
    );
  }
  return new Tensor("float32", Float32Array.from(numbers), example);
}

function compareShapes(
  model: Model,
  values: readonly Value[],
  { inputs }: ManifestEntry,
  actual: InferenceSession.OnnxValueMapType,
): Comparison {
  const shapes = new Map(inputs.map(({ name, example }) => [name, example]));
  const { root, bindings } = inferFacts(model, { shapes, useDeclared: false });
  // The same with symbols, whose expressions must come to the same sizes.
  const symbolic = inferFacts(model, { useDeclared: false }).root;
  const unknown: string[] = [];
  const differences: string[] = [];
  let [compared, elements] = [0, 0];
  for (const value of values) {
    const tensor = actual[value.name];
    if (tensor === undefined) throw new Error(`ONNX Runtime did not return ${value.name}`);
    compared++;
    const truth = `${ortTypes[tensor.type] ?? tensor.type}[${tensor.dims.join(",")}]`;
    const inferred = textOf(root.fact(value));
    if (!isKnown(root.fact(value))) unknown.push(`${value.name}: inferred ${inferred}, is ${truth}`);
    else if (inferred !== truth) differences.push(`${value.name}: inferred ${inferred}, is ${truth}`);
    const evaluated = symbolic.shape(value)?.map((dim) => evaluateDim(dim, bindings));
    if (evaluated?.some((size, axis) => size !== undefined && size !== tensor.dims[axis])) {
      differences.push(`${value.name}: [${symbolic.shape(value)?.join(",")}] with symbols, is ${truth}`);
    }
    const folded = foldedElements(root.fact(value));
    if (folded === undefined) continue;
    elements++;
    const wrong = folded.findIndex((element, index) => differs(element, Number(tensor.data[index])));
    if (wrong >= 0) {
      differences.push(
        `${value.name}: element ${wrong} folded to ${folded[wrong]}, is ${tensor.data[wrong]}`,
      );
    }
  }
  return { compared, elements, unknown, differences };
}

/** ONNX Runtime's names for types where they are not ours. */
const ortTypes: Readonly<Record<string, DType>> = { float64: "float64" };

function isKnown(fact: Fact | undefined): boolean {
  return fact?.kind === "tensor" && (fact.shape?.every((dim) => typeof dim === "number") ?? false);
}

function foldedElements(fact: Fact | undefined): readonly number[] | undefined {
  return fact?.kind === "tensor" ? numbersOf(fact.elements) : undefined;
}

/** Folding is in double precision, ONNX Runtime in single. */
function differs(folded: number, actual: number): boolean {
  return !Object.is(folded, actual) && !(Math.abs(folded - actual) <= 1e-5 * Math.max(1, Math.abs(actual)));
}

function textOf(fact: Fact | undefined): string {
  return fact?.kind === "tensor" ? `${fact.dtype}[${fact.shape?.join(",") ?? "…"}]` : String(fact?.kind);
}

await main(process.argv.slice(2));
