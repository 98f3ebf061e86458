/** @file What padding costs beside products: wider passes over memory, and conversions at the model's inputs and outputs. */
import { type PaddedSizes, paddedSize, sizeOfAxis } from "../../ir/axis.ts";
import { evaluateDim } from "../../ir/dim.ts";
import { bytesOf } from "../../ir/dtype.ts";
import type { Value } from "../../ir/model.ts";
import type { TrafficWork } from "../../ops/work.ts";
import type { Pricing, TrafficStep } from "../pass.ts";
import { isStored } from "../stored.ts";
import { isInterleaved } from "./edges.ts";
import { paddedFact, paddedTraffic } from "./padded.ts";
import type { Relations } from "./relate.ts";

/** Microseconds that one kernel between products takes, all its runs. */
export function stepTime(
  step: TrafficStep,
  sizes: PaddedSizes,
  relations: Relations,
  pricing: Pricing,
): number {
  const [node] = step.nodes;
  const own =
    node === undefined || step.nodes.length > 1
      ? undefined
      : paddedTraffic(node, relations, sizes, pricing.bindings);
  const work = own ?? widened(step, sizes, relations, pricing);
  return pricing.estimate(work, step.detail) * step.runs;
}

/** Microseconds of the Pad or the Slice where a padded value is an input or an output of the model; 0 for all others. */
export function edgeTime(value: Value, sizes: PaddedSizes, relations: Relations, pricing: Pricing): number {
  const axes = relations.axesOf(value) ?? [];
  if (!value.isInput && !value.isOutput) return 0;
  if (axes.every((axis) => paddedSize(axis, sizes) === sizeOfAxis(axis))) return 0;
  const plain = extentOf(value, new Map(), relations, pricing);
  const padded = extentOf(value, sizes, relations, pricing);
  if (plain === undefined || padded === undefined) return 0;
  // A Pad reads the true lanes, a Slice no others.
  const copy = value.isInput
    ? { ...copyOf(padded), bytesRead: plain.bytes, bytesWritten: padded.bytes }
    : copyOf(plain);
  const converted = pricing.estimate(copy, { variant: value.isInput ? "pad" : "slice" });
  const isGathered = axes.some((axis) => isInterleaved(axis, sizes));
  return converted + (isGathered ? pricing.estimate(copy, { variant: "gather" }) : 0);
}

interface Extent {
  readonly elements: number;
  readonly columns: number;
  readonly bytes: number;
  readonly dtype: TrafficWork["dtype"];
}

function copyOf({ elements, columns, bytes, dtype }: Extent): TrafficWork<number> {
  const rows = elements / Math.max(columns, 1);
  return { kind: "traffic", pattern: "copy", rows, columns, bytesRead: bytes, bytesWritten: bytes, dtype };
}

function extentOf(
  value: Value,
  sizes: PaddedSizes,
  relations: Relations,
  { bindings }: Pricing,
): Extent | undefined {
  const fact = paddedFact(value, relations, sizes);
  if (fact?.kind !== "tensor" || fact.shape === undefined || fact.dtype === undefined) return undefined;
  const shape = fact.shape.map((dim) => evaluateDim(dim, bindings));
  if (!shape.every((dim) => dim !== undefined)) return undefined;
  const elements = shape.reduce((total, dim) => total * dim, 1);
  return { elements, columns: shape.at(-1) ?? 1, bytes: bytesOf(fact.dtype, elements), dtype: fact.dtype };
}

/** The kernel's own account, wider by the padded lanes of what it reads and writes. */
function widened(
  { nodes, work }: TrafficStep,
  sizes: PaddedSizes,
  relations: Relations,
  pricing: Pricing,
): TrafficWork<number> {
  const inside = new Set(nodes);
  const growth = { read: 0, written: 0 };
  let largest: { readonly plain: Extent; readonly padded: Extent } | undefined;
  const grown = (value: Value) => {
    const plain = extentOf(value, new Map(), relations, pricing);
    const padded = extentOf(value, sizes, relations, pricing);
    return plain === undefined || padded === undefined ? undefined : { plain, padded };
  };
  for (const input of new Set(nodes.flatMap((node) => node.inputs))) {
    // Constants are small, or rows of a table that nothing reads.
    if (input === undefined || isStored(input, relations.scope)) continue;
    if (input.producer !== undefined && inside.has(input.producer)) continue;
    const extents = grown(input);
    if (extents !== undefined) growth.read += extents.padded.bytes - extents.plain.bytes;
  }
  for (const output of nodes.flatMap((node) => node.outputs)) {
    const extents = output === undefined ? undefined : grown(output);
    if (output === undefined || extents === undefined) continue;
    if (extents.plain.elements >= (largest?.plain.elements ?? 0)) largest = extents;
    const leaves = output.isOutput || output.consumers.some((reader) => !inside.has(reader));
    if (leaves) growth.written += extents.padded.bytes - extents.plain.bytes;
  }
  if (largest === undefined) return work;
  const wider = largest.padded.columns / Math.max(largest.plain.columns, 1);
  const more = largest.padded.elements / Math.max(largest.plain.elements, 1);
  // The plain account of a node that is no chain: it reads as many bytes as it writes.
  const isPlain = work.pattern !== "elementwise" && work.bytesRead === work.bytesWritten;
  return {
    ...work,
    rows: Math.round((work.rows * more) / wider),
    columns: Math.round(work.columns * wider),
    bytesRead: work.bytesRead + (isPlain ? growth.written : growth.read),
    bytesWritten: work.bytesWritten + growth.written,
  };
}
