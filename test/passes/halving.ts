/** @file The half pass over models, with what must be true of every result. */
import { expect } from "vitest";
import { type GraphBuilder, type ModelBuilder, type ModelOptions, model } from "../../fixtures/builder.ts";
import { createCostModel } from "../../src/cost/model.ts";
import { inferFacts } from "../../src/facts/infer.ts";
import { patched } from "../../src/fix/edits.ts";
import { findGpu } from "../../src/hardware/gpus.ts";
import { stacks } from "../../src/hardware/stacks.ts";
import type { Target } from "../../src/hardware/target.ts";
import type { DType } from "../../src/ir/dtype.ts";
import type { Graph } from "../../src/ir/model.ts";
import { FreshNames } from "../../src/ir/names.ts";
import { modelFromBytes, type OpenModel } from "../../src/onnx/open.ts";
import { tensorBytes } from "../../src/onnx/tensor-bytes.ts";
import { typeErrors } from "../../src/passes/half/check.ts";
import { emulateHalf } from "../../src/passes/half/emulate.ts";
import { half } from "../../src/passes/half/half.ts";
import type { PassContext, PassNote, PassOptions, Pricing } from "../../src/passes/pass.ts";
import { encodeNumbers } from "../../src/passes/tensors.ts";
import { priceModel } from "../../src/workload/workload.ts";
import { bytesOfModel, difference, type Feeds, floats, noise, run, volume } from "./folding.ts";

function testGpu() {
  const gpu = findGpu("h200");
  if (gpu === undefined) throw new Error("the tests' GPU is gone");
  return gpu;
}

const cost = createCostModel();
const target: Target = { gpu: testGpu(), stack: stacks.cudnn, precision: "as-is" };

const defaults: PassOptions = {
  halfType: "float16",
  halfIo: false,
  ranges: undefined,
  nhwcIo: false,
  nhwcForm: "portable",
};

export interface Halved {
  readonly before: OpenModel;
  readonly after: OpenModel;
  readonly changed: boolean;
  readonly notes: readonly PassNote[];
}

/** Runs the pass, and checks types, order and edges of what comes out. */
export function halveModel(before: OpenModel, options: Partial<PassOptions> = {}): Halved {
  const halved = runHalf(before, options);
  const { after } = halved;
  const broken = new Set(typeErrors(inferFacts(before)));
  expect(typeErrors(inferFacts(after)).filter((error) => !broken.has(error))).toEqual([]);
  expectSorted(after.graph, new Set());
  if (options.halfIo !== true) expect(edgesOf(after)).toEqual(edgesOf(before));
  return halved;
}

export function halveBytes(bytes: Uint8Array, options: Partial<PassOptions> = {}): Halved {
  return halveModel(modelFromBytes(bytes), options);
}

/** What the pass takes of its context; prices are none of its business. */
type HalfContext = Pick<
  PassContext,
  "model" | "facts" | "names" | "open" | "options" | "target" | "products" | "account"
> & {
  readonly pricing: Pick<Pricing, "bindings">;
};

export function runHalf(before: OpenModel, options: Partial<PassOptions> = {}): Halved {
  const { patch, notes } = half.run(contextOf(before, options));
  const after = patch.isEmpty ? before : patched(before, patch, "half.made");
  return { before, after, changed: !patch.isEmpty, notes };
}

/** The result in FP32, with a rounding wherever a value is half. */
export function runEmulation(before: OpenModel, options: Partial<PassOptions> = {}): OpenModel {
  const { after } = runHalf(before, options);
  const { facts, names, open } = contextOf(after, options);
  const emulated = emulateHalf({ facts, names, open }, options.halfType ?? "float16");
  return patched(after, emulated, "half.emulated");
}

function contextOf(before: OpenModel, options: Partial<PassOptions>): PassContext {
  const facts = inferFacts(before);
  const context: HalfContext = {
    model: before,
    facts,
    products: [],
    names: new FreshNames(before),
    open: (tensor) => tensorBytes(before.source, before.files, tensor, encodeNumbers),
    options: { ...defaults, ...options },
    target,
    account: {
      estimate: (work) => cost.estimate(work, target).microseconds,
      microsecondsWith: (patch) =>
        priceModel(patch.isEmpty ? before : patched(before, patch, "half.seen"), { target, cost }).timeline
          .microseconds,
    },
    pricing: { bindings: new Map([...facts.symbols].map((name) => [name, 1])) },
  };
  return context as PassContext;
}

/** Names and types of a model's inputs and outputs. */
function edgesOf({ graph }: OpenModel) {
  const edge = ({ name, declared }: Graph["inputs"][number]) => ({ name, declared });
  return {
    inputs: graph.inputs.filter(({ initializer }) => initializer === undefined).map(edge),
    outputs: graph.outputs.map(edge),
  };
}

/** Producers stand before consumers in the file, in the graph and in every graph inside it. */
function expectSorted(graph: Graph, outer: ReadonlySet<string>): void {
  const known = new Set(outer);
  for (const value of graph.values.values()) if (value.producer === undefined) known.add(value.name);
  for (const node of [...graph.nodes].sort((a, b) => a.span.offset - b.span.offset)) {
    for (const input of node.inputs) if (input !== undefined) expect(known, input.name).toContain(input.name);
    for (const { value } of node.attributes) if (value.type === "graph") expectSorted(value.graph, known);
    for (const output of node.outputs) if (output !== undefined) known.add(output.name);
  }
}

/** How many nodes of an operator there are, in all graphs. */
export function countOf(graph: Graph, opType: string): number {
  let count = 0;
  for (const node of graph.nodes) {
    if (node.opType === opType) count += 1;
    for (const { value } of node.attributes)
      if (value.type === "graph") count += countOf(value.graph, opType);
  }
  return count;
}

export function weight(graph: GraphBuilder, dims: readonly number[], seed = 7, scale = 1): string {
  return graph.weight(dims, { values: noise(volume(dims), seed).map((value) => value * scale) });
}

/** Rounding to 11 bits a few times over. */
const tolerance = 5e-3;

/** The pass changes the model, and not what it computes; a second run finds nothing left to do. */
export async function expectClose(
  bytes: Uint8Array,
  feeds: Feeds = { x: floats([4, 8]) },
  options: Partial<PassOptions> = {},
): Promise<Halved> {
  const halved = halveBytes(bytes, options);
  expect(halved.changed).toBe(true);
  expect(runHalf(halved.after, options).changed).toBe(false);
  const expected = await run(bytes, feeds);
  const actual = await run(bytesOfModel(halved.after), feeds);
  expect(difference(expected, actual)).toBeLessThan(tolerance);
  return halved;
}

/** The type that the first node of an operator gives. */
export function dtypeOf({ after }: Halved, opType: string): DType | undefined {
  const value = after.graph.nodes.find((each) => each.opType === opType)?.outputs[0];
  const fact = value && inferFacts(after).root.fact(value);
  return fact?.kind === "tensor" ? fact.dtype : undefined;
}

/** x [4, 8] · w, then whatever `build` makes of it, as y. */
export function behindProduct(
  build: (graph: GraphBuilder, product: string, builder: ModelBuilder) => string,
  options: Partial<ModelOptions> = {},
): Uint8Array {
  return model({ name: "half", opset: 17, ...options }, (graph, builder) => {
    const input = graph.input("x", [4, 8]);
    const product = graph.node("MatMul", [input, weight(graph, [8, 8])]);
    graph.node("Identity", [build(graph, product, builder)], {}, { outputs: ["y"] });
    graph.output("y");
  });
}
