/** @file A patched model without a file of its own. */
import type { Patch } from "../ir/patch.ts";
import { applyPatch } from "./apply.ts";
import { type ModelBytes, modelInMemory } from "./in-memory.ts";
import type { OpenModel } from "./open.ts";

/** What the patch makes of a model; large tensors stay where they are. `path` is what errors call it. Throws InputError as `modelInMemory` does. */
export function patchedInMemory(model: OpenModel, patch: Patch, path = model.path): ModelBytes {
  return modelInMemory(path, () => applyPatch(model, model.source, patch, "unused").model);
}
