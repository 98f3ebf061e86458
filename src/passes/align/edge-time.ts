/** @file What the nodes take that padding adds to a graph: Pads and Slices, and the Mod of positions. */

import { isStored } from "../../facts/stored.ts";
import { type Axis, type PaddedSizes, paddedSize, sizeOfAxis } from "../../ir/axis.ts";
import type { Value } from "../../ir/model.ts";
import type { TrafficVariant } from "../../ops/work.ts";
import { passOver } from "../../workload/extent.ts";
import type { Pricing } from "../pass.ts";
import { isInterleaved } from "./edges.ts";
import { isPaddedAt } from "./inner-edges.ts";
import type { Relations } from "./relate.ts";
import { paddedExtent, unpadded } from "./traffic-time.ts";

/** Indices of a Gather are written into the model, one for each position: no saving is worth more of them. */
const maxGathered = 1 << 24;

/**
 * Microseconds of the nodes that padding a value adds to the graph: the Pad or the Slice where it is an input or an output of
 * the model, or where an operator has its true size; the Mod of positions in a table that may count from its end.
 */
export function edgeTime(value: Value, sizes: PaddedSizes, relations: Relations, pricing: Pricing): number {
  const counted = positionsTime(value, sizes, relations, pricing);
  if (isStored(value, relations.scope)) return counted;
  const axes = relations.axesOf(value) ?? [];
  const padded = [...axes.keys()].filter((at) => isPaddedAt(axes, at, sizes));
  if (padded.length === 0) return counted;
  const { widened, cuts } = relations.inner.conversionsAt(value, axes, sizes);
  const copy = (along: readonly number[], isPad: boolean, variant: TrafficVariant | undefined) =>
    variant === undefined ? 0 : copyTime({ value, axes, along, isPad, variant }, sizes, relations, pricing);
  const { isInput, isOutput } = value;
  const atEnd = isInput || isOutput ? copy(padded, isInput, isInput ? "pad" : "slice") : 0;
  let time = counted + atEnd;
  if (widened.length > 0) time += copy(widened, true, pricing.inside?.pads);
  for (const { positions } of cuts) time += copy(positions, false, pricing.inside?.slices);
  return time;
}

function positionsTime(value: Value, sizes: PaddedSizes, relations: Relations, pricing: Pricing): number {
  let time = 0;
  for (const { node, index, axis } of relations.positions.get(value) ?? []) {
    const along = relations.axesOf(value)?.[axis];
    const positions = node.inputs[index];
    if (along === undefined || positions === undefined || paddedSize(along, sizes) === sizeOfAxis(along))
      continue;
    const extent = paddedExtent(positions, unpadded, relations, pricing);
    if (extent !== undefined) time += pricing.estimate(passOver(extent, "elementwise"), pricing.repeating);
  }
  return time;
}

/** A Pad or a Slice of a value along some of its axes. */
interface Copy {
  readonly value: Value;
  readonly axes: readonly Axis[];
  readonly along: readonly number[];
  readonly isPad: boolean;
  readonly variant: TrafficVariant;
}

function copyTime(
  { value, axes, along, isPad, variant }: Copy,
  sizes: PaddedSizes,
  relations: Relations,
  pricing: Pricing,
): number {
  const plain = paddedExtent(value, sizes, relations, pricing, new Set(along));
  const padded = paddedExtent(value, sizes, relations, pricing);
  if (plain === undefined || padded === undefined) return 0;
  if (isPad && pricing.cannotPad(plain.dtype) !== undefined) return Number.POSITIVE_INFINITY;
  // As the account has them: what moves elements reads as many as it writes.
  const copy = passOver(isPad ? padded : plain, "copy");
  const converted = pricing.estimate(copy, { variant });
  const gathered = along.flatMap((at) => axes[at] ?? []).filter((axis) => isInterleaved(axis, sizes));
  if (gathered.some((axis) => paddedSize(axis, sizes) > maxGathered)) return Number.POSITIVE_INFINITY;
  return converted + (gathered.length > 0 ? pricing.estimate(copy, { variant: "gather" }) : 0);
}
