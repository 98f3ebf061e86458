/** @file Two products one behind another in one launch, on Hopper: what is such a pair, how blocks share it, its launch. */
import { writeParams } from "../../ir/param-table.ts";
import type { LaunchedProduct, Operand, Problem, Target } from "../../ir/product.ts";
import type { Launch, PlanTarget } from "../../ir/step.ts";
import type { HalfStorage } from "../../ir/storage.ts";
import type { View } from "../../ir/view.ts";
import { targetMap } from "../gemm/end-maps.ts";
import { neighboursOf } from "../gemm/neighbours.ts";
import { gemmFields, operandMap } from "../gemm/params.ts";
import { takesFormulas } from "../gemm/thin.ts";
import { pairMicroseconds } from "./cost.ts";
import { pairStruct } from "./params.table.ts";
import { type PairRow, pairEntry, pairRows, pairTeams, pairThreads, pairTileRows } from "./table.ts";

/** Elements along k of a box, and the bytes that rows of operands are aligned to. */
const [panel, grain] = [64, 16];
/** Of a box of the first product's result: a warp's rows. */
const rowsOfStore = 16;
const barrierBytes = 8;
/** More floats of a row of sums than it has columns. */
const padding = 8;
/** What a tile's copies are counted by: bits of a barrier. */
const mostBytesOfBarrier = 2 ** 20 - 1;
/** Fewer are for kernels without tiles, two of which overlap: 1x10x240 and back takes 3.0 us by them, 3.2 at best in one launch. */
const fewestRows = 5;
/** Each computes all of the first product. */
const mostParts = 16;

export interface PairOfProducts {
  readonly first: LaunchedProduct;
  readonly second: LaunchedProduct;
  /** Whether somebody else reads the first one's result. */
  readonly isKept: boolean;
}

/** How a pair is cut up. */
export interface PairWay {
  readonly row: PairRow;
  /** Blocks that share a tile's rows and the first one's columns: a cluster. */
  readonly team: number;
  /** Blocks that share a tile's rows and the second one's columns. */
  readonly parts: number;
  /** Of the first one's result that a block computes. */
  readonly columns: number;
  /** Of the second one's. */
  readonly chunks: number;
  readonly sharedBytes: number;
  readonly blocks: number;
  /** Blocks that a multiprocessor has room for. */
  readonly room: number;
  readonly microseconds: number;
}

/** Whether the kernels compute these two: the second one's rows are what the first one gives. */
export function isPair({ first: { problem: p }, second: { problem: q } }: PairOfProducts): boolean {
  const type = p.a.view.type;
  if (type !== "float16" && type !== "bfloat16") return false;
  const isResult = q.a.view.buffer === p.d.view.buffer && q.a.view.offset === p.d.view.offset;
  return (
    [p, q].every((problem) => isPlain(problem, type)) &&
    isResult &&
    p.m >= fewestRows &&
    q.m === p.m &&
    q.k === p.n &&
    (q.a.outer === p.d.m || p.m === 1) &&
    q.a.k === 1 &&
    [p, q].every(takesFormulas) &&
    isReadBefore(p, q)
  );
}

/** But for the second one's rows, whether nobody reads what either writes: blocks read operands while others' results are on their way. */
function isReadBefore(p: Problem, q: Problem): boolean {
  const written = [p.d.view.buffer, q.d.view.buffer];
  return [...readsOf(p, p.a.view), ...readsOf(q)].every(({ buffer }) => !written.includes(buffer));
}

function isPlain(problem: Problem, type: HalfStorage): boolean {
  const { a, b, d, residual, scale, bias, channels, alpha, batch, m, n, k } = problem;
  const isTarget = ({ view, m: step }: Target) => view.type === type && (step > 0 || m === 1);
  return (
    batch.length === 0 &&
    k > 0 &&
    isOperand(a, m, k, type) &&
    isOperand(b, n, k, type) &&
    [d, ...(residual === undefined ? [] : [residual])].every(isTarget) &&
    neighboursOf(problem) === 8 &&
    scale === undefined &&
    alpha === 1 &&
    (bias === undefined || (channels === "n" && bias.offset % 4 === 0))
  );
}

/** Rows along k, as TMA takes them. */
function isOperand({ view, outer, k: step }: Operand, rows: number, k: number, type: HalfStorage): boolean {
  const isAligned = [view.offset, ...(rows > 1 ? [outer] : [])].every((at) => (2 * at) % grain === 0);
  return view.type === type && step === 1 && isAligned && (rows === 1 || outer >= k);
}

/** All ways that there are. */
export function pairWays(pair: PairOfProducts, target: PlanTarget): PairWay[] {
  if (!target.features.wgmma || !isPair(pair)) return [];
  return pairRows.flatMap((row) => [...cutsOf(pair, row)].flatMap((cut) => wayOf(pair, cut, target) ?? []));
}

type Cut = Pick<PairWay, "row" | "team" | "parts" | "columns" | "chunks">;

