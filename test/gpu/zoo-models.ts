/** @file Models of a folder, and the sizes that their inputs get. */
import { existsSync, readdirSync, readFileSync } from "node:fs";
import path from "node:path";
import { bindSymbols } from "../../src/facts/bind.ts";
import type { Model } from "../../src/ir/model.ts";
import { type OpenModel, openModel } from "../../src/onnx/open.ts";
import { sizeAttempts } from "../../src/verify/sizes.ts";

export function listModels(folder: string): string[] {
  return readdirSync(folder)
    .filter((file) => file.endsWith(".onnx"))
    .map((file) => path.basename(file, ".onnx"))
    .sort();
}

export function openZooModel(folder: string, name: string): OpenModel {
  return openModel(path.join(folder, `${name}.onnx`));
}

interface ManifestInput {
  readonly name: string;
  readonly example: readonly number[];
}

/** Sizes of a model's symbols: those of the manifest's examples, else the first that are tried for any model. */
export function sizesFor(
  model: Model,
  name: string,
  manifest: string | undefined,
): ReadonlyMap<string, number> {
  const examples = manifest === undefined ? undefined : examplesIn(manifest, name);
  if (examples !== undefined) return bindSymbols(model, { shapes: examples }).sizes;
  return sizeAttempts(model, {})[0]?.[0] ?? new Map();
}

/** Shapes by input name; undefined for a model that the manifest does not have. */
function examplesIn(file: string, name: string): ReadonlyMap<string, readonly number[]> | undefined {
  if (!existsSync(file)) return undefined;
  const manifest: Readonly<Record<string, { readonly inputs: readonly ManifestInput[] }>> = JSON.parse(
    readFileSync(file, "utf8"),
  );
  const inputs = manifest[name]?.inputs;
  return inputs && new Map(inputs.map((input) => [input.name, input.example]));
}
