/** @file A model layer by layer: sizes, work, what bounds it, and what it takes. The rows of `--table`. */
import { siteOf } from "../facts/nhwc-body.ts";
import { labelOf, type Node, operatorOf } from "../ir/model.ts";
import type { Work } from "../ops/work.ts";
import type { Step } from "../workload/timeline.ts";
import type { LintContext } from "./context.ts";
import type { Finding, LayerReport } from "./result.ts";

/** One row a kernel, in graph order. */
export function layersOf(context: LintContext, findings: readonly Finding[]): LayerReport[] {
  const codes = codesByNode(findings);
  return context.timeline.steps.map((step) => layerOf(step, context, codes));
}

function layerOf(
  step: Step,
  context: LintContext,
  codes: ReadonlyMap<string, readonly string[]>,
): LayerReport {
  const { nodes, scope, work, estimate, runs, family } = step;
  const main = step.product?.node ?? nodes[0];
  const nameOf = (node: Node) => labelOf(siteOf(node, scope).node);
  const graph = main === undefined ? scope.path : siteOf(main, scope).scope.path;
  const found = new Set(nodes.flatMap((node) => codes.get(keyOf(graph, nameOf(node))) ?? []));
  return {
    node: main === undefined ? "" : nameOf(main),
    op: main === undefined ? (step.measured === undefined ? "" : notMapped) : operatorOf(main),
    graph,
    fused: nodes.filter((node) => node !== main).map(nameOf),
    family,
    sizes: sizesOf(work),
    compute: context.computeType(work.dtype),
    runs,
    flops: estimate.flops * runs,
    bytes: estimate.bytes * runs,
    intensity: estimate.bytes > 0 ? estimate.flops / estimate.bytes : 0,
    bound: estimate.bound,
    tensorCore: estimate.tensorCore,
    microseconds: step.microseconds,
    low: estimate.low * runs,
    high: estimate.high * runs,
    share: context.share(step.microseconds),
    ...(step.measured === undefined ? {} : { predicted: step.measured.predicted }),
    findings: [...found].sort(),
  };
}

/** What ran and is no kernel's that was predicted. */
const notMapped = "(not mapped)";

function codesByNode(findings: readonly Finding[]): Map<string, string[]> {
  const codes = new Map<string, string[]>();
  for (const { graph, node, code } of findings) {
    const key = keyOf(graph, node);
    const before = codes.get(key);
    if (before === undefined) codes.set(key, [code]);
    else before.push(code);
  }
  return codes;
}

function keyOf(graph: string, node: string): string {
  return `${graph}\u0000${node}`;
}

/** The sizes that decide a layer's time, in the words of its family. */
function sizesOf(work: Work<number>): LayerReport["sizes"] {
  switch (work.kind) {
    case "gemm":
      return { batch: work.batch, m: work.m, n: work.n, k: work.k };
    case "conv":
      return {
        batch: work.batch,
        channels: work.channels,
        filters: work.filters,
        groups: work.groups,
        input: work.input,
        kernel: work.kernel,
        strides: work.strides,
      };
    case "attention":
      return {
        batch: work.batch,
        heads: work.heads,
        queryLength: work.queryLength,
        keyLength: work.keyLength,
        headDim: work.headDim,
      };
    case "recurrent":
      return { batch: work.batch, steps: work.steps, inputSize: work.inputSize, hiddenSize: work.hiddenSize };
    case "traffic":
      return { rows: work.rows, columns: work.columns };
  }
}
