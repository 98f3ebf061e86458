/** @file A model whose inner values are outputs as well: what it computes on the way becomes visible. */
import type { Model } from "../ir/model.ts";
import type { Patch } from "../ir/patch.ts";
import { SegmentSource } from "../wire/segments.ts";
import type { ByteSource } from "../wire/source.ts";
import { type Segment, splice } from "../wire/splice.ts";
import { applyPatch } from "./apply.ts";
import { bytesSegment, field, valueInfoMessage } from "./encode.ts";
import { graphFields } from "./fields.ts";
import { modelFromSource, type OpenModel } from "./read-model.ts";

/** The bytes of `model` with more outputs of its main graph, by name; their types are left to whoever runs it. */
export function exposeValues(model: Model, source: ByteSource, names: readonly string[]): Segment[] {
  const { span, outputs } = model.graph;
  const known = new Set(outputs.map(({ name }) => name));
  const added = names.filter((name) => !known.has(name));
  const replacement = added.flatMap((name) =>
    field(graphFields.output, [bytesSegment(valueInfoMessage(name, { kind: "opaque" }))]),
  );
  return splice(source, [{ parent: span, offset: span.offset + span.length, length: 0, replacement }]);
}

/** The same after a patch, which may compute the values. */
export function exposeComputed(model: OpenModel, patch: Patch, names: readonly string[]): Segment[] {
  const { model: segments } = applyPatch(model, model.source, patch, "unused");
  const patched = modelFromSource(new SegmentSource(model.path, segments), model.files);
  return exposeValues(patched, patched.source, names);
}
