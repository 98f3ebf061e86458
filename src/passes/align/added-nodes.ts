/** @file The Slices and Pads that padding adds to a file, at the model's ends and inside. */

import { isStored } from "../../facts/stored.ts";
import { type Atom, type Axis, type PaddedSizes, paddedSize, sizeOfAxis } from "../../ir/axis.ts";
import { isPaddedAtEnd } from "../../ir/axis-runs.ts";
import { counted } from "../../ir/format.ts";
import type { Value } from "../../ir/model.ts";
import { emitted } from "../../ops/emitted.ts";
import { isPaddedAt } from "./inner-edges.ts";
import type { Component } from "./problem.ts";
import type { Relations } from "./relate.ts";
import { zeroForm } from "./zero-lanes.ts";

export interface AddedNodes {
  readonly slices: number;
  readonly pads: number;
  /** Whether some of them stand at no input or output of the model. */
  readonly areInside: boolean;
}

export const nothingAdded: AddedNodes = { slices: 0, pads: 0, areInside: false };

/**
 * By component, so that the counts add up to what the file gets: what stands at a value with axes of several components is the first
 * one's.
 */
export function addedNodes<Part extends Pick<Component, "sizes">>(
  components: readonly Part[],
  relations: Relations,
): ReadonlyMap<Part, AddedNodes> {
  const added = new Map<Part, AddedNodes>();
  const values = convertedValues(relations);
  const sizes = new Map<Atom, number>();
  let before = { slices: 0, pads: 0 };
  for (const component of components) {
    for (const [atom, size] of component.sizes) sizes.set(atom, size);
    const { slices, pads } = countAt(values, relations, sizes);
    const { areInside } = countAt(values, relations, component.sizes);
    added.set(component, { slices: slices - before.slices, pads: pads - before.pads, areInside });
    before = { slices, pads };
  }
  return added;
}

/** `with 8 Slices and 8 Pads around what needs the true size`; undefined where there are none. */
export function addedText({ slices, pads, areInside }: AddedNodes): string | undefined {
  const added = [
    slices > 0 ? { nodes: counted(slices, emitted.Slice), end: slices > 1 ? "outputs" : "an output" } : [],
    pads > 0 ? { nodes: counted(pads, emitted.Pad), end: pads > 1 ? "inputs" : "an input" } : [],
  ].flat();
  if (added.length === 0) return undefined;
  const where = areInside
    ? "around what needs the true size"
    : `at ${added.map(({ end }) => end).join(" and ")}`;
  return `with ${added.map(({ nodes }) => nodes).join(" and ")} ${where}`;
}

/** Where a Slice or a Pad may stand. */
function convertedValues({ inner, scope }: Relations): readonly Value[] {
  const { inputs, outputs } = scope.graph;
  const ends = [...inputs, ...outputs].filter((value) => !isStored(value, scope));
  return [...new Set([...ends, ...inner.values()])];
}

function countAt(values: readonly Value[], relations: Relations, sizes: PaddedSizes): AddedNodes {
  let [slices, pads, areInside] = [0, 0, false];
  for (const value of values) {
    const axes = relations.axesOf(value) ?? [];
    const padded = [...axes.keys()].filter((at) => isPaddedAt(axes, at, sizes));
    if (padded.length === 0) continue;
    const { widened, cuts } = relations.inner.conversionsAt(value, axes, sizes);
    const { isInput, isOutput } = value;
    if (padsBy(value, relations)) pads += Number(isInput) + Number(widened.length > 0);
    const cutAlong = [...cuts.map(({ positions }) => positions), ...(isOutput && !isInput ? [padded] : [])];
    slices += cutAlong.filter((along) => hasSlice(axes, along, sizes)).length;
    areInside ||= widened.length > 0 || cuts.length > 0;
  }
  return { slices, pads, areInside };
}

/** Else zeros are joined to it. */
function padsBy(value: Value, { scope }: Relations): boolean {
  const fact = scope.fact(value);
  const dtype = fact?.kind === "tensor" ? fact.dtype : undefined;
  return zeroForm(dtype, scope.opsets.get("") ?? 1) === "pad";
}

/** Where lanes lie between true ones alone a Gather takes these. */
function hasSlice(axes: readonly Axis[], along: readonly number[], sizes: PaddedSizes): boolean {
  return along.some((at) => {
    const axis = axes[at];
    return axis !== undefined && isPaddedAtEnd(axis, sizes) && paddedSize(axis, sizes) !== sizeOfAxis(axis);
  });
}