function* cutsOf({ first, second }: PairOfProducts, row: PairRow): Generator<Cut> {
  const { n } = first.problem;
  const chunks = Math.ceil(second.problem.n / row.chunk);
  for (const team of pairTeams)
    if (n % (team * row.chunk) === 0) yield { row, team, parts: 1, columns: n / team, chunks };
  const columns = Math.ceil(n / row.chunk) * row.chunk;
  const seen = new Set<number>();
  for (let parts = 1; parts <= mostParts; parts++) {
    const own = Math.ceil(chunks / parts);
    if (!seen.has(own)) yield { row, team: 1, parts: Math.ceil(chunks / own), columns, chunks: own };
    seen.add(own);
  }
}

function wayOf(pair: PairOfProducts, cut: Cut, target: PlanTarget): PairWay | undefined {
  const sharedBytes = sharedBytesOf(pair, cut);
  const room = Math.min(
    cut.row.blocks,
    Math.floor(target.sharedBytes / (sharedBytes + target.reservedSharedBytes)),
  );
  const blocks = Math.ceil(pair.first.problem.m / pairTileRows) * cut.team * cut.parts;
  // Blocks of a team run at once, and nothing is fetched for a second wave ahead.
  if (sharedBytes > target.sharedBytesPerBlock || blocks > room * target.multiprocessors) return undefined;
  const way = { ...cut, sharedBytes, blocks, room };
  return { ...way, microseconds: pairMicroseconds(pair, way, target) };
}

/** As PairProduct lays it out. */
function sharedBytesOf({ first }: PairOfProducts, { row, team, columns, chunks }: Cut): number {
  const panels = Math.ceil(first.problem.k / panel);
  const columnsOfSecond = chunks * row.chunk;
  const operands = 2 * panels * panel * (pairTileRows + columns);
  const sums = Math.ceil((4 * pairTileRows * (columnsOfSecond + padding)) / 1024) * 1024;
  const result = 2 * pairTileRows * columns;
  const weights = 2 * Math.ceil(columns / panel) * panel * columnsOfSecond;
  if (weights > mostBytesOfBarrier) return Number.POSITIVE_INFINITY;
  const ends = team > 1 ? 0 : 2 * pairTileRows * columnsOfSecond;
  const between = team > 1 ? Math.max(operands, sums) : operands;
  return between + result + weights + ends + (3 + panels) * barrierBytes;
}

export function pairLaunch(pair: PairOfProducts, way: PairWay): Launch {
  const { first, second, isKept } = pair;
  const { problem: p } = first;
  const { problem: q } = second;
  const { row, team, blocks, sharedBytes, microseconds } = way;
  const type = p.a.view.type === "bfloat16" ? "bfloat16" : "float16";
  return {
    kernel: { kind: "built", family: "gemm-pair", entry: pairEntry(row, type) },
    grid: [blocks, 1, 1],
    cluster: team > 1 ? [team, 1, 1] : undefined,
    block: [pairThreads(row), 1, 1],
    sharedBytes,
    params: writeParams(pairStruct, pairFields(pair, way)),
    reads: [...readsOf(p, p.a.view), ...readsOf(q)],
    writes: [...(isKept ? [p.d.view] : []), q.d.view],
    flops: 2 * p.m * (p.n * p.k + q.n * q.k),
    predictedMicroseconds: microseconds,
    detail: describeWay(pair, way),
  };
}

function readsOf({ b, residual, bias }: Problem, a?: View): View[] {
  return [...(a ? [a] : []), b.view, ...(residual ? [residual.view] : []), ...(bias ? [bias] : [])];
}

function pairFields({ first, second, isKept }: PairOfProducts, way: PairWay) {
  const { row, team, parts, columns, chunks } = way;
  const { problem: p } = first;
  const { problem: q } = second;
  const { chunk } = row;
  const cut = ({ problem, isAhead }: LaunchedProduct) => ({
    ...{ problem, tilesM: Math.ceil(problem.m / pairTileRows), tilesN: 1, splits: 1, kPerSplit: problem.k },
    ...{ splitStride: 0, aGrain: grain, bGrain: grain, ahead: isAhead ? ("b" as const) : undefined },
  });
  return {
    a: operandMap(p.a, p, p.m, [panel, pairTileRows]),
    b: operandMap(p.b, p, p.n, [panel, chunk]),
    d: isKept ? targetMap(p.d, p, [chunk, rowsOfStore]) : undefined,
    residual: p.residual && targetMap(p.residual, p, [chunk, pairTileRows]),
    weights: operandMap(q.b, q, q.n, [panel, chunk]),
    to: team > 1 ? undefined : targetMap(q.d, q, [chunk, rowsOfStore]),
    secondResidual: team > 1 ? undefined : q.residual && targetMap(q.residual, q, [chunk, pairTileRows]),
    p: { ...gemmFields(cut(first)), d: isKept ? p.d.view : undefined },
    q: { ...gemmFields(cut(second)), a: undefined },
    panels: Math.ceil(p.k / panel),
    columns,
    chunks,
    parts,
    isKept,
  };
}

function describeWay({ first, second }: PairOfProducts, { row, team, parts }: PairWay): string {
  const { m, n, k } = first.problem;
  const sharing = team > 1 ? `, a team of ${team}` : parts > 1 ? `, in ${parts} parts` : "";
  return `${m}x${n}x${k} and ${m}x${second.problem.n}x${n}, ${row.tile}${sharing}`;
}
