/** @file Rotary embeddings written out: one launch, of ONNX Runtime's results; a form that is none runs as it is written. */
import { readFileSync } from "node:fs";
import fc from "fast-check";
import { describe, expect, it, vi } from "vitest";
import type { Plan } from "../../../cuda-runtime/ir/step.ts";
import { elementCount } from "../../../cuda-runtime/ir/view.ts";
import type { Macro } from "../../../cuda-runtime/patterns/macro.ts";
import { recogniseRotation } from "../../../cuda-runtime/patterns/rotation.ts";
import { planModel } from "../../../cuda-runtime/plan/build.ts";
import { inferFacts } from "../../../src/facts/infer.ts";
import type { Node, Value } from "../../../src/ir/model.ts";
import { modelFromBytes, openModel } from "../../../src/onnx/open.ts";
import { weightsOf } from "../../gpu/node-tests-data.ts";
import { info, integers, modelBytes, node, onnx, type types } from "../../onnx/build.ts";
import { eachModel, zooModel } from "../../zoo.ts";
import { runPlan } from "../plan/machine.ts";
import { type Feeds, ran } from "../resample-model.ts";
import { bytesOf, type Form, forms, plain, type Rewrite, type Shape } from "../rotation-model.ts";
import { attribute, launchesFor } from "../small-plan.ts";

vi.mock("../../../cuda-runtime/ptx/compile.ts", async (importOriginal) => {
  const real = await importOriginal<typeof import("../../../cuda-runtime/ptx/compile.ts")>();
  const { rememberingChains } = await import("../plan/machine.ts");
  return { ...real, compileChain: rememberingChains(real.compileChain) };
});

function numbersFor(shape: Shape, seed: number): number[] {
  return Array.from({ length: elementCount(shape) }, (_, at) => (((at + seed) * 37) % 101) / 32 - 1.5);
}

function feedsOf(bytes: Uint8Array): Feeds {
  using model = modelFromBytes(bytes);
  return Object.fromEntries(
    model.graph.inputs.map(({ name, declared }, seed) => {
      const given = declared?.kind === "tensor" ? declared.shape : undefined;
      const shape = given?.map((size) => (typeof size === "number" ? size : Number.NaN)) ?? [];
      return [name, { type: "float32", shape, values: numbersFor(shape, 11 * seed) }] as const;
    }),
  );
}

function planOf(bytes: Uint8Array): Plan {
  using model = modelFromBytes(bytes);
  return planModel({ model, precision: "fp32", weights: weightsOf(model) });
}

function macrosIn(bytes: Uint8Array): readonly Macro[] {
  using model = modelFromBytes(bytes);
  return recogniseRotation(inferFacts(model).root);
}

/** The first output is ONNX Runtime's. */
async function expectRuntimes(bytes: Uint8Array, plan: Plan): Promise<void> {
  const feeds = feedsOf(bytes);
  const inputs = Object.entries(feeds).map(([name, { values }]) => [name, Array.from(values)] as const);
  const [actual = []] = Object.values(runPlan(plan, Object.fromEntries(inputs)));
  const expected = await ran(bytes, feeds);
  if (expected === undefined) throw new Error("ONNX Runtime does not run it");
  expect(actual.length).toBe(expected.length);
  const largest = actual.reduce(
    (most, value, at) => Math.max(most, Math.abs(value - (expected[at] ?? Number.NaN))),
    0,
  );
  expect(largest).toBeLessThan(1e-5);
}

describe("a rotation", () => {
  it("is one launch, whose results are ONNX Runtime's, however it is written", async () => {
    await fc.assert(
      fc.asyncProperty(forms, async (form) => {
        const bytes = bytesOf({ ...form, isJoined: form.isJoined && form.axis !== 0 });
        const plan = planOf(bytes);
        expect(macrosIn(bytes).map(({ name }) => name)).toEqual(["RotaryEmbedding"]);
        expect(launchesFor(plan.steps, "RotaryEmbedding")).toHaveLength(1);
        await expectRuntimes(bytes, plan);
      }),
      { numRuns: 150, seed: 5 },
    );
  });

  it("is written where a concatenation wants it: one copy, of the past", () => {
    const { steps } = planOf(bytesOf({ ...plain, isJoined: true }));
    expect(steps.map(({ operator }) => operator).sort()).toEqual(["Concat", "RotaryEmbedding"]);
  });
});

const renamed =
  (output: string, change: (old: types.INodeProto) => types.INodeProto): Rewrite =>
  (nodes) =>
    nodes.map((old) => (old.output?.includes(output) === true ? change(old) : old));
const plus =
  (more: types.INodeProto): Rewrite =>
  (nodes) => [...nodes, more];
const inputs = (output: string, names: string[]) => renamed(output, (old) => ({ ...old, input: names }));

/** (−second, first) of [2, 8] one below the other is [4, 4], and no longer x's. */
const joinedElsewhere: Rewrite = (nodes) =>
  nodes.flatMap((old) => {
    if (old.output?.includes("rotated") !== true) return [old];
    const tall = { ...old, output: ["tall"], attribute: [attribute("axis", 0)] };
    return [tall, node("Reshape", ["tall", "sizes"], ["rotated"]), node("Shape", ["x"], ["sizes"])].toSorted(
      (a) => (a.opType === "Shape" ? -1 : 0),
    );
  });

