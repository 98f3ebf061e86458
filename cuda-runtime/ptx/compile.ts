/**
 * @file Expressions over an output shape as one kernel.
 *
 * The text depends on structure alone (operations, types, constants, which operands lie how, widths): sizes, strides and
 * pointers are parameters, so that equal chains at other sizes share one kernel.
 */
import { createHash } from "node:crypto";
import { bytesMoved, passMicroseconds } from "../cost/predict.ts";
import type { Expr } from "../ir/expr.ts";
import { OperandError, OperandSizeError } from "../ir/operand-error.ts";
import type { Launch, PlanTarget } from "../ir/step.ts";
import { bytesOfType } from "../ir/storage.ts";
import { elementCount, type View } from "../ir/view.ts";
import { Assembler } from "./assembler.ts";
import { type ChainShape, chainShape } from "./chain-shape.ts";
import { emitChain } from "./chain-text.ts";
import { type ChainGraph, chainGraph } from "./graph.ts";

export interface ChainRequest {
  readonly shape: readonly number[];
  /** Views of `shape`. */
  readonly outputs: readonly { readonly expr: Expr; readonly to: View }[];
}

/** CUDA's limit on the parameters of a kernel, in bytes. */
const maxParamBytes = 4096;

/** Undefined where there are no elements. The buffers of the views start at multiples of 16 bytes. */
export function compileChain(request: ChainRequest, target: PlanTarget): Launch | undefined {
  const { shape } = request;
  if (elementCount(shape) === 0) return undefined;
  const outputs = request.outputs.map(({ to }) => to);
  checkSizes(shape, outputs);
  const graph = chainGraph(
    shape,
    request.outputs.map(({ expr }) => expr),
  );
  const spread = chainShape({ shape, graph, outputs }, target);
  const assembler = new Assembler(target);
  const params = emitChain(assembler, graph, spread).done();
  if (params.bytes.length > maxParamBytes) {
    const found = `an elementwise kernel over ${graph.leaves.length} tensors takes ${params.bytes.length} bytes of parameters`;
    throw new OperandError(`${found}; up to ${maxParamBytes} are supported`);
  }
  const text = assembler.module("chain", params.bytes.length);
  const entry = `chain_${createHash("sha256").update(text).digest("hex").slice(0, 16)}`;
  const reads = readsOf(graph);
  return {
    kernel: { kind: "ptx", text: text.replace(".entry chain(", `.entry ${entry}(`), entry },
    grid: [Math.ceil(spread.rowCount / (spread.rows * spread.threads)), 1, 1],
    block: [spread.threads, 1, 1],
    sharedBytes: 0,
    params,
    reads,
    writes: outputs,
    predictedMicroseconds: microsecondsOf(graph, spread, outputs, target),
    detail: describe(graph, spread),
  };
}

/** What `compileChain` would predict, without a text. */
export function chainMicroseconds({ shape, outputs }: ChainRequest, target: PlanTarget): number {
  const graph = chainGraph(
    shape,
    outputs.map(({ expr }) => expr),
  );
  const views = outputs.map(({ to }) => to);
  return microsecondsOf(graph, chainShape({ shape, graph, outputs: views }, target), views, target);
}

function readsOf({ leaves }: ChainGraph): View[] {
  return leaves.flatMap(({ view }) => (view === undefined ? [] : [view]));
}

function microsecondsOf(
  graph: ChainGraph,
  spread: ChainShape,
  outputs: readonly View[],
  target: PlanTarget,
): number {
  const bytes = bytesMoved([...readsOf(graph), ...outputs]);
  return passMicroseconds({ bytes, instructions: instructionsOf(spread), isLeftInL2: true }, target);
}

function checkSizes(shape: readonly number[], outputs: readonly View[]): void {
  if (elementCount(shape) >= 2 ** 31) {
    throw new OperandSizeError(`[${shape.join(",")}] has 2^31 elements or more, fewer are supported`);
  }
  for (const to of outputs) {
    if (to.shape.join() !== shape.join()) {
      throw new Error(`tc-lint bug: a chain over [${shape.join(",")}] is stored to [${to.shape.join(",")}]`);
    }
  }
}

/**
 * Of one access, and of finding a row's place along one more axis, waiting included: what copies take on an H200 that
 * move two bytes at a time (rows with "packed A" in bench/results/gpu-gemm.json).
 */
const accessInstructions = 32;
const axisInstructions = 16;

function instructionsOf({ sizes, leaves, outputs, width, rowCount, cost }: ChainShape): number {
  const accesses = [...leaves, ...outputs].reduce((sum, { view, kind, accessBytes }) => {
    const wanted = kind === "repeat" ? 1 : width;
    return view === undefined ? sum : sum + Math.ceil((wanted * bytesOfType(view.type)) / accessBytes);
  }, 0);
  return rowCount * (width * cost + accessInstructions * accesses + axisInstructions * (sizes.length - 1));
}

function describe({ nodes, leaves }: ChainGraph, { sizes, width, rows }: ChainShape): string {
  const operations = nodes.filter(({ leaf, expr }) => leaf === undefined && expr.kind !== "constant").length;
  return `${operations} ops, ${leaves.length} reads, [${sizes.join(",")}], ${width}×${rows} a thread`;
}
