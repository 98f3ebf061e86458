/**
 * @file The joining pass: what an exporter wrote as several nodes, because its opset had no operator for it, becomes that operator on a
 * stack that runs a kernel a node. The opset is raised for it where every node of the file means the same in the newer one.
 */
import type { Scope } from "../../facts/scope.ts";
import { counted } from "../../ir/format.ts";
import { maxOf } from "../../ir/lists.ts";
import { labelOf, type Node, type Value } from "../../ir/model.ts";
import { type AttributeSpec, type GraphPatch, Patch } from "../../ir/patch.ts";
import { geluPatterns } from "../../workload/written-gelu.ts";
import type { OneOperator } from "../../workload/written-out.ts";
import { capturesOf } from "../fold/captures.ts";
import { type Hurdle, raiseTo } from "../opset/raise.ts";
import type { Pass, PassContext, PassNote, PassResult } from "../pass.ts";

export const join: Pass = { name: "join", safe: true, run };

function run(context: PassContext): PassResult {
  const { model, facts, target, leftOut } = context;
  const patch = new Patch();
  if (target.stack.fuses.elementwise !== "none" || model.hasTraining) return { patch, notes: [] };
  const found = joinable(facts.root).filter((each) => leftOut?.(partOf(each)) === undefined);
  if (found.length === 0) return { patch, notes: [] };
  const opset = model.opsets.get("") ?? 1;
  const least = maxOf(found.map(({ since }) => since));
  const hurdle = opset < least ? hurdleBelow(opset, least, context, patch) : undefined;
  if (hurdle !== undefined) return { patch, notes: [leftNote(found, opset, hurdle)] };
  for (const each of found) joinIn(patch.of(model.graph), each);
  return {
    patch,
    notes: [joinedNote(found, opset)],
    parts: found.map(partOf),
    rewritten: found.flatMap(({ nodes }) => nodes.map(labelOf)),
  };
}

/** Before it, too many operators had another form. */
const oldestRaised = 13;

function hurdleBelow(opset: number, least: number, context: PassContext, patch: Patch): Hurdle | undefined {
  if (opset >= oldestRaised) return raiseTo(least, context, patch);
  return { node: undefined, reason: `only opset ${oldestRaised} and later are` };
}

/** In the main graph, as a function's body is shared by its calls, where nobody knows what is between by its name. */
function joinable(main: Scope): OneOperator[] {
  const patterns = geluPatterns(main).filter(({ isExact }) => isExact);
  if (patterns.length === 0) return patterns;
  const { annotated, nodes } = main.graph;
  const captured = new Set(nodes.flatMap((node) => [...capturesOf(node)]));
  const isNamed = ({ name }: Value) => annotated.has(name) || captured.has(name);
  return patterns.filter((each) => !innerOf(each).some(isNamed));
}

function rootOf({ nodes }: OneOperator): Node | undefined {
  return nodes.at(-1);
}

/** Values that nobody computes any more. */
function innerOf({ nodes }: OneOperator): Value[] {
  return nodes.slice(0, -1).flatMap(({ outputs }) => outputs.filter((value) => value !== undefined));
}

function partOf(found: OneOperator): string {
  const root = rootOf(found);
  return root === undefined ? "" : labelOf(root);
}

/** The last node becomes the operator: what reads it, its name and its place stay. */
function joinIn(graph: GraphPatch, found: OneOperator): void {
  const { nodes, operator, x } = found;
  const root = rootOf(found);
  for (const node of nodes) graph.nodes.set(node, []);
  if (root === undefined) return;
  const attributes = new Map<string, AttributeSpec | null>(root.attributes.map(({ name }) => [name, null]));
  for (const [name, value] of Object.entries(found.attributes))
    attributes.set(name, { type: "string", value });
  graph.nodes.set(root, [{ base: root, opType: operator, inputs: [x.name], attributes }]);
  for (const { name, declared } of innerOf(found)) if (declared !== undefined) graph.declared.set(name, null);
}

function joinedNote(found: readonly OneOperator[], opset: number): PassNote {
  const least = maxOf(found.map(({ since }) => since));
  const raised =
    opset < least ? `; opset ${opset} → ${least}, where every node of the model means the same` : "";
  const nodes = found.reduce((sum, each) => sum + each.nodes.length, 0);
  const message = `${counted(nodes, "node")} joined to ${named(found)}${raised}`;
  return { kind: "changed", node: undefined, message };
}

function leftNote(found: readonly OneOperator[], opset: number, { node, reason }: Hurdle): PassNote {
  const least = maxOf(found.map(({ since }) => since));
  const message = `${named(found)} stays written out: it needs opset ${least}, and this model's opset ${opset} is not raised: ${reason}`;
  return { kind: "blocked", node, message };
}

/** `12 Gelu`. */
function named(found: readonly OneOperator[]): string {
  const counts = new Map<string, number>();
  for (const { operator } of found) counts.set(operator, (counts.get(operator) ?? 0) + 1);
  return [...counts].map(([operator, count]) => `${count} ${operator}`).join(", ");
}
