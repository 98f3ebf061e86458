/** @file A model with patches, not yet written: read as if it had been, and brought to bytes. */
import type { TensorRef } from "../ir/model.ts";
import { Patch } from "../ir/patch.ts";
import { applyPatch, type PatchedModel } from "../onnx/apply.ts";
import { copiedNodes } from "../onnx/copied-nodes.ts";
import { modelFromSource, type OpenModel } from "../onnx/read-model.ts";
import { maxModelBytes } from "../onnx/size-limit.ts";
import { tensorBytes } from "../onnx/tensor-bytes.ts";
import { encodeNumbers } from "../passes/tensors.ts";
import { SegmentSource } from "../wire/segments.ts";
import { segmentsLength } from "../wire/splice.ts";
import { compact } from "./compact.ts";

/** The model after a patch, as if it had been written and read again. */
export function patched(model: OpenModel, patch: Patch, dataLocation: string): OpenModel {
  const { model: whole, data } = applyPatch(model, model.source, patch, dataLocation);
  const { graph, source, hasNodeMetadata } = model;
  const byOffset = copiedNodes(graph.nodes, source, whole);
  const segments = compact(whole);
  const made = new Map(model.files.made);
  if (data !== undefined) made.set(dataLocation, new SegmentSource(dataLocation, data));
  const copied = { byOffset, hasNodeMetadata };
  return modelFromSource(new SegmentSource(model.path, segments), model.files.with(made), copied);
}

/**
 * Brings what the patches made into one data file, and sets `metadata`. Where the model would be larger than a runtime loads, its large tensors
 * go there as well.
 */
export function render(
  model: OpenModel,
  location: string,
  metadata: ReadonlyMap<string, string> = new Map(),
  most = maxModelBytes,
): PatchedModel {
  const made = rendering(model, metadata, ({ data }) => isMade(model, data));
  const whole = applyPatch(model, model.source, made, location);
  if (segmentsLength(whole.model) <= most) return whole;
  const all = rendering(model, metadata, (tensor) => isInside(tensor) || isMade(model, tensor.data));
  return applyPatch(model, model.source, all, location, { takesAll: true });
}

function isMade({ files }: OpenModel, data: TensorRef["data"]): boolean {
  return data.kind === "external" && files.made.has(data.location);
}

function isInside({ data, dtype }: TensorRef): boolean {
  return (data.kind === "raw" || data.kind === "typed") && dtype !== "string";
}

/** Writes initializers anew, each as it is. */
function rendering(
  model: OpenModel,
  metadata: ReadonlyMap<string, string>,
  isWritten: (tensor: TensorRef) => boolean,
): Patch {
  const patch = new Patch();
  for (const [key, value] of metadata) patch.metadata.set(key, value);
  const graph = patch.of(model.graph);
  for (const { name, initializer } of model.graph.values.values()) {
    const { dtype, dims } = initializer ?? {};
    if (initializer === undefined || !isWritten(initializer)) continue;
    if (dtype === undefined || dims === undefined) continue;
    graph.tensors.set(name, {
      dtype,
      dims,
      bytes: tensorBytes(model.source, model.files, initializer, encodeNumbers),
    });
  }
  return patch;
}
