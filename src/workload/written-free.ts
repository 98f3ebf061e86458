/**
 * @file What ONNX Runtime joins only where a file says every size: a bias behind a product of more than two axes (MatMulAddFusion of matmul_add_fusion.cc
 * makes a Gemm of static shapes alone), and a factor that is computed from a shape (constant folding knows a Shape of static axes alone).
 */

import type { Scope } from "../facts/scope.ts";
import { evaluateDim, type Shape } from "../ir/dim.ts";
import { groupBy } from "../ir/group.ts";
import { pushAll } from "../ir/lists.ts";
import type { Node, Value } from "../ir/model.ts";
import { isOp } from "../ops/ask.ts";
import type { TrafficWork } from "../ops/work.ts";
import { ConstantValues } from "./constants.ts";
import type { Step, Timeline } from "./timeline.ts";
import { chainWork } from "./traffic.ts";
import type { Bound } from "./values.ts";
import type { Workload } from "./workload.ts";
import { foldedOperands } from "./written-operand.ts";
import { WrittenGraph } from "./written-out.ts";

/** Priced as part of another kernel, which it is where symbols are bound in the file or by the session. */
export interface LeftApart {
  readonly node: Node;
  /** Of a kernel of its own. */
  readonly work: TrafficWork<number>;
  readonly runs: number;
}

type Found = Pick<Workload, "facts" | "timeline" | "bindings" | "target">;

/** Nothing by a stack that joins none of these, and nothing of symbols that the user bound. */
export function leftApart(found: Found): LeftApart[] {
  const { facts, timeline, bindings, target } = found;
  if (facts.symbols.size === 0 || target.stack.fuses.elementwise !== "patterns") return [];
  const byScope = groupBy(timeline.steps, ({ scope }) => scope);
  return [...byScope].flatMap(([scope, steps]) => {
    const runs = evaluateDim(scope.totalRepeat, bindings) ?? 1;
    const nodes = [...openBiases(scope, steps, timeline), ...openFactors(scope, { bindings })];
    return nodes.flatMap((node) => {
      const work = chainWork([node], scope, ConstantValues.of(scope), bindings);
      return work === undefined ? [] : [{ node, work, runs }];
    });
  });
}

function openBiases(scope: Scope, steps: readonly Step[], timeline: Timeline): Node[] {
  const graph = new WrittenGraph(scope);
  return steps.flatMap((step) => {
    const [x] = step.product?.node.inputs ?? [];
    if (step.product?.sizes.kind !== "gemm" || !isOpen(scope.shape(x), 3)) return [];
    const isBias = (node: Node) => isOp(node, "Add") && node.inputs.some((value) => graph.isFixedRow(value));
    return step.nodes.filter((node) => isBias(node) && !isReadByOne(node, step, timeline));
  });
}

/** By a GELU, or a norm of the sum with what is beside it, which take a bias in: BiasGelu, SkipLayerNormalization. */
function isReadByOne({ outputs }: Node, { scope }: Step, timeline: Timeline): boolean {
  const readers = outputs.flatMap((output) => output?.consumers ?? []);
  const [reader, ...others] = new Set(readers.map((each) => timeline.stepOf(each, scope)));
  if (reader === undefined || others.length > 0 || reader.product !== undefined) return false;
  return reader.nodes.length > 1 || reader.nodes.some((node) => isOp(node, "Gelu"));
}

function openFactors(scope: Scope, bound: Bound): Node[] {
  if (!scope.graph.nodes.some((node) => isShapeOfOpen(node, scope))) return [];
  const { before, behind } = foldedOperands(scope, bound);
  return [...before, ...behind.keys()].filter(
    (node) => isOp(node, "Mul", "Div") && node.inputs.some((input) => comesOfShape(input, scope)),
  );
}

/** Whether a value that is the same in every run is computed from the shape of one whose sizes the file leaves open. */
function comesOfShape(value: Value | undefined, scope: Scope): boolean {
  const constants = ConstantValues.of(scope);
  const seen = new Set<Node>();
  const left = [value];
  for (const each of left) {
    const maker = each?.producer;
    if (maker === undefined || seen.has(maker) || !constants.has(maker)) continue;
    if (isShapeOfOpen(maker, scope)) return true;
    seen.add(maker);
    pushAll(left, maker.inputs);
  }
  return false;
}

function isShapeOfOpen(node: Node, scope: Scope): boolean {
  return isOp(node, "Shape") && isOpen(scope.shape(node.inputs[0]), 1);
}

/** Of as many axes at the least, one of them of no size in the file. */
function isOpen(shape: Shape | undefined, rank: number): boolean {
  return shape !== undefined && shape.length >= rank && shape.some((dim) => typeof dim !== "number");
}
