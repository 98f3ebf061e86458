/** @file Products of float matrices: D = epilogue(A · B), batched and strided. */
import { minOf } from "../../../src/ir/lists.ts";
import type { Emitter } from "../../ir/emitter.ts";
import type { LaunchedProduct } from "../../ir/product.ts";
import { questionKey } from "../../ir/question.ts";
import type { Launch, PlanTarget } from "../../ir/step.ts";
import { type FloatStorage, isFloatStorage } from "../../ir/storage.ts";
import { elementCount, type View } from "../../ir/view.ts";
import { type Accepts, type Choice, describeChoice, gemmCandidates } from "./choose.ts";
import { copiesEnds, withCopiedEnds } from "./end-maps.ts";
import { packedOperand } from "./pack.ts";
import { gemmParams, hopperParams, partialProblem, workspaceOperand } from "./params.ts";
import { type GemmRequest, type Operand, type Problem, problemOf, swapped } from "./problem.ts";
import {
  blocksThatStay,
  type GemmRow,
  hopperThreads,
  kernelOf,
  runsOfSum,
  sharedBytesOf,
  skinnyShape,
  sumsInTeam,
  thinThreads,
  threadsOf,
} from "./table.ts";
import { thinLaunchOf } from "./thin.ts";

export type { GemmRequest } from "./problem.ts";

/** Axes that a kernel counts through beside m and n. */
const maxBatchAxes = 3;
const sumThreads = 256;

/**
 * Launches D[..., m, n] = epilogue(Σ_k A[..., m, k] · B[..., k, n]), FP32 sums. A and B of one float type, D of any;
 * any strides. Operands without a unit stride, or badly aligned ones, may be packed first. `accepts` narrows the
 * choice of kernels, for measurements and tests.
 */
export function emitGemm(emitter: Emitter, request: GemmRequest, accepts?: Accepts): void {
  const { a, b, to } = request;
  if (elementCount(to.shape) === 0) return;
  if (a.type !== b.type || !isFloatStorage(a.type)) {
    throw new Error(`tc-lint bug: a product of ${a.type} and ${b.type}`);
  }
  emitProblem(emitter, problemOf(request), a.type, accepts);
}

function emitProblem(emitter: Emitter, problem: Problem, type: FloatStorage, accepts?: Accepts): void {
  if (problem.batch.length > maxBatchAxes) return emitSlices(emitter, problem, type);
  const { tf32, target } = emitter;
  const isConstant = ({ view }: Operand) => emitter.isConstant(view);
  const constants = () => [isConstant(problem.a), isConstant(problem.b)];
  const isEmitted = emitter.choose({
    key: () => questionKey("gemm", { problem, type, tf32, constants: constants() }),
    candidates: () => gemmCandidates(problem, { type, tf32, target, isConstant, accepts }),
    variantOf: ({ row, layout, isSwapped, packA, packB }) =>
      [kernelOf(row, type, layout).entry, isSwapped, packA, packB].join(" "),
    nameOf: describeChoice,
    emit: (to, choice: Choice) => emitChoice(to, type, choice),
  });
  if (!isEmitted) throw new Error("tc-lint bug: no kernel is accepted for this product");
}

function emitChoice(emitter: Emitter, type: FloatStorage, choice: Choice): void {
  const { m, n } = choice.problem;
  launchChoice(emitter, type, {
    ...choice,
    problem: {
      ...choice.problem,
      a: choice.packA ? packedOperand(emitter, choice.problem, choice.problem.a, m) : choice.problem.a,
      b: choice.packB ? packedOperand(emitter, choice.problem, choice.problem.b, n) : choice.problem.b,
    },
  });
}

/** One launch for each index of the smallest axis: products with so many axes are rare. */
function emitSlices(emitter: Emitter, problem: Problem, type: FloatStorage): void {
  const { batch } = problem;
  const axis = batch.indexOf(minOf(batch));
  for (let index = 0; index < (batch[axis] ?? 0); index++) {
    const at = <T extends { readonly view: View; readonly batch: readonly number[] }>(from: T): T => ({
      ...from,
      view: { ...from.view, offset: from.view.offset + index * (from.batch[axis] ?? 0) },
      batch: from.batch.toSpliced(axis, 1),
    });
    const { a, b, d, residual } = problem;
    const slice = { a: at(a), b: at(b), d: at(d), residual: residual && at(residual) };
    emitProblem(emitter, { ...problem, ...slice, batch: batch.toSpliced(axis, 1) }, type);
  }
}

function launchChoice(emitter: Emitter, type: FloatStorage, choice: Choice): void {
  const { problem, splits } = choice;
  const own = { choice, type, target: emitter.target, ahead: aheadOf(emitter, problem) };
  if (splits === 1 || sumsInTeam(choice.row))
    return emitter.launch(productLaunch({ ...own, problem, splitStride: 0 }));
  const products = elementCount(problem.batch);
  const { m, n } = problem;
  const workspace = emitter.temporary("float32", [splits, products, m, n]);
  const partial = partialProblem(problem, workspace);
  emitter.launch(productLaunch({ ...own, problem: partial, splitStride: products * m * n }));
  emitter.launch(sumLaunch(choice, workspace));
}

