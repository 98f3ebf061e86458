/** @file Axes and padded lanes of Einsum: one axis a label; labels that the output lacks are summed over. */
import { type Axis, sizeOfAxis } from "../../ir/axis.ts";
import type { AxisContext, Lane, LaneContext } from "../axes.ts";
import { productLane, type Sources, zeroOrFinite } from "../lanes.ts";
import type { Contraction } from "./einsum-equation.ts";

interface Place {
  readonly input: number;
  readonly axis: number;
}

/** Where each label stands. */
function placesOf({ operands }: Contraction): Map<string, Place[]> {
  const places = new Map<string, Place[]>();
  for (const [input, { labels }] of operands.entries()) {
    for (const [axis, label] of labels.entries()) {
      const list = places.get(label);
      if (list === undefined) places.set(label, [{ input, axis }]);
      else list.push({ input, axis });
    }
  }
  return places;
}

export function einsumAxes(context: AxisContext, contraction: Contraction): void {
  const lists = contraction.operands.map((_, input) => context.axesOf(input));
  if (lists.includes(undefined)) return context.blockAll("has operands of unknown sizes");
  const byLabel = new Map<string, Axis>();
  for (const [label, places] of placesOf(contraction)) {
    const wide = places.filter(({ input, axis }) => {
      const found = lists[input]?.[axis];
      return found !== undefined && sizeOfAxis(found) !== 1;
    });
    const axes = wide.flatMap(({ input, axis }) => lists[input]?.[axis] ?? []);
    const [first, ...more] = axes;
    byLabel.set(label, first ?? context.solver.atom(1));
    if (first === undefined) continue;
    for (const axis of more) context.solver.unify(first, axis, `label ${label} differs in structure`);
    if (!contraction.output.includes(label)) sum(context, first, wide);
    else if (repeats(wide)) context.block(first, "takes its diagonal");
  }
  context.setAxes(
    0,
    contraction.output.map((label) => byLabel.get(label) ?? context.solver.atom(1)),
  );
}

function repeats(places: readonly Place[]): boolean {
  return new Set(places.map(({ input }) => input)).size < places.length;
}

function sum(context: AxisContext, axis: Axis, places: readonly Place[]): void {
  const [a, b, ...more] = places;
  if (a === undefined || more.length > 0 || repeats(places)) {
    context.block(axis, "sums over it in more than two operands");
  } else if (b === undefined) context.sumOver(axis, a.input);
  else context.contract(axis, a.input, b.input);
}

export function einsumLane(context: LaneContext, contraction: Contraction): Lane {
  const places = placesOf(contraction);
  const sources: Sources = contraction.output.map((label) =>
    (places.get(label) ?? []).map(({ input, axis }) => [input, axis] as const),
  );
  return zeroOrFinite(productLane(context, sources, [...contraction.operands.keys()]));
}
