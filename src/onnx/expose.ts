/** @file A model whose inner values are outputs as well: what it computes on the way becomes visible. */
import type { Model } from "../ir/model.ts";
import type { ByteSource } from "../wire/source.ts";
import { type Segment, splice } from "../wire/splice.ts";
import { bytesSegment, field, valueInfoMessage } from "./encode.ts";
import { graphFields } from "./fields.ts";

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
