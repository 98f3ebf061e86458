/** @file FP32 nodes that half-precision neighbours surround, found by the Casts at their borders. */
import { computeDtype } from "../cost/precision.ts";
import type { Facts } from "../facts/infer.ts";
import type { Scope } from "../facts/scope.ts";
import { hasKernel } from "../hardware/stacks.ts";
import type { Target } from "../hardware/target.ts";
import type { Node, Value } from "../ir/model.ts";
import { traitsOf } from "../ops/ask.ts";
import { ConstantValues } from "../workload/constants.ts";
import { isHalf } from "./formats.ts";
import { dtypeOf } from "./graph.ts";

export interface Island {
  readonly scope: Scope;
  /** Casts to FP32 at the entry, and back at the exit. */
  readonly casts: readonly Node[];
  /** What is computed in FP32 in between: none for a Cast straight back. */
  readonly nodes: readonly Node[];
}

/** Larger regions are a choice of precision, not an accident of conversion. */
const maxIslandNodes = 32;

export function findIslands(facts: Facts): Island[] {
  return [...facts.scopes()].flatMap((scope) => islandsIn(scope));
}

function islandsIn(scope: Scope): Island[] {
  const entries = scope.graph.nodes.filter((node) => isCast(node, scope, isHalf, isFull));
  if (entries.length === 0) return [];
  const constants = ConstantValues.of(scope);
  const seen = new Set<Node>();
  return entries.flatMap((entry) => {
    if (seen.has(entry)) return [];
    const island = explore(entry, scope, constants);
    for (const cast of island?.casts ?? []) seen.add(cast);
    return island ?? [];
  });
}

/** Whether the stack has kernels of all its nodes in the half around it: else an author, or a fix, has left them in what does run. */
export function runsInHalf({ scope, casts, nodes }: Island, { stack }: Pick<Target, "stack">): boolean {
  const types = new Set(
    casts.flatMap(({ inputs, outputs }) => [inputs[0], outputs[0]].map((value) => dtypeOf(value, scope))),
  );
  const halves = [...types].flatMap((dtype) =>
    dtype !== undefined && isHalf(dtype) ? computeDtype(dtype, "as-is") : [],
  );
  return nodes.every((node) => {
    const opset = scope.opsets.get(node.domain) ?? 1;
    return halves.every((type) => hasKernel(stack, type, node, opset));
  });
}

/** Everything FP32 that hangs together with an entry; undefined where it leaves the island or grows too large. */
function explore(entry: Node, scope: Scope, constants: ConstantValues): Island | undefined {
  const casts = new Set<Node>([entry]);
  const nodes = new Set<Node>();
  const values: Value[] = fullOutputs(entry, scope);
  const seen = new Set<Value>(values);
  for (let value = values.pop(); value !== undefined; value = values.pop()) {
    if (value.isOutput || value.graph !== scope.graph) return undefined;
    const { producer } = value;
    if (producer === undefined) return undefined;
    for (const node of [producer, ...value.consumers]) {
      if (node.graph !== scope.graph || scope.children.has(node)) return undefined;
      if (isBorder(node, scope)) casts.add(node);
      else nodes.add(node);
      if (nodes.size > maxIslandNodes) return undefined;
      for (const next of fullNeighbours(node, scope, constants)) {
        if (seen.has(next)) continue;
        seen.add(next);
        values.push(next);
      }
    }
  }
  const leaves = [...casts].some((cast) => isCast(cast, scope, isFull, isHalf));
  return leaves ? { scope, casts: inOrder(casts), nodes: inOrder(nodes) } : undefined;
}

function isBorder(node: Node, scope: Scope): boolean {
  return isCast(node, scope, isHalf, isFull) || isCast(node, scope, isFull, isHalf);
}

function fullNeighbours(node: Node, scope: Scope, constants: ConstantValues): Value[] {
  const inputs = node.inputs.filter((input) => input !== undefined && !constants.isFixedValue(input));
  return [...inputs, ...node.outputs].filter(
    (value): value is Value => value !== undefined && isFull(dtypeOf(value, scope)),
  );
}

function fullOutputs(node: Node, scope: Scope): Value[] {
  return node.outputs.filter((value): value is Value => value !== undefined && isFull(dtypeOf(value, scope)));
}

type DTypeTest = (dtype: ReturnType<typeof dtypeOf>) => boolean;

function isCast(node: Node, scope: Scope, from: DTypeTest, to: DTypeTest): boolean {
  return (
    traitsOf(node)?.elements === "converted" &&
    from(dtypeOf(node.inputs[0], scope)) &&
    to(dtypeOf(node.outputs[0], scope))
  );
}

function isFull(dtype: ReturnType<typeof dtypeOf>): boolean {
  return dtype === "float32";
}

/** Ids follow the file. */
function inOrder(nodes: Iterable<Node>): Node[] {
  return [...nodes].sort((a, b) => a.id - b.id);
}
