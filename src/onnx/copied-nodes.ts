/** @file Nodes that a patch leaves byte for byte: what they say is known, and not decoded again. */
import type { Attribute, Node, Span } from "../ir/model.ts";
import type { ByteSource } from "../wire/source.ts";
import { lengthOf, type Segment } from "../wire/splice.ts";
import { type DraftGraph, DraftNode } from "./draft.ts";

export interface CopiedNodes {
  /** By where their payloads are in the new file. */
  readonly byOffset: ReadonlyMap<number, Node>;
  /** Whether any node of the model that they are of has metadata_props. */
  readonly hasNodeMetadata: boolean;
}

export const noCopies: CopiedNodes = { byOffset: new Map(), hasNodeMetadata: false };

/** Those of `nodes`, which are in `source`, whose bytes `segments` copy. */
export function copiedNodes(
  nodes: readonly Node[],
  source: ByteSource,
  segments: readonly Segment[],
): ReadonlyMap<number, Node> {
  const byOffset = new Map<number, Node>();
  const inOrder = nodes.filter(isPlaceless).sort((a, b) => a.span.offset - b.span.offset);
  let [next, start] = [0, 0];
  for (const segment of segments) {
    if (segment.kind === "copy" && segment.source === source) {
      const { offset, length } = segment;
      // What is copied out of its order is decoded.
      let node = inOrder[next];
      for (; node !== undefined && node.span.offset < offset; node = inOrder[next]) next += 1;
      for (; node !== undefined && endOf(node) <= offset + length; node = inOrder[next]) {
        byOffset.set(start + node.span.offset - offset, node);
        next += 1;
      }
    }
    start += lengthOf(segment);
  }
  return byOffset;
}

function endOf({ span }: Node): number {
  return span.offset + span.length;
}

/** Tensors and graphs know where in the file they are. */
export function isPlace({ value: { type } }: Attribute): boolean {
  return type === "tensor" || type === "graph" || type === "graphs";
}

function isPlaceless({ attributes }: Node): boolean {
  return !attributes.some(isPlace);
}

/** The node in that span as a draft; undefined where it is none that was copied, or one that was added to. */
export function draftOfCopy(
  { byOffset }: CopiedNodes,
  span: Span,
  id: number,
  graph: DraftGraph,
): DraftNode | undefined {
  const known = byOffset.get(span.offset);
  if (known === undefined || known.span.length !== span.length) return undefined;
  const node = new DraftNode(id, graph, span);
  node.name = known.name;
  node.domain = known.domain;
  node.opType = known.opType;
  node.overload = known.overload;
  node.attributes = known.attributes;
  node.inputNames = namesOf(known.inputs);
  node.outputNames = namesOf(known.outputs);
  return node;
}

function namesOf(values: Node["inputs"]): string[] {
  return values.map((value) => value?.name ?? "");
}
