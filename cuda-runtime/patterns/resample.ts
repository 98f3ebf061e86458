/**
 * @file Linear interpolation between rows at source times, as exporters write it out: source times that are not behind a target are
 * counted, the count limited to two indices, times and rows gathered, the rows blended by the time that has passed.
 */
import type { Scope } from "../../src/facts/scope.ts";
import type { Node, Value } from "../../src/ir/model.ts";
import { elementCount, expanded, reshaped, type View } from "../ir/view.ts";
import { emitResample } from "../kernels/resample/resample.ts";
import { PatternGraph } from "./graph.ts";
import type { Macro, MacroContext } from "./macro.ts";
import type { Role, Root } from "./resample-lookup.ts";
import { termsOf } from "./resample-match.ts";
import { isViewNode } from "./resample-roles.ts";
import type { TermOf } from "./resample-terms.ts";

export function recogniseResample(scope: Scope): readonly Macro[] {
  const graph = PatternGraph.of(scope);
  const macros: Macro[] = [];
  for (const [output, term] of termsOf(graph)) {
    if (term.kind !== "result" || !isWhole(term, output, graph)) continue;
    const nodes = graph.closed(withViews(term, graph), output);
    if (nodes === undefined) continue;
    macros.push({ name: "Resample", nodes, output, lower: (context) => lowerResample(context, term) });
  }
  // What is part of a longer form (a cast behind, the other half of torch.lerp) is found with it.
  return macros.toReversed();
}

/** With the nodes that show times and targets in the shape that they are compared in, where nothing else reads them. */
function withViews({ nodes }: TermOf<"result">, graph: PatternGraph): ReadonlySet<Node> {
  const all = new Set(nodes);
  for (const node of [...graph.nodes()].reverse()) {
    const [value, ...more] = node.outputs;
    if (value === undefined || more.length > 0 || value.isOutput || !isViewNode(node)) continue;
    const readers = graph.readersOf(value);
    if (readers.length > 0 && readers.every((reader) => all.has(reader))) all.add(node);
  }
  return all;
}

/** The result has the rows' type and the axes of what was gathered, in their order. */
function isWhole({ rows, roles }: TermOf<"result">, output: Value, graph: PatternGraph): boolean {
  const shape = graph.shape(output);
  const [own, other] = [output, rows.data].map((value) => graph.scope.fact(value));
  if (shape === undefined || own?.kind !== "tensor" || other?.kind !== "tensor") return false;
  const order: readonly Role[] = ["batch", "target", "features"];
  const places = roles.flatMap((role) => (role === undefined ? [] : order.indexOf(role)));
  const isInOrder = places.every((place, at) => at === 0 || place >= (places[at - 1] ?? 0));
  const count = rows.batch * rows.target * rows.features;
  return own.dtype === other.dtype && isInOrder && elementCount(shape) === count;
}

function lowerResample(context: MacroContext, { rows, weight, blend }: TermOf<"result">): void {
  const { batch, target, features, isBatched } = rows;
  const { lookup, low, high, rule } = weight;
  const data = asShape(context, floatsOf(context, rows.data), [
    isBatched ? batch : 1,
    lookup.source,
    features,
  ]);
  const x = expanded(withUnitColumns(context, data), [batch, lookup.source, features]);
  const output = context.temporary(x.type, context.outputShape());
  emitResample(context, {
    x,
    times: ofRoles(context, lookup.times, "source", [batch, lookup.source]),
    targets: ofRoles(context, lookup.targets, "target", [batch, target]),
    y: asShape(context, output, [batch, target, features]),
    isInclusive: lookup.isInclusive,
    ...{ low, high, weight: rule, blend },
  });
  context.setOutput(output);
}

/** As it is in memory already, be it wider than what the plan stores. */
function floatsOf(context: MacroContext, value: Value): View {
  const expr = context.expr(value);
  return expr.kind === "load" && sameShape(expr.view, context.shape(value)) ? expr.view : context.view(value);
}

function sameShape(view: View, shape: readonly number[]): boolean {
  return view.shape.length === shape.length && view.shape.every((size, axis) => size === shape[axis]);
}

/** Times stay in float32: of thousands of them, halves would make a few. */
function timesOf(context: MacroContext, value: Value): View {
  const expr = context.expr(value);
  const shape = context.shape(value);
  if (expr.kind === "load" && sameShape(expr.view, shape)) return expr.view;
  return context.evaluate(expr, shape, "float32");
}

/** [batch, `role`], repeated along what the root does not have. */
function ofRoles(context: MacroContext, root: Root, role: Role, shape: readonly [number, number]): View {
  const view = timesOf(context, root.value);
  const strideOf = (wanted: Role) => {
    const axis = root.roles.indexOf(wanted);
    return axis < 0 ? 0 : (view.strides[axis] ?? 0);
  };
  return { ...view, shape, strides: [strideOf("batch"), strideOf(role)] };
}

function asShape(context: MacroContext, view: View, shape: readonly number[]): View {
  const seen = reshaped(view, shape) ?? reshaped(context.packed(view), shape);
  if (seen === undefined) throw new Error("tc-lint bug: packed memory has no such shape");
  return seen;
}

function withUnitColumns(context: MacroContext, view: View): View {
  return view.shape[2] === 1 || view.strides[2] === 1 ? view : context.packed(view);
}