interface ProductLaunch {
  readonly choice: Choice;
  readonly type: FloatStorage;
  readonly target: PlanTarget;
  readonly problem: Problem;
  readonly splitStride: number;
  readonly ahead: "a" | "b" | undefined;
}

/** Of constants alone a product is launched while they are still written: it waits. */
function aheadOf(emitter: Emitter, { a, b }: Problem): "a" | "b" | undefined {
  const isConstant = { a: emitter.isConstant(a.view), b: emitter.isConstant(b.view) };
  if (isConstant.a === isConstant.b) return undefined;
  return isConstant.b ? "b" : "a";
}

function productLaunch({ choice, type, target, problem, splitStride, ahead }: ProductLaunch): Launch {
  const { row, kPerSplit, layout, aGrain, bGrain } = choice;
  // A team's blocks count their splits themselves.
  const team = sumsInTeam(row) ? choice.splits : 1;
  const splits = choice.splits / team;
  const { m, n, k } = problem;
  const tile = tileOf(row, type);
  const [tilesM, tilesN] = [Math.ceil(m / tile.m), Math.ceil(n / tile.n)];
  const products = elementCount(problem.batch);
  const tiles = tilesM * tilesN * splits * products;
  const cut = { problem, tilesM, tilesN, splits, kPerSplit, splitStride, aGrain, bGrain, ahead };
  const isHopper = row.kind === "hopper";
  const kernel = kernelOf(row, type, layout);
  const thin = row.kind === "thin" ? thinLaunchOf(cut, row, target) : undefined;
  return {
    kernel: isHopper && copiesEnds(problem, row) ? withCopiedEnds(kernel) : kernel,
    // Blocks that stay: as many as there is room for, where there are tiles for all.
    grid: [
      thin?.blocks ??
        (isHopper && team === 1
          ? Math.min(tiles, blocksThatStay(row) * target.multiprocessors)
          : tiles * team),
      1,
      1,
    ],
    cluster: team > 1 ? [team, 1, 1] : undefined,
    block: [tile.threads, 1, 1],
    sharedBytes: thin?.sharedBytes ?? (isHopper || row.kind === "tensor" ? sharedBytesOf(row) : 0),
    params: thin?.params ?? (isHopper ? hopperParams(cut, row) : gemmParams(cut)),
    reads: readsOf(problem, [problem.a.view, problem.b.view]),
    writes: [problem.d.view],
    flops: 2 * m * n * k * products,
    predictedMicroseconds: choice.productMicroseconds,
    detail: describeChoice(choice),
    product: splitStride === 0 && type !== "float32" ? launchedProduct(choice, problem, ahead) : undefined,
  };
}

function launchedProduct(
  { isSwapped }: Choice,
  problem: Problem,
  ahead: ProductLaunch["ahead"],
): LaunchedProduct {
  return isSwapped
    ? { problem: swapped(problem), isAhead: ahead === "a" }
    : { problem, isAhead: ahead === "b" };
}

function tileOf(row: GemmRow, type: FloatStorage): { m: number; n: number; threads: number } {
  switch (row.kind) {
    case "tensor":
      return { m: row.m, n: row.n, threads: threadsOf(row) };
    case "hopper":
      return { m: row.m, n: row.n, threads: hopperThreads };
    case "thin":
      return { m: row.m, n: row.n, threads: thinThreads(row) };
    case "simt":
      return { m: row.m, n: row.n, threads: 256 };
    case "skinny": {
      const { columns, threads } = skinnyShape(row, type);
      return { m: row.rows, n: columns, threads };
    }
  }
}

function sumLaunch({ problem, splits, sumMicroseconds }: Choice, workspace: View): Launch {
  const { m, n, batch } = problem;
  const count = elementCount(batch) * m * n;
  const operand = workspaceOperand(workspace, problem);
  const runs = runsOfSum(splits);
  const columns = sumThreads / runs;
  return {
    kernel: { kind: "built", family: "gemm-plain", entry: "sum_splits" },
    grid: [Math.ceil(count / columns), 1, 1],
    block: [columns, runs, 1],
    sharedBytes: 0,
    params: gemmParams({
      problem: { ...problem, a: operand, b: operand },
      tilesM: 1,
      tilesN: 1,
      splits,
      kPerSplit: problem.k,
      splitStride: count,
      aGrain: 16,
      bGrain: 16,
    }),
    reads: readsOf(problem, [workspace]),
    writes: [problem.d.view],
    predictedMicroseconds: sumMicroseconds,
    detail: `sum of ${splits} splits`,
  };
}

function readsOf({ residual, scale, bias }: Problem, operands: readonly View[]): View[] {
  return [
    ...operands,
    ...(residual ? [residual.view] : []),
    ...(scale ? [scale] : []),
    ...(bias ? [bias] : []),
  ];
}
