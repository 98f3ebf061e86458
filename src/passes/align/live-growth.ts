/** @file By how much a kernel with many operands grows, kept up to date operand by operand. */
import { evaluateDim } from "../../ir/dim.ts";
import { bytesOf, type DType } from "../../ir/dtype.ts";
import type { Extent } from "../../workload/extent.ts";
import type { TrafficStep } from "../../workload/timeline.ts";
import type { Pricing } from "../pass.ts";
import type { Follower, LiveAxis, LiveSizes } from "./live-sizes.ts";
import type { Relations } from "./relate.ts";
import { type Growth, type Measured, measuredValues, paddedExtent, unpadded } from "./traffic-time.ts";

export class LiveGrowth implements Growth {
  read = 0;
  written = 0;
  readonly largest: { readonly plain: Extent; readonly padded: Extent } | undefined;

  constructor(step: TrafficStep, live: LiveSizes, relations: Relations, pricing: Pricing) {
    let largest: { readonly plain: Extent; readonly padded: Extent } | undefined;
    for (const measured of measuredValues(step, relations, pricing)) {
      const { value, role } = measured;
      const plain = paddedExtent(value, unpadded, relations, pricing);
      const shape = plain && liveShape(measured, live, relations, pricing);
      if (plain === undefined || shape === undefined) continue;
      const padded = new LiveExtent(shape, plain, (bytes) => {
        if (role === "read") this.read += bytes;
        else if (role === "written") this.written += bytes;
      });
      if (role !== "read" && plain.elements >= (largest?.plain.elements ?? 0)) largest = { plain, padded };
    }
    this.largest = largest;
  }
}

type LiveShape = readonly (number | LiveAxis)[];

/** Every size that may grow as the axis that says it. */
function liveShape(
  { value, atTrue }: Measured,
  live: LiveSizes,
  relations: Relations,
  { bindings }: Pricing,
): LiveShape | undefined {
  const fact = relations.scope.fact(value);
  if (fact?.kind !== "tensor" || fact.shape === undefined) return undefined;
  const axes = relations.axesOf(value);
  return fact.shape.map((dim, at) => {
    const axis = atTrue.has(at) ? undefined : axes?.[at];
    return typeof dim === "number" && axis !== undefined
      ? live.axis(axis)
      : (evaluateDim(dim, bindings) ?? Number.NaN);
  });
}

class LiveExtent implements Extent, Follower {
  readonly dtype: DType;
  readonly rank: number;
  elements = 0;
  columns = 1;
  bytes: number;
  readonly #shape: LiveShape;
  readonly #grow: (bytes: number) => void;

  /** @param grow Is told of every change of its bytes. */
  constructor(shape: LiveShape, plain: Extent, grow: (bytes: number) => void) {
    this.dtype = plain.dtype;
    this.rank = plain.rank;
    this.bytes = plain.bytes;
    this.#shape = shape;
    this.#grow = grow;
    for (const dim of shape) if (typeof dim !== "number") dim.followers.push(this);
    this.refresh();
  }

  refresh(): void {
    this.elements = 1;
    this.columns = 1;
    for (const dim of this.#shape) {
      this.columns = typeof dim === "number" ? dim : dim.size;
      this.elements *= this.columns;
    }
    const bytes = bytesOf(this.dtype, this.elements);
    this.#grow(bytes - this.bytes);
    this.bytes = bytes;
  }
}
