/** @file A model with patches, not yet written: read as if it had been, and brought to bytes. */
import { Patch } from "../ir/patch.ts";
import { applyPatch, type PatchedModel } from "../onnx/apply.ts";
import { modelFromSource, type OpenModel } from "../onnx/read-model.ts";
import { tensorBytes } from "../onnx/tensor-bytes.ts";
import { encodeNumbers } from "../passes/tensors.ts";
import { SegmentSource } from "../wire/segments.ts";
import { compact } from "./compact.ts";

/** The model after a patch, as if it had been written and read again. */
export function patched(model: OpenModel, patch: Patch, dataLocation: string): OpenModel {
  const { model: whole, data } = applyPatch(model, model.source, patch, dataLocation);
  const segments = compact(whole);
  const made = new Map(model.files.made);
  if (data !== undefined) made.set(dataLocation, new SegmentSource(dataLocation, data));
  return modelFromSource(new SegmentSource(model.path, segments), model.files.with(made));
}

/** Brings what the patches made into one data file, and sets `metadata`. */
export function render(
  model: OpenModel,
  location: string,
  metadata: ReadonlyMap<string, string> = new Map(),
): PatchedModel {
  const patch = new Patch();
  for (const [key, value] of metadata) patch.metadata.set(key, value);
  const graph = patch.of(model.graph);
  for (const { name, initializer } of model.graph.values.values()) {
    const { data, dtype, dims } = initializer ?? {};
    if (initializer === undefined || data?.kind !== "external" || !model.files.made.has(data.location))
      continue;
    if (dtype === undefined || dims === undefined) continue;
    graph.tensors.set(name, {
      dtype,
      dims,
      bytes: tensorBytes(model.source, model.files, initializer, encodeNumbers),
    });
  }
  return applyPatch(model, model.source, patch, location);
}