interface Odd {
  readonly rewrite?: Rewrite;
  readonly outputs?: readonly string[];
  readonly form?: Partial<Form>;
}

const odd: Readonly<Record<string, Odd>> = {
  "with the other sign, of the first half": { rewrite: inputs("negative", ["first"]) },
  "without a sign": { rewrite: renamed("negative", (old) => ({ ...old, opType: "Identity" })) },
  "with the sign on the other half": {
    rewrite: (nodes) => inputs("rotated", ["second", "negative"])(inputs("negative", ["first"])(nodes)),
  },
  "with halves where they were": { rewrite: inputs("rotated", ["first", "negative"]) },
  "of a difference": { rewrite: renamed("y", (old) => ({ ...old, opType: "Sub" })) },
  "of a product and a sum": { rewrite: renamed("a", (old) => ({ ...old, opType: "Add" })) },
  "with another value in place of x": { rewrite: inputs("a", ["past", "cos"]), form: { isJoined: true } },
  "whose halves overlap": { rewrite: inputs("first", ["x", "one", "five", "axes"]) },
  "whose first half walks backwards": {
    rewrite: inputs("first", ["x", "three", "before", "axes", "minus"]),
  },
  "with every other element, interleaved": {
    rewrite: (nodes) =>
      inputs("second", ["x", "one", "end", "axes", "two"])(
        inputs("first", ["x", "zero", "end", "axes", "two"])(nodes),
      ),
  },
  "joined along another axis": {
    rewrite: joinedElsewhere,
    form: { sizes: [2, 8], axis: 1, cos: [1], sin: [1] },
  },
  "where the rotated value is read elsewhere": {
    rewrite: plus(node("Relu", ["rotated"], ["z"])),
    outputs: ["z"],
  },
  "where a half is read elsewhere": { rewrite: plus(node("Relu", ["first"], ["z"])), outputs: ["z"] },
  "where the negative half is an output": { outputs: ["negative"] },
  "where a product is an output": { outputs: ["b"] },
  "where the cosine is a half of one element": {
    rewrite: inputs("a", ["x", "first"]),
    form: { sizes: [3, 2], axis: 1, cos: [1], sin: [1] },
  },
  "where the sine is the rotated value": { rewrite: inputs("b", ["rotated", "rotated"]) },
  "whose cosine makes it larger": { form: { sizes: [1, 4, 8], axis: 2, cos: [3, 1, 8], sin: [8] } },
};

const numbers = { one: 1, two: 2, three: 3, five: 5, minus: -1, before: -(2 ** 53) + 1 };

describe("is none, and runs as written,", () => {
  it.each(Object.entries(odd))("%s", async (_, { rewrite, outputs, form }) => {
    const model = onnx.ModelProto.decode(bytesOf({ ...plain, ...form }, rewrite, outputs));
    const more = Object.entries(numbers).map(([name, value]) => integers(name, [1], [value]));
    model.graph?.initializer?.push(...more.map((tensor) => onnx.TensorProto.fromObject(tensor)));
    const bytes = onnx.ModelProto.encode(model).finish();
    expect(macrosIn(bytes)).toEqual([]);
    await expectRuntimes(bytes, planOf(bytes));
  });
});

/** What a macro is computed from: the data and the angles. */
function givenTo({ nodes }: Macro): Set<Value> {
  const made = new Set(nodes.flatMap(({ outputs }) => outputs));
  const data = nodes.flatMap(({ opType, inputs: all }: Node) => (opType === "Mul" ? all : all.slice(0, 1)));
  return new Set(data.flatMap((value) => (value === undefined || made.has(value) ? [] : [value])));
}

/** The nodes that make `output` out of values named `given`. */
function cutOut(model: types.ModelProto, output: string, given: ReadonlyMap<string, Shape>): Uint8Array {
  const graph = model.graph;
  if (graph === null || graph === undefined) throw new Error("no graph");
  const wanted = new Set([output]);
  const kept = (graph.node ?? []).toReversed().filter(({ input, output: made }) => {
    if (!made?.some((name) => wanted.has(name) && !given.has(name))) return false;
    for (const name of input ?? []) wanted.add(name);
    return true;
  });
  const tensors = (graph.initializer ?? []).filter(
    ({ name }) => wanted.has(name ?? "") && !given.has(name ?? ""),
  );
  const ports = [...given].map(([name, shape]) => info(name, shape));
  const cut = { node: kept.reverse(), initializer: tensors, input: ports, output: [info(output)] };
  return modelBytes(cut, { opsetImport: model.opsetImport ?? null });
}

describe("in a model of the zoo", () => {
  eachModel(["llama", "llama_dynamo"])(
    "%s: queries and keys of both layers are rotations, each of ONNX Runtime's results",
    async (name) => {
      const file = zooModel(name);
      using model = openModel(file);
      const { root } = inferFacts(model);
      const macros = recogniseRotation(root);
      expect(macros).toHaveLength(4);
      for (const macro of macros) {
        const given = [...givenTo(macro)].map(
          (value) => [value.name, (root.shape(value) ?? []).map(Number)] as const,
        );
        expect(given).toHaveLength(3);
        const bytes = cutOut(onnx.ModelProto.decode(readFileSync(file)), macro.output.name, new Map(given));
        const plan = planOf(bytes);
        expect(plan.steps).toHaveLength(1);
        await expectRuntimes(bytes, plan);
      }
    },
    60_000,
  );
});
