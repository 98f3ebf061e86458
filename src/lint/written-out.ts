/** @file Operators that exporters write as several nodes, and what one kernel for all of them would save. */
import type { Scope } from "../facts/scope.ts";
import type { Stack } from "../hardware/stacks.ts";
import type { Node, Value } from "../ir/model.ts";
import { isOp } from "../ops/ask.ts";
import type { TrafficWork, Work } from "../ops/work.ts";
import { ConstantValues } from "../workload/constants.ts";
import { extentOf, passOver } from "../workload/extent.ts";
import { chainWork } from "../workload/traffic.ts";
import { type LintContext, type Saving, type Step, scale } from "./context.ts";
import { constantElements } from "./graph.ts";

/** Nodes that are one operator. */
export interface WrittenOut {
  /** What it is recognised by. */
  readonly node: Node;
  readonly scope: Scope;
  /** All of them, in graph order. */
  readonly nodes: readonly Node[];
  /** What one kernel would do, in place of all of them; or the node whose kernel would do it as it is, and takes what it takes. */
  readonly fused: TrafficWork<number> | Node;
}

/** A stack that sees attention in its nodes, and joins chains, sees norms and activations too. */
export function recognisesPatterns({ fuses }: Stack): boolean {
  return fuses.elementwise && fuses.attention;
}

export interface FusedSaving {
  /** Of its nodes, how many run now. */
  readonly kernels: number;
  readonly saves: Saving;
}

/**
 * The kernels that compute some of the nodes now, less the one for all of them and what those kernels do besides; undefined where a
 * product's kernel does a part on its way.
 */
export function fusedSaving(
  { nodes, scope, fused }: WrittenOut,
  context: LintContext,
): FusedSaving | undefined {
  const inside = new Set(nodes);
  const steps = new Set<Step>();
  for (const node of nodes) {
    const step = context.timeline.stepOf(node, scope);
    if (step?.product !== undefined) return undefined;
    if (step !== undefined) steps.add(step);
  }
  const [first] = steps;
  if (first === undefined || steps.size === 1) return undefined;
  const kept = "opType" in fused ? context.timeline.stepOf(fused, scope) : undefined;
  const after: Work<number>[] = "opType" in fused ? [] : [fused];
  for (const step of steps) {
    const others = step.nodes.filter((node) => !inside.has(node));
    const rest = chainWork(others, scope, ConstantValues.of(scope), context.bindings);
    if (others.length > 0 && rest !== undefined) after.push(rest);
  }
  const before = [...steps].filter((step) => step !== kept).map((step) => step.work);
  return { kernels: steps.size, saves: scale(context.savingOf(before, after), first.runs) };
}

/** Reads a value and writes as much, normalizing rows of `columns` elements; undefined where its size is not known. */
export function normWork(
  value: Value,
  columns: number,
  scope: Scope,
  { bindings }: LintContext,
): TrafficWork<number> | undefined {
  const extent = extentOf(scope.fact(value), bindings);
  return extent && passOver({ ...extent, columns }, "normalization");
}

/** What recognisers ask of one instance of a graph. Shape arithmetic reads no elements: it is no reader. */
export class WrittenGraph {
  readonly scope: Scope;
  readonly #constants: ConstantValues;

  constructor(scope: Scope) {
    this.scope = scope;
    this.#constants = ConstantValues.of(scope);
  }

  /** In graph order, without what is computed ahead of time. */
  nodes(...types: readonly string[]): Node[] {
    return this.scope.graph.nodes.filter((node) => isOp(node, ...types) && !this.#constants.has(node));
  }

  readersOf(value: Value): Node[] {
    return value.consumers.filter((reader) => !this.#constants.has(reader));
  }

  /** The only node that reads a value, where it is of one of these types. */
  readerOf(value: Value | undefined, ...types: readonly string[]): Node | undefined {
    if (value === undefined || value.isOutput) return undefined;
    const [reader, ...others] = this.readersOf(value);
    return others.length === 0 && reader?.graph === this.scope.graph && isOp(reader, ...types)
      ? reader
      : undefined;
  }

  /** The node that computes a value, where it is of one of these types and of this graph. */
  makerOf(value: Value | undefined, ...types: readonly string[]): Node | undefined {
    const maker = value?.producer;
    return maker?.graph === this.scope.graph && isOp(maker, ...types) ? maker : undefined;
  }

  /** The same in every run. */
  isFixed(value: Value | undefined): boolean {
    return value !== undefined && this.#constants.isFixedValue(value);
  }

  /** The one number that a constant is. */
  number(value: Value | undefined): number | undefined {
    const elements = constantElements(value, this.scope);
    return elements?.length === 1 ? elements[0] : undefined;
  }

  /** Of a node with two inputs, the one that is not fixed, where the other is. */
  variable({ inputs: [left, right, ...more] }: Node): Value | undefined {
    if (more.length > 0 || this.isFixed(left) === this.isFixed(right)) return undefined;
    return this.isFixed(left) ? right : left;
  }

  /** The nodes in graph order, where nothing but the last one's result is read outside; else undefined. */
  closed(parts: Iterable<Node>): readonly Node[] | undefined {
    const inside = new Set([...parts].filter((node) => !this.#constants.has(node)));
    const nodes = [...inside].sort((a, b) => a.id - b.id);
    const last = nodes.at(-1);
    const leaks = ({ outputs }: Node) =>
      outputs.some(
        (value) =>
          value !== undefined &&
          (value.isOutput || this.readersOf(value).some((reader) => !inside.has(reader))),
      );
    return nodes.some((node) => node !== last && leaks(node)) ? undefined : nodes;
  }
}
