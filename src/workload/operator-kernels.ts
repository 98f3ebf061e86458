/** @file Kernels of a stack that runs one operator a node, each with what it was measured as. */
import { spellsLayout } from "../facts/nhwc-body.ts";
import type { Node } from "../ir/model.ts";
import type { TrafficPattern, Work } from "../ops/work.ts";
import { ConstantValues } from "./constants.ts";
import { areOfAttention, type Kernel, type KernelInput, productsByNode } from "./kernel.ts";
import { Operators, type OrderingCopy, reordering } from "./operators.ts";
import { boundMemoryWork, chainWork, patternOf } from "./traffic.ts";

/** Of one instance of a graph, in its order. */
export function operatorKernels(input: KernelInput): readonly Kernel[] {
  const { scope, products, bindings } = input;
  const productsOf = productsByNode(products);
  const constants = ConstantValues.of(scope);
  const operators = new Operators(scope, { bindings });
  return scope.graph.nodes.flatMap((node) => {
    if (constants.has(node)) return [];
    const found = productsOf.get(node);
    if (found !== undefined) {
      const own = found.filter((product) => product.node === node);
      return [
        ...copying(
          areOfAttention(own) ? operators.copiesBeforeAttention(node) : operators.copiesBefore(node),
        ),
        ...own.map((product) => ({ nodes: product.nodes, work: product.sizes, product })),
      ];
    }
    if (spellsLayout(node, scope)) return [];
    const pattern = patternOf(node, scope);
    // A call's own scope costs it, and is given its operands in order.
    return pattern === undefined
      ? copying(operators.copiesBefore(node))
      : launched(node, pattern, operators, input);
  });
}

function launched(
  node: Node,
  pattern: TrafficPattern | "none",
  operators: Operators,
  input: KernelInput,
): readonly Kernel[] {
  const works = pattern === "none" ? [] : passesOf(node, pattern, input);
  const [first] = works;
  const { copies, pass, columns } = operators.launchedBy(
    node,
    first?.kind === "traffic" ? first.pattern : pattern,
  );
  if (pass === "view") return copying(copies);
  const shaped = works.map((work) => (columns === undefined ? work : inRowsOf(columns, work)));
  return [...copying(copies), ...shaped.map((work) => ({ nodes: [node], work, product: undefined, pass }))];
}

function passesOf(
  node: Node,
  pattern: TrafficPattern,
  { scope, bindings }: KernelInput,
): readonly Work<number>[] {
  if (pattern !== "elementwise") return boundMemoryWork(node, scope, pattern, bindings);
  return [chainWork([node], scope, ConstantValues.of(scope), bindings) ?? []].flat();
}

function copying(copies: readonly OrderingCopy[]): readonly Kernel[] {
  return copies.map(({ node, work }) => ({ nodes: [node], work, product: undefined, pass: reordering }));
}

/** The same elements in rows of so many. */
function inRowsOf(columns: number, work: Work<number>): Work<number> {
  if (work.kind !== "traffic" || columns < 1) return work;
  return { ...work, rows: (work.rows * work.columns) / columns, columns };
}
