/** @file What a repair makes of a small model, for tests of rules. */
import { join } from "node:path";
import { operatorOf } from "../ir/model.ts";
import { openModel } from "../onnx/open.ts";
import { inTemporaryFolder, withTemporaryModel } from "../onnx/temporary-folder.ts";
import { type FixOptions, fix } from "./fix.ts";
import { encode, type ModelProto } from "./lint.ts";

/** Operators in graph order. Throws InputError as `fix` does. */
export async function fixedOperators(
  model: string | Uint8Array | ModelProto,
  options: FixOptions,
): Promise<string[]> {
  if (typeof model === "string") return inTemporaryFolder("test", (folder) => fixed(model, folder, options));
  const bytes = model instanceof Uint8Array ? model : await encode(model);
  return withTemporaryModel("test", bytes, (path, folder) => fixed(path, folder, options));
}

async function fixed(path: string, folder: string, options: FixOptions): Promise<string[]> {
  const output = join(folder, "fixed.onnx");
  await fix(path, { ...options, output });
  using result = openModel(output);
  return result.graph.nodes.map(operatorOf);
}
