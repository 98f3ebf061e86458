/** @file What padding costs in kernels between products: wider passes over memory. */

import { isStored } from "../../facts/stored.ts";
import type { PaddedSizes } from "../../ir/axis.ts";
import type { Value } from "../../ir/model.ts";
import type { TrafficWork } from "../../ops/work.ts";
import { type Extent, extentOf, passOver } from "../../workload/extent.ts";
import type { TrafficStep } from "../../workload/timeline.ts";
import { leaves, readsOf } from "../../workload/traffic.ts";
import type { Pricing } from "../pass.ts";
import { paddedFact, paddedTraffic } from "./padded.ts";
import type { Relations } from "./relate.ts";

export const unpadded: PaddedSizes = new Map();

/** Microseconds that one kernel between products takes, all its runs. */
export function stepTime(
  step: TrafficStep,
  sizes: PaddedSizes,
  relations: Relations,
  pricing: Pricing,
): number {
  const own = paddedTraffic(step, relations, sizes, pricing.bindings);
  if (own === undefined) return grownTime(step, growthOf(step, sizes, relations, pricing), pricing);
  return pricing.estimate(own, step.detail) * step.runs;
}

/** The same for a kernel whose operator keeps no account of its own. */
export function grownTime(step: TrafficStep, growth: Growth, pricing: Pricing): number {
  return pricing.estimate(widened(step, growth), step.detail) * step.runs;
}

/** What padding adds to a kernel. */
export interface Growth {
  /** Bytes. */
  readonly read: number;
  readonly written: number;
  /** The largest output. */
  readonly largest: { readonly plain: Extent; readonly padded: Extent } | undefined;
}

/** What a value takes at padded sizes, but along the axes `atTrue`. */
export function paddedExtent(
  value: Value,
  sizes: PaddedSizes,
  relations: Relations,
  { bindings }: Pricing,
  atTrue?: ReadonlySet<number>,
): Extent | undefined {
  return extentOf(paddedFact(value, relations, sizes, atTrue), bindings);
}

/** A value as a kernel has it. */
export interface Measured {
  readonly value: Value;
  /** Read from elsewhere; or made by it, for others or for itself. */
  readonly role: "read" | "written" | "inside";
  /** Axes that are at their true size in this kernel, whatever they are outside. */
  readonly atTrue: ReadonlySet<number>;
}

export function measuredValues(
  { nodes }: TrafficStep,
  relations: Relations,
  { bindings }: Pricing,
): readonly Measured[] {
  const { inner, scope } = relations;
  const inside = new Set(nodes);
  const measured: Measured[] = [];
  for (const { of, moved } of readsOf(nodes, inside, scope, bindings)) {
    // Constants are small, or rows of a table that nothing reads.
    if (isStored(of, scope)) continue;
    for (const value of moved) {
      const atTrue = value === of ? inner.takenByAll(nodes, value) : inner.givenOf(value);
      measured.push({ value, role: "read", atTrue });
    }
  }
  for (const value of nodes.flatMap((node) => node.outputs)) {
    if (value === undefined) continue;
    const role = leaves(value, inside) ? "written" : "inside";
    measured.push({ value, role, atTrue: inner.givenOf(value) });
  }
  return measured;
}

function growthOf(step: TrafficStep, sizes: PaddedSizes, relations: Relations, pricing: Pricing): Growth {
  let [read, written] = [0, 0];
  let largest: Growth["largest"];
  for (const { value, role, atTrue } of measuredValues(step, relations, pricing)) {
    const plain = paddedExtent(value, unpadded, relations, pricing);
    const padded = paddedExtent(value, sizes, relations, pricing, atTrue);
    if (plain === undefined || padded === undefined) continue;
    if (role === "read") read += padded.bytes - plain.bytes;
    else if (plain.elements >= (largest?.plain.elements ?? 0)) largest = { plain, padded };
    if (role === "written") written += padded.bytes - plain.bytes;
  }
  return { read, written, largest };
}

/** The kernel's own account, wider by the padded lanes of what it reads and writes. */
function widened({ work }: TrafficStep, growth: Growth): TrafficWork<number> {
  const { largest } = growth;
  if (largest === undefined) return work;
  const isChain = work.pattern === "elementwise";
  const [plain, padded] = isChain
    ? [passOver(largest.plain, "elementwise"), passOver(largest.padded, "elementwise")]
    : [largest.plain, largest.padded];
  const wider = padded.columns / Math.max(plain.columns, 1);
  const more = largest.padded.elements / Math.max(largest.plain.elements, 1);
  // The plain account of a node that is no chain: it reads as many bytes as it writes.
  const isPlain = !isChain && work.bytesRead === work.bytesWritten;
  return {
    ...work,
    rows: Math.round((work.rows * more) / wider),
    columns: Math.round(work.columns * wider),
    bytesRead: work.bytesRead + (isPlain ? growth.written : growth.read),
    bytesWritten: work.bytesWritten + growth.written,
  };
}
