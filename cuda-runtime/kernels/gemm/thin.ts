/** @file Products of many rows by few along k on Hopper: the kernels of gemm-thin, what they take, how much of a multiprocessor. */
import type { ActivationKind } from "../../ir/epilogue.ts";
import { writeParams } from "../../ir/param-table.ts";
import type { ParamBlock } from "../../ir/params.ts";
import type { PlanTarget } from "../../ir/step.ts";
import { thinStruct } from "../gemm-thin/params.table.ts";
import { targetMap } from "./end-maps.ts";
import { neighboursOf } from "./neighbours.ts";
import { type GemmLaunch, gemmFields, operandMap } from "./params.ts";
import type { Problem } from "./problem.ts";
import type { ThinRow } from "./table.ts";

/** Formulas that ThinEnd (gemm-thin/end.cuh) has; the last one is a limit. */
const firsts: ReadonlySet<ActivationKind> = new Set([
  ...(["none", "relu", "clip", "leakyRelu", "sigmoid", "silu", "gelu", "geluTanh"] as const),
  ...(["hardSigmoid", "hardSwish"] as const),
]);
const lasts: ReadonlySet<ActivationKind> = new Set(["none", "relu", "clip"]);
/** Of a box: a warp stores its own rows, a residual comes for a group of four. */
const [rowsOfStore, rowsOfCopy] = [16, 64];
const mostStages = 4;
/** Both operands of a tile stay whole along k; where it is long, a ring of pieces keeps more in flight. */
const mostAlongK = 256;
const barrierBytes = 8;
/** What every part of shared memory begins at: the swizzle's period. */
const alignment = 1024;

/** Whether these kernels do all that is asked for: one product, its result in rows of the operands' type. */
export function takesThin(problem: Problem): boolean {
  const { a, d, residual, scale, bias, channels, first, last, alpha, batch, m, k } = problem;
  const { type } = a.view;
  const isTarget = ({ view, n, m: step }: Problem["d"]) =>
    view.type === type && n === 1 && (step > 0 || m === 1);
  return (
    batch.length === 0 &&
    k > 0 &&
    k <= mostAlongK &&
    isTarget(d) &&
    (residual === undefined || (isTarget(residual) && neighboursOf(problem) === 8)) &&
    scale === undefined &&
    alpha === 1 &&
    (bias === undefined || channels === "n") &&
    takesFormulas({ first, last })
  );
}

/** Whether ThinEnd has what is done to elements. */
export function takesFormulas({ first, last }: Pick<Problem, "first" | "last">): boolean {
  return firsts.has(first.kind) && lasts.has(last.kind);
}

/** How a block uses shared memory, and so how many a multiprocessor has. Undefined where k is too long. */
export interface ThinShape {
  /** Elements along k of a box, and how many boxes make a row. */
  readonly panel: number;
  readonly panels: number;
  readonly stages: number;
  readonly sharedBytes: number;
  readonly resident: number;
}

export function thinShapeOf(
  row: ThinRow,
  { k, hasResidual }: { readonly k: number; readonly hasResidual: boolean },
  target: PlanTarget,
): ThinShape | undefined {
  const panel = panelOf(k);
  const panels = Math.ceil(k / panel);
  const rowBytes = 2 * panel * panels;
  const tileBytes = 2 * row.m * row.n;
  const stage = wholeOf(rowBytes * row.m + (hasResidual ? tileBytes : 0));
  const fixed = wholeOf(rowBytes * row.n) + tileBytes + 4 * row.n + barrierBytes;
  const bytesOf = (stages: number) => fixed + stages * (stage + 2 * barrierBytes);
  const residentOf = (stages: number) =>
    bytesOf(stages) > target.sharedBytesPerBlock
      ? 0
      : Math.min(row.blocks, Math.floor(target.sharedBytes / (bytesOf(stages) + target.reservedSharedBytes)));
  // A block more hides more than a stage more does, but for the second one.
  let stages = residentOf(2) * 2 > residentOf(1) ? 2 : 1;
  const resident = residentOf(stages);
  if (resident === 0) return undefined;
  while (stages < mostStages && residentOf(stages + 1) === resident) stages++;
  return { panel, panels, stages, sharedBytes: bytesOf(stages), resident };
}

/** As wide as a swizzle takes, unless half of it would be zeros. */
function panelOf(k: number): number {
  if (k <= 16) return 16;
  return Math.ceil(k / 64) * 64 - k < 32 ? 64 : 32;
}

function wholeOf(bytes: number): number {
  return Math.ceil(bytes / alignment) * alignment;
}

/** Blocks stay: as many as are resident, the same number for each column of tiles. */
export function thinBlocks(
  tilesM: number,
  tilesN: number,
  { resident }: ThinShape,
  target: PlanTarget,
): number {
  const slots = resident * target.multiprocessors;
  return tilesN * Math.max(1, Math.min(tilesM, Math.floor(slots / tilesN)));
}

/** What of its launch is not as that of other products. */
export function thinLaunchOf(
  launch: GemmLaunch,
  row: ThinRow,
  target: PlanTarget,
): { blocks: number; sharedBytes: number; params: ParamBlock } {
  const { k, residual } = launch.problem;
  const shape = thinShapeOf(row, { k, hasResidual: residual !== undefined }, target);
  if (shape === undefined) throw new Error(`tc-lint bug: ${row.tile} with ${k} along k`);
  const blocks = thinBlocks(launch.tilesM, launch.tilesN, shape, target);
  return { blocks, sharedBytes: shape.sharedBytes, params: thinParams(launch, row, shape) };
}

function thinParams(launch: GemmLaunch, row: ThinRow, { panel, panels, stages }: ThinShape): ParamBlock {
  const { problem } = launch;
  const { a, b, d, residual, m, n } = problem;
  const columns = boxColumns(row);
  const isBoxed = neighboursOf(problem) === 8;
  return writeParams(thinStruct, {
    a: operandMap(a, problem, m, [panel, row.m]),
    b: operandMap(b, problem, n, [panel, row.width]),
    d: isBoxed ? targetMap(d, problem, [columns, rowsOfStore]) : undefined,
    residual: residual && targetMap(residual, problem, [columns, rowsOfCopy]),
    p: gemmFields(launch),
    panel,
    panels,
    stages,
  });
}

/** As ThinEnd has them. */
function boxColumns({ width }: ThinRow): number {
  return [64, 32].find((columns) => width % columns === 0) ?? width;
}
