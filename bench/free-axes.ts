/**
 * @file Which misaligned axes of products padding may move, model by model, and why the others stay.
 *
 *   node scripts/run.mjs bench/free-axes.ts [FOLDER or FILE …] [--verbose]
 *
 * Reads skeletons (no weights needed); the default is the zoo. An axis is misaligned where it is no multiple of 8, and
 * free where padding its free atoms makes it one. Shape arithmetic is folded first, as `--fix` does.
 */
import { existsSync, readdirSync, statSync } from "node:fs";
import path from "node:path";
import { parseArgs } from "node:util";
import { type Facts, inferFacts } from "../src/facts/infer.ts";
import { extractProducts, type Product } from "../src/facts/products.ts";
import { patched } from "../src/fix/pipeline.ts";
import { type Axis, atomsOf, paddedSize, sizeOfAxis } from "../src/ir/axis.ts";
import { InputError } from "../src/ir/errors.ts";
import type { Value } from "../src/ir/model.ts";
import { type OpenModel, openModel } from "../src/onnx/open.ts";
import { tensorBytes } from "../src/onnx/tensor-bytes.ts";
import { findOp } from "../src/ops/registry.ts";
import { freeAtoms } from "../src/passes/align/free-atoms.ts";
import { blockUnsafe, collectFills } from "../src/passes/align/lanes.ts";
import { type Relations, relate } from "../src/passes/align/relate.ts";
import { fold } from "../src/passes/fold/fold.ts";
import { FreshNames } from "../src/passes/names.ts";
import type { PassContext } from "../src/passes/pass.ts";
import { encodeNumbers } from "../src/passes/tensors.ts";

const multiple = 8;
const zoo = path.resolve("..", "shared", "zoo");

function main(): void {
  const { values, positionals } = parseArgs({
    allowPositionals: true,
    options: { verbose: { type: "boolean", default: false } },
  });
  const files = (positionals.length === 0 ? [zoo] : positionals).flatMap(modelsIn);
  if (files.length === 0) {
    console.error("no models found");
    process.exitCode = 1;
  }
  let [misaligned, free] = [0, 0];
  for (const file of files) {
    const found = examine(file);
    misaligned += found.misaligned;
    free += found.free;
    const share = `${String(found.free).padStart(4)} of ${String(found.misaligned).padStart(4)}`;
    console.log(`${path.basename(file, ".onnx").padEnd(28)} ${share} misaligned axes are free`);
    const reasons = [...found.reasons].sort((a, b) => b[1] - a[1]);
    for (const [reason, count] of reasons.slice(0, values.verbose ? undefined : 4))
      console.log(`    ${String(count).padStart(4)} ${reason}`);
  }
  console.log(`${files.length} models: ${free} of ${misaligned} misaligned axes are free`);
}

function modelsIn(place: string): string[] {
  if (!existsSync(place)) return [];
  if (!statSync(place).isDirectory()) return [place];
  const names = readdirSync(place).filter((name) => name.endsWith(".onnx"));
  return names.sort().map((name) => path.join(place, name));
}

interface Examined {
  misaligned: number;
  free: number;
  /** How many axes each reason keeps, names left out. */
  readonly reasons: Map<string, number>;
}

function examine(file: string): Examined {
  using opened = openModel(file);
  const facts = inferFacts(folded(opened));
  const relations = relate(facts);
  blockUnsafe(relations, freeAtoms(relations), collectFills(relations));
  const result: Examined = { misaligned: 0, free: 0, reasons: new Map() };
  for (const product of extractProducts(facts).products) {
    if (product.scope !== facts.root) continue;
    for (const axis of misalignedAxes(product, facts, relations)) count(axis, result);
  }
  return result;
}

/** Without weights a BatchNormalization cannot be folded: then the model is taken as it is. */
function folded(model: OpenModel): OpenModel {
  const context: Pick<PassContext, "model" | "names" | "open"> = {
    model,
    names: new FreshNames(model),
    open: (tensor) => tensorBytes(model.source, model.files, tensor, encodeNumbers),
  };
  try {
    const { patch } = fold.run(context as PassContext);
    return patch.isEmpty ? model : patched(model, patch, "fold.data");
  } catch (error) {
    if (!(error instanceof InputError)) throw error;
    console.warn(`    not folded: ${error.message}`);
    return model;
  }
}

/** One entry for each different axis of the product's matrices: taps, positions and batches are no matter of alignment. */
function misalignedAxes(product: Product, facts: Facts, relations: Relations): Axis[] {
  const found = new Map<string, Axis>();
  for (const node of product.nodes) {
    // Attention that is written out has scales, masks and views among its nodes.
    if (findOp(node.domain, node.opType)?.product !== true) continue;
    const isConv = product.work.kind === "conv";
    const operands = [...node.inputs.slice(0, 2), node.outputs[0]];
    for (const [role, value] of operands.entries()) {
      for (const [at, axis] of axesOf(value, facts, relations)) {
        const isChannels = role === 1 ? at === 0 : at === 1;
        const isMatrix = at >= (value === undefined ? 0 : (facts.root.shape(value)?.length ?? 0)) - 2;
        const size = sizeOfAxis(axis);
        if (!(isConv ? isChannels : isMatrix) || size === 1 || size % multiple === 0) continue;
        found.set(`${size}:${atomsOf(axis).map(({ id }) => id)}`, axis);
      }
    }
  }
  return [...found.values()];
}

/** Axes of plain sizes. */
function axesOf(value: Value | undefined, facts: Facts, relations: Relations): [number, Axis][] {
  const shape = facts.root.shape(value);
  const axes = value === undefined ? undefined : relations.axesOf(value);
  return [...(axes ?? []).entries()].filter(([at]) => typeof shape?.[at] === "number");
}

function count(axis: Axis, result: Examined): void {
  result.misaligned++;
  const atoms = atomsOf(axis);
  const aligned = atoms
    .filter(({ blocked }) => blocked === undefined)
    .map((atom) => [atom, Math.ceil(atom.size / multiple) * multiple] as const);
  if (paddedSize(axis, new Map(aligned)) % multiple === 0) {
    result.free++;
    return;
  }
  const blocked = atoms
    .filter(({ size }) => size > 1 && size % multiple !== 0)
    .flatMap(({ blocked: reason }) => reason ?? []);
  for (const reason of new Set(blocked)) {
    const general = reason.replaceAll(/"[^"]*"/g, "…");
    result.reasons.set(general, (result.reasons.get(general) ?? 0) + 1);
  }
}

main();
