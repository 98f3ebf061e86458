/**
 * @file A model that rounds to codes, computed in other ways: a number that lies between two codes becomes either, and what is
 * behind makes of it what it makes. Which one is right no way can say; how far they are apart all of them do.
 */
import { inferFacts } from "../facts/infer.ts";
import type { Scope } from "../facts/scope.ts";
import { storedTensor } from "../facts/stored.ts";
import type { Model, Value } from "../ir/model.ts";
import { FreshNames } from "../ir/names.ts";
import { nodesOf } from "../ir/nodes.ts";
import { Patch } from "../ir/patch.ts";
import type { OpenModel } from "../onnx/open.ts";
import { patchedInMemory } from "../onnx/patched-in-memory.ts";
import { isQuantizing, isRoundingToCodes } from "../ops/ask.ts";
import { scaledNode, sumNode } from "../ops/written.ts";
import { nudged } from "./nudged.ts";
import { openSession, type Runnable, type SessionOptions } from "./ort.ts";
import type { Tensors } from "./tensor.ts";
import { floatScalar } from "./tensor.ts";

/** Whether any value becomes codes while the model runs: weights that are stored as codes do not. */
export function roundsToCodes(model: Model): boolean {
  return [...nodesOf(model)].some(isQuantizing);
}

/** Of a code: what two orders of the same FP32 sums make of a number whose terms are a thousand codes and cancel. */
export const codeStep = 2 ** -11;

/** By integer kernels, of inputs that differ in the last bit, and with all that QuantizeLinear of the main graph reads a little higher or lower. */
export async function codeWays(
  model: OpenModel,
  original: Runnable,
  inputs: Tensors,
  options: SessionOptions,
): Promise<readonly Tensors[]> {
  const { path } = model;
  const { root } = inferFacts(model);
  const moved = (codes: number): Runnable => ({
    path,
    ...patchedInMemory(model, moveCodes(model, codes, root)),
  });
  const ways: readonly (readonly [Runnable, SessionOptions, Tensors])[] = [
    [original, { ...options, optimization: "all" }, inputs],
    [original, options, nudged(inputs)],
    [moved(codeStep), options, inputs],
    [moved(-codeStep), options, inputs],
  ];
  const results: Tensors[] = [];
  for (const [runnable, own, given] of ways) {
    await using session = await openSession(runnable, own);
    results.push(await session.run(given));
  }
  return results;
}

/** Floats that are rounded by a scale of one element, by so much of it. What is no float32 lies where it does: sums of whole numbers have no last bit. */
export function moveCodes(model: Model, codes: number, root: Scope): Patch {
  const patch = new Patch();
  const [names, graph] = [new FreshNames(model), patch.of(model.graph)];
  const by = names.make("part_of_a_code");
  for (const node of model.graph.nodes) {
    const [x, scale, ...rest] = node.inputs.map((value) => value?.name ?? "");
    const [, divisor] = node.inputs;
    const stored = divisor && storedTensor(divisor);
    const isOne = stored?.dtype === "float32" && stored.dims.every((size) => size === 1);
    if (!isRoundingToCodes(node) || !isOne || x === undefined || scale === undefined) continue;
    if (!isFloat32(node.inputs[0], root)) continue;
    const [step, moved] = [names.make(`${scale}_step`), names.make(`${x}_moved`)];
    graph.nodes.set(node, [
      scaledNode(scale, by, step),
      sumNode(x, step, moved),
      { base: node, inputs: [moved, scale, ...rest] },
    ]);
  }
  if (graph.nodes.size > 0) graph.added.set(by, floatScalar(codes));
  return patch;
}

function isFloat32(value: Value | undefined, root: Scope): boolean {
  const fact = value && root.fact(value);
  return fact?.kind === "tensor" && fact.dtype === "float32";
}
