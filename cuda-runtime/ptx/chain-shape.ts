/** @file How a chain is spread over threads: which elements one has, and how wide it reads and writes. */
import { minOf } from "../../src/ir/lists.ts";
import { collapseAxes } from "../ir/collapse.ts";
import type { PlanTarget } from "../ir/step.ts";
import { bytesOfType, isHalfStorage } from "../ir/storage.ts";
import { elementCount, type View } from "../ir/view.ts";
import { costOf } from "./chain-cost.ts";
import type { ChainGraph } from "./graph.ts";
import { accessBytesOf } from "./memory.ts";

/** How the elements of one thread's row lie: side by side, all the same one, or apart. */
export type RowKind = "row" | "repeat" | "gather";

export interface ChainOperand {
  /** Undefined for a coordinate. */
  readonly view: View | undefined;
  /** By collapsed axis. */
  readonly strides: readonly number[];
  readonly kind: RowKind;
  readonly accessBytes: number;
}

export interface ChainShape {
  /** Collapsed, outermost first, at least one. */
  readonly sizes: readonly number[];
  readonly outputs: readonly ChainOperand[];
  readonly leaves: readonly ChainOperand[];
  /** Neighbouring elements of a thread, and how many such rows it has. */
  readonly width: number;
  readonly rows: number;
  /** Rows of the whole chain, and elements left after the last one. */
  readonly rowCount: number;
  readonly tail: number;
  readonly threads: number;
  readonly isFast: boolean;
  /** Instructions of an element, about. */
  readonly cost: number;
}

interface Request {
  readonly shape: readonly number[];
  readonly graph: ChainGraph;
  readonly outputs: readonly View[];
}

export function chainShape({ shape, graph, outputs }: Request, target: PlanTarget): ChainShape {
  const collapsed = collapseAxes(
    shape,
    [...outputs, ...graph.leaves].map(({ strides }) => strides),
  );
  const sizes = collapsed.sizes.length === 0 ? [1] : collapsed.sizes;
  const stridesAt = (index: number) => {
    const strides = collapsed.strides[index] ?? [];
    return strides.length === 0 ? [0] : strides;
  };
  const outputSteps = outputs.map((view, index) => ({ view, strides: stridesAt(index) }));
  const leafSteps = graph.leaves.map(({ view }, index) => ({
    view,
    strides: stridesAt(outputs.length + index),
  }));
  const isFast = usesFastMath(graph, outputs);
  const cost = costOf(graph, isFast);
  const width = widthOf(sizes, outputSteps, leafSteps, cost);
  const total = elementCount(sizes);
  const rowCount = Math.floor(total / width);
  const operand = (step: Step): ChainOperand => ({
    ...step,
    kind: kindOf(step.strides.at(-1) ?? 0, width),
    accessBytes: step.view === undefined ? 0 : accessBytesOf(step.view.type, width, alignmentOf(step)),
  });
  const leaves = leafSteps.map(operand);
  const rows = rowsOf({ leaves, width, rowCount, cost }, target);
  return {
    sizes,
    outputs: outputSteps.map((step) => ({ ...operand(step), kind: "row" })),
    leaves,
    width,
    rows,
    rowCount,
    tail: total - rowCount * width,
    threads: threadsOf(Math.ceil(rowCount / rows), target),
    isFast,
    cost,
  };
}

interface Step {
  readonly view: View | undefined;
  readonly strides: readonly number[];
}

function kindOf(stride: number, width: number): RowKind {
  if (stride === 0) return "repeat";
  return stride === 1 || width === 1 ? "row" : "gather";
}

/** Of rows: the largest power of two up to 16 that divides the address of each. Buffers start at multiples of 16. */
function alignmentOf({ view, strides }: Step): number {
  if (view === undefined) return 16;
  const bytes = bytesOfType(view.type);
  let alignment = 16;
  for (const offset of [view.offset, ...strides.slice(0, -1)]) {
    while ((offset * bytes) % alignment !== 0) alignment /= 2;
  }
  return alignment;
}

/** Instructions of one thread beyond which more elements do not help. */
const maxInstructions = 1500;

/** The widest row: 16 bytes of the smallest type, up to 8 elements, where all outputs are written side by side. */
function widthOf(
  sizes: readonly number[],
  outputs: readonly (Step & { readonly view: View })[],
  leaves: readonly Step[],
  cost: number,
): number {
  const inner = sizes.at(-1) ?? 1;
  if (outputs.some(({ strides }) => strides.at(-1) !== 1)) return 1;
  const varying = leaves.filter(({ strides }) => strides.at(-1) !== 0);
  const bytes = [...outputs, ...varying].flatMap(({ view }) =>
    view === undefined ? [] : [bytesOfType(view.type)],
  );
  let width = Math.min(8, 16 / minOf(bytes));
  const fits = () =>
    width <= inner &&
    (sizes.length === 1 || inner % width === 0) &&
    outputs.every((step) => Math.min(16, width * bytesOfType(step.view.type)) <= alignmentOf(step)) &&
    width * cost <= maxInstructions;
  while (width > 1 && !fits()) width /= 2;
  return width;
}

/** Bytes that one thread has under way. */
const bytesInFlight = 32;

function rowsOf(
  { leaves, width, rowCount, cost }: Pick<ChainShape, "leaves" | "width" | "rowCount"> & { cost: number },
  { multiprocessors }: PlanTarget,
): number {
  const loaded = leaves.reduce(
    (sum, { view, kind }) =>
      sum + (view === undefined || kind === "repeat" ? 0 : width * bytesOfType(view.type)),
    0,
  );
  let rows = 1;
  const fillsGpu = () => rowCount >= 2 * rows * multiprocessors * 1024;
  while (
    rows < 4 &&
    rows * loaded < bytesInFlight &&
    fillsGpu() &&
    2 * rows * width * cost <= maxInstructions
  ) {
    rows *= 2;
  }
  return rows;
}

/** Smaller blocks where there would be fewer than two for a multiprocessor. */
function threadsOf(threads: number, { multiprocessors }: PlanTarget): number {
  let block = 256;
  while (block > 64 && threads < 2 * multiprocessors * block) block /= 2;
  return block;
}

/** Whether the results are rounded to halves, and nothing on the way tells a whole number from one just below it. */
function usesFastMath({ nodes }: ChainGraph, outputs: readonly View[]): boolean {
  if (!outputs.every(({ type }) => isHalfStorage(type))) return false;
  return nodes.every(({ expr, args }) => {
    if (expr.kind === "convert") return args.every((arg) => arg.expr.type === "bool") || expr.type === "f32";
    if (expr.kind === "unary") return !["floor", "ceil", "round"].includes(expr.op);
    return expr.kind !== "binary" || (expr.op !== "mod" && expr.op !== "fmod");
  });
}
