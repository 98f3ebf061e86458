/** @file Operators that exporters write as several nodes: what recognisers of them ask a graph. */
import type { Scope } from "../facts/scope.ts";
import type { DType } from "../ir/dtype.ts";
import { groupBy } from "../ir/group.ts";
import type { Node, Value } from "../ir/model.ts";
import { isOneOf } from "../ops/ask.ts";
import type { Emitted } from "../ops/emitted.ts";
import type { TrafficWork } from "../ops/work.ts";
import { ConstantValues } from "./constants.ts";
import { extentOf, passOver } from "./extent.ts";
import { type Bound, constantElements } from "./values.ts";

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

/** Nodes that are one operator of ai.onnx, whatever a kernel of it would take. */
export interface OneOperator {
  /** All of them, in graph order; the last one's result is the operator's. */
  readonly nodes: readonly Node[];
  /** What it reads. */
  readonly x: Value;
  readonly operator: Emitted;
  /** The opset that has it. */
  readonly since: number;
  readonly attributes: Readonly<Record<string, string>>;
}

/** Reads a value and writes as much, normalizing rows of `columns` elements; undefined where its size is not known. */
export function normWork(
  value: Value,
  columns: number,
  scope: Scope,
  { bindings }: Bound,
): TrafficWork<number> | undefined {
  const extent = extentOf(scope.fact(value), bindings);
  return extent && passOver({ ...extent, columns }, "normalization");
}

const known = new WeakMap<Scope, ReadonlyMap<string, readonly Node[]>>();

/** Of ai.onnx, without what is computed ahead of time. Recognisers ask for those of a few types, one after another. */
function nodesByType(scope: Scope, constants: ConstantValues): ReadonlyMap<string, readonly Node[]> {
  const found = known.get(scope);
  if (found !== undefined) return found;
  const own = scope.graph.nodes.filter((node) => node.domain === "" && !constants.has(node));
  const byType = groupBy(own, ({ opType }) => opType);
  known.set(scope, byType);
  return byType;
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
  nodes(first: string, ...others: readonly string[]): readonly Node[] {
    const byType = nodesByType(this.scope, this.#constants);
    const found = byType.get(first) ?? [];
    if (others.length === 0) return found;
    return [...found, ...others.flatMap((type) => byType.get(type) ?? [])].sort((a, b) => a.id - b.id);
  }

  readersOf(value: Value): Node[] {
    return value.consumers.filter((reader) => !this.#constants.has(reader));
  }

  /** The only node that reads a value, where it is of one of these types. */
  readerOf(value: Value | undefined, ...types: readonly string[]): Node | undefined {
    if (value === undefined || value.isOutput) return undefined;
    const [reader, ...others] = this.readersOf(value);
    return others.length === 0 && reader?.graph === this.scope.graph && isOneOf(reader, types)
      ? reader
      : undefined;
  }

  /** The node that computes a value, where it is of one of these types and of this graph. */
  makerOf(value: Value | undefined, ...types: readonly string[]): Node | undefined {
    const maker = value?.producer;
    return maker?.graph === this.scope.graph && isOneOf(maker, types) ? maker : undefined;
  }

  /** The same in every run. */
  isFixed(value: Value | undefined): boolean {
    return value !== undefined && this.#constants.isFixedValue(value);
  }

  isFixedRow(value: Value | undefined): boolean {
    return value !== undefined && this.#constants.isFixedRow(value);
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

  dtype(value: Value): DType | undefined {
    const fact = this.scope.fact(value);
    return fact?.kind === "tensor" ? fact.dtype : undefined;
  }

  /** Whether no constant that the nodes read has more axes than `x`, so that results have its shape. */
  keepsShape(nodes: readonly Node[], x: Value): boolean {
    const rankOf = (value: Value) => {
      const fact = this.scope.fact(value);
      return fact?.kind === "tensor" ? fact.shape?.length : undefined;
    };
    const most = rankOf(x) ?? 0;
    return nodes.every(({ inputs }) =>
      inputs.every(
        (value) => value === undefined || !this.isFixed(value) || (rankOf(value) ?? most + 1) <= most,
      ),
    );
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
