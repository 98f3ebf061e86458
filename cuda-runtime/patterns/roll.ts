/**
 * @file Parts of one tensor put together again in another order, as `torch.roll` is written (Swin's shifted windows): one launch that looks up where
 * each position comes from, along one axis or two, instead of one for each part.
 */
import { intAttributeIn } from "../../src/facts/attributes.ts";
import type { Scope } from "../../src/facts/scope.ts";
import { type Node, operatorOf, type Value } from "../../src/ir/model.ts";
import { orderOf } from "../ir/view.ts";
import { emitSelect } from "../kernels/movement/select.ts";
import { PatternGraph } from "./graph.ts";
import type { Macro, MacroContext } from "./macro.ts";
import { partOf } from "./part.ts";

interface Roll {
  readonly x: Value;
  /** By axis of x: the position in x of each of the output. */
  readonly tables: ReadonlyMap<number, readonly number[]>;
  readonly output: Value;
  readonly nodes: readonly Node[];
}

/** Longer tables are read more than what they spare. */
const longestTable = 4096;

export function recogniseRoll(scope: Scope): readonly Macro[] {
  const graph = PatternGraph.of(scope);
  const known = new Set<Node>();
  const found: Macro[] = [];
  // The last first: it takes in the one along another axis before it.
  for (const node of graph.nodes().reverse()) {
    const roll = known.has(node) ? undefined : rollAt(node, graph);
    if (roll === undefined) continue;
    for (const each of roll.nodes) known.add(each);
    found.push({
      ...{ name: "Roll", nodes: roll.nodes, output: roll.output },
      lower: (context) => lowerRoll(context, roll),
    });
  }
  return found.reverse();
}

/** With the one before it, where nothing else reads what that makes. */
function rollAt(node: Node, graph: PatternGraph): Roll | undefined {
  const own = partsTogether(node, graph);
  const before = own?.x.producer && partsTogether(own.x.producer, graph);
  const both =
    own && before && !haveOneAxis(own, before)
      ? closed(
          {
            ...own,
            x: before.x,
            tables: new Map([...before.tables, ...own.tables]),
            nodes: [...before.nodes, ...own.nodes],
          },
          graph,
        )
      : undefined;
  return both ?? (own && closed(own, graph));
}

function haveOneAxis(a: Roll, b: Roll): boolean {
  return [...a.tables.keys()].some((axis) => b.tables.has(axis));
}

function closed(roll: Roll, graph: PatternGraph): Roll | undefined {
  const nodes = graph.closed(roll.nodes, roll.output);
  return nodes && { ...roll, nodes };
}

/** A Concat of parts of one tensor along the axis that they are cut from. */
function partsTogether(concat: Node, graph: PatternGraph): Roll | undefined {
  const [output] = concat.outputs;
  if (operatorOf(concat) !== "Concat" || output === undefined || !graph.isFloat(output)) return undefined;
  const parts = concat.inputs.map((value) => partOf(value, graph));
  const [first] = parts;
  const rank = graph.shape(output)?.length ?? 0;
  const named = intAttributeIn(concat, "axis", graph.scope) ?? Number.NaN;
  const axis = named < 0 ? named + rank : named;
  if (first === undefined || parts.length < 2 || first.axis !== axis) return undefined;
  const table: number[] = [];
  const nodes = new Set([concat]);
  for (const part of parts) {
    if (part === undefined || part.x !== first.x || part.axis !== axis) return undefined;
    if (table.length + part.size > longestTable) return undefined;
    for (let at = 0; at < part.size; at++) table.push(part.start + at);
    nodes.add(part.node);
  }
  // Side by side already: a view.
  if (table.every((position, at) => position === first.start + at)) return undefined;
  return { x: first.x, tables: new Map([[axis, table]]), output, nodes: [...nodes] };
}

/** Where others would make a copy of it, it is written where they want it. */
function lowerRoll(context: MacroContext, { x, tables }: Roll): void {
  const from = context.view(x);
  const order = orderOf(from);
  const to =
    from.type === context.outputType()
      ? (context.home(order) ?? context.output(order))
      : context.temporary(from.type, context.outputShape(), order);
  emitSelect(context, { from, to, tables: from.shape.map((_, axis) => tables.get(axis)), fill: undefined });
  context.setOutput(to);
}
