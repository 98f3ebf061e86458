/** @file Where samples lie in each value of a graph whose batch is a symbol, and the first node that does not keep them apart. */
import type { Facts } from "../../facts/infer.ts";
import {
  collectSymbols,
  type Dim,
  divideExactly,
  evaluateDim,
  product,
  type Shape,
  sameDim,
  symbol,
} from "../../ir/dim.ts";
import { listText } from "../../ir/message.ts";
import { describeNode, type Node, type Value } from "../../ir/model.ts";
import { isReshaping } from "../../ops/ask.ts";
import { mixing, readsSizesAlone, type SamplePlace } from "../../ops/samples.ts";
import { asTensor, elementsOf, numbersOf } from "../../ops/shape.ts";

/** The batch as the file has it, and the symbol that stands for it. */
export interface Batch {
  readonly size: number;
  readonly symbol: string;
}

export function hasSymbol(dim: Dim, name: string): boolean {
  const symbols = new Set<string>();
  collectSymbols(dim, symbols);
  return symbols.has(name);
}

/** The axis that grows with the batch, alone and in proportion; undefined for none, null for anything else. */
export function placeOf(shape: Shape | undefined, { symbol: name }: Batch): SamplePlace | undefined | null {
  const axes = (shape ?? []).flatMap((dim, axis) => (hasSymbol(dim, name) ? [axis] : []));
  const [axis, ...others] = axes;
  if (shape === undefined || axis === undefined) return undefined;
  const share = divideExactly(shape[axis] ?? 1, symbol(name));
  if (others.length > 0 || share === undefined || hasSymbol(share, name)) return null;
  return { axis, rank: shape.length };
}

/** Why the graph does not keep samples apart: the first node that does not, what was found and expected; undefined where it does. */
export function obstacleTo(before: Facts, after: Facts, batch: Batch): string | undefined {
  const known = new Set(before.skipped.map(({ node }) => nameOf(node)));
  const skipped = new Map(after.skipped.map((each) => [each.node, each.reason]));
  const contradicted = new Set(after.contradictions.map(({ value }) => value.producer));
  const walk = new Walk(before, after, batch);
  for (const node of after.model.graph.nodes) {
    const reason = skipped.get(node);
    if (reason !== undefined && !known.has(nameOf(node)))
      return `${describeNode(node)} holds a batch of ${batch.size}: ${reason}`;
    const found = walk.obstacleAt(node);
    if (found !== undefined) return `${describeNode(node)} ${found}`;
    if (contradicted.has(node) && before.contradictions.length === 0)
      return `${describeNode(node)} gives other sizes than are declared`;
  }
  return undefined;
}

function nameOf({ outputs }: Node): string {
  return outputs.find((output) => output !== undefined)?.name ?? "";
}

function hasGraphs({ attributes }: Node): boolean {
  return attributes.some(({ value }) => value.type === "graph" || value.type === "graphs");
}

class Walk {
  readonly #before: Facts;
  readonly #after: Facts;
  readonly #batch: Batch;
  /** Values that graphs inside the main one read, or may. */
  readonly #captured: readonly Value[];

  constructor(before: Facts, after: Facts, batch: Batch) {
    this.#before = before;
    this.#after = after;
    this.#batch = batch;
    const { graph } = after.model;
    const isInside = (node: Node) => node.graph !== graph || hasGraphs(node);
    this.#captured = [...graph.values.values()].filter(({ consumers }) => consumers.some(isInside));
  }

  obstacleAt(node: Node): string | undefined {
    const places = node.inputs.map((input) => this.#placeOf(input));
    if (hasGraphs(node) && this.#captured.some((value) => this.#placeOf(value) !== undefined))
      return "holds a graph of its own, which is not looked into";
    if (places.every((place) => place === undefined) || readsSizesAlone(node)) return undefined;
    if (places.includes(null)) return "reads samples along several axes";
    const found = places.map((place) => place ?? undefined);
    const { root } = this.#after;
    const opset = root.opsets.get(node.domain) ?? 0;
    const numbers = (index: number) => numbersOf(elementsOf(asTensor(root.inputsOf(node)[index])));
    const mixed = mixing({ node, opset, places: found, numbers });
    return mixed ?? this.#lostIn(node) ?? this.#torn(node);
  }

  #shapeOf(value: Value | undefined): Shape | undefined {
    return value && this.#after.root.shape(value);
  }

  #placeOf(value: Value | undefined): SamplePlace | undefined | null {
    return placeOf(this.#shapeOf(value), this.#batch);
  }

  /** What is computed from samples has them along one axis, and no other size than before at the batch that the file has. */
  #lostIn(node: Node): string | undefined {
    for (const output of node.outputs) {
      if (output === undefined || (output.consumers.length === 0 && !output.isOutput)) continue;
      const shape = this.#shapeOf(output);
      if (shape === undefined) return "gives a result of unknown sizes";
      const place = this.#placeOf(output);
      if (place === undefined || place === null)
        return `does not keep samples apart: found ${listText(shape)}, expected ${this.#batch.symbol} along one axis`;
      const expected = this.#expectedOf(output);
      if (expected?.some((dim, axis) => !sameDim(dim, shape[axis] ?? -1)) === true)
        return `gives ${listText(shape)}, expected ${listText(expected)}`;
    }
    return undefined;
  }

  /** The sizes that it had, but for the axis of samples. */
  #expectedOf({ name }: Value): Shape | undefined {
    const { symbol: batchName, size } = this.#batch;
    const was = this.#before.model.graph.values.get(name);
    const old = was && this.#before.root.shape(was);
    const now = this.#after.model.graph.values.get(name);
    const shape = now && this.#shapeOf(now);
    if (old === undefined || shape === undefined || old.length !== shape.length) return old;
    const bindings = new Map([[batchName, size]]);
    // A size that nobody knew says nothing against one that is known.
    return old.map((dim, axis) => {
      const there = shape[axis] ?? -1;
      return typeof dim !== "number" || evaluateDim(there, bindings) === dim ? there : dim;
    });
  }

  /** A view keeps elements in order: as many lie before the samples as did. */
  #torn(node: Node): string | undefined {
    const [input, output] = [node.inputs[0], node.outputs[0]];
    if (!isReshaping(node)) return undefined;
    const [from, to] = [this.#shapeOf(input), this.#shapeOf(output)];
    const [a, b] = [placeOf(from, this.#batch), placeOf(to, this.#batch)];
    if (from === undefined || to === undefined || a == null || b == null) return undefined;
    const isWhole = sameDim(product(from.slice(0, a.axis)), product(to.slice(0, b.axis)));
    return isWhole ? undefined : `tears samples apart: ${listText(from)} becomes ${listText(to)}`;
  }
}
