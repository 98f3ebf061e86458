/** @file Which kernel computes a product, and how: orientation, operands packed or as they lie, splits of k. */

import { sectorBytes } from "../../cost/cache-lines.ts";
import { type Candidate, cheapest } from "../../cost/candidate.ts";
import { keptTimes, type TimesOfSize } from "../../cost/kept-times.ts";
import { bytesMoved } from "../../cost/predict.ts";
import { noActivation } from "../../ir/epilogue.ts";
import type { PlanTarget } from "../../ir/step.ts";
import { bytesOfType, type FloatStorage } from "../../ir/storage.ts";
import { type GemmSize, microsecondsOf, splitMicroseconds } from "./cost.ts";
import { packedLineBytes, packMicroseconds } from "./pack.ts";
import { type Operand, type Problem, swapped } from "./problem.ts";
import {
  type GemmRow,
  gemmTable,
  type Layout,
  type SkinnyRow,
  sharedBytesOf,
  skinnyShape,
  stageBytes,
  sumsInTeam,
} from "./table.ts";
import { takesFormulas, takesThin, thinShapeOf } from "./thin.ts";

/** `microseconds`: predicted, of all launches. */
export type Accepts = (choice: Choice, microseconds: number) => boolean;

export interface ChooseOptions {
  readonly type: FloatStorage;
  readonly tf32: boolean;
  readonly target: PlanTarget;
  readonly isConstant: (operand: Operand) => boolean;
  /** For measurements and tests: only what it holds of is taken. */
  readonly accepts?: Accepts | undefined;
}

export interface Choice {
  readonly row: GemmRow;
  /** As it is computed: perhaps transposed. */
  readonly problem: Problem;
  readonly isSwapped: boolean;
  readonly layout: Layout | undefined;
  readonly packA: boolean;
  readonly packB: boolean;
  readonly aGrain: number;
  readonly bGrain: number;
  readonly splits: number;
  /** Of k; all but the last split have so many. */
  readonly kPerSplit: number;
  /** Predicted, of the product's own launch, and of the one that adds up its splits (0 without). */
  readonly productMicroseconds: number;
  readonly sumMicroseconds: number;
}

/** How an operand is read: which axis its unit stride is along (undefined: neither), and how rows are aligned. */
interface Reading {
  readonly unit: "k" | "outer" | undefined;
  readonly grain: number;
  /** Bytes up to 128 that each row begins at a multiple of. */
  readonly line: number;
  /** As `grain`, for copies of whole grains, which must not pass the end of a single row: the memory may end there. */
  readonly wholeGrain: number;
  /** Whether rows lie one behind another, and no axis runs backwards. */
  readonly isForward: boolean;
  readonly isPacked: boolean;
  readonly microseconds: number;
}

const mostSkinnyRows = 4;
/** Elements along k: shorter rows are not read often enough for a copy to pay. */
const longRow = 512;
const splitCounts = [1, 2, 3, 4, 5, 6, 8, 10, 12, 16, 20, 24, 32];
const maxWorkspaceBytes = 2 ** 28;

const timesOf = keptTimes<GemmRow>();

/** There is always one: FP32 kernels take anything. */
export function chooseGemm(problem: Problem, options: ChooseOptions): Candidate<Choice> {
  const best = cheapest(gemmCandidates(problem, options));
  if (best === undefined) throw new Error("tc-lint bug: no kernel is accepted for this product");
  return best;
}

/** Every way that is accepted. */
export function* gemmCandidates(problem: Problem, options: ChooseOptions): Generator<Candidate<Choice>> {
  const rows = gemmTable.filter((row) => runsOn(row, options));
  for (const isSwapped of [false, true]) {
    const oriented = isSwapped ? swapped(problem) : problem;
    for (const a of readingsOf(oriented.a, oriented.m, oriented, options)) {
      for (const b of readingsOf(oriented.b, oriented.n, oriented, options)) {
        const size = sizeOf(oriented, options.type, a, b);
        const times = timesOf(options.target, Object.values(size).join(" "));
        for (const row of rows) {
          const layout = layoutOf(row, a, b, options.type);
          if (layout === undefined || !fitsRows(row, oriented, options.target)) continue;
          yield* withSplits({ row, layout, problem: oriented, isSwapped, a, b, size, times }, options);
        }
      }
    }
  }
}

/** Whether the GPU has the row's instructions, and shared memory for it. */
export function runsOn(
  row: GemmRow,
  { type, tf32, target }: Pick<ChooseOptions, "type" | "tf32" | "target">,
): boolean {
  const { features } = target;
  const hasTensor = { float16: features.half, bfloat16: features.bf16, float32: tf32 && features.tf32 }[type];
  if (row.kind === "skinny") return true;
  if (row.kind === "simt") return !hasTensor;
  if (row.kind === "hopper" || row.kind === "thin") return type !== "float32" && features.wgmma;
  const suits = (row.arithmetic === "tf32") === (type === "float32");
  return hasTensor && suits && sharedBytesOf(row) <= target.sharedBytesPerBlock;
}

function fitsRows(row: GemmRow, problem: Problem, target: PlanTarget): boolean {
  const { m, n, k, batch, residual } = problem;
  // A tile of few rows is all latency: kernels without tiles do no worse.
  if (row.kind === "hopper") return k > 0 && Math.min(m, n) > mostSkinnyRows;
  if (row.kind === "thin")
    return (
      takesThin(problem) && thinShapeOf(row, { k, hasResidual: residual !== undefined }, target) !== undefined
    );
  if (row.kind !== "skinny") return true;
  return m <= row.rows && (row.rows === 1 || m > 1) && batch.length <= 3;
}

function packedReading(k: number, type: FloatStorage, microseconds: number): Reading {
  const line = packedLineBytes(k * bytesOfType(type));
  return { unit: "k", grain: 16, line, wholeGrain: 16, isForward: true, isPacked: true, microseconds };
}

/** As it lies, and packed along k; only the latter where it costs nothing and is better. */
function readingsOf(
  operand: Operand,
  outer: number,
  problem: Problem,
  options: ChooseOptions,
): readonly Reading[] {
  const unit = unitOf(operand, outer, problem.k);
  const { k } = problem;
  const [rows, columns, stride] = unit === "outer" ? [k, outer, operand.k] : [outer, k, operand.outer];
  const line = lineOf(operand, rows > 1 ? [stride] : []);
  const grain = Math.min(16, line);
  const wholeGrain = rows > 1 ? grain : Math.min(16, lineOf(operand, [columns]));
  const isForward = (rows === 1 || stride >= columns) && operand.batch.every((step) => step >= 0);
  const asIs: Reading = { unit, grain, line, wholeGrain, isForward, isPacked: false, microseconds: 0 };
  const packed = (microseconds: number) => [asIs, packedReading(k, options.type, microseconds)];
  const isOff = unit === "k" && isOffLines(line, k, options);
  if (options.isConstant(operand)) {
    // CUDA-core kernels take the constant as it lies, others rows along k alone, or in whole lines: packed for nothing.
    return unit === "k" && wholeGrain === 16 && !isOff ? [asIs] : packed(0);
  }
  const isWorthLines = isOff && line < sectorBytes && k >= longRow;
  if (unit !== undefined && wholeGrain === 16 && !isWorthLines) return [asIs];
  return packed(packMicroseconds(operand, outer, problem, options.target));
}

/** Whether TMA's pieces of rows lie in two lines each, as those of packed rows do not. */
function isOffLines(line: number, k: number, { type, target }: ChooseOptions): boolean {
  return type !== "float32" && target.features.wgmma && line < packedLineBytes(k * bytesOfType(type));
}

function unitOf(operand: Operand, outer: number, k: number): Reading["unit"] {
  if (operand.k === 1) return "k";
  if (operand.outer === 1 && outer > 1) return "outer";
  return k === 1 ? "k" : undefined;
}

/** Bytes up to a line that divide every address: the operand's, and `more` elements away. */
function lineOf(operand: Operand, more: readonly number[]): number {
  const bytes = bytesOfType(operand.view.type);
  const steps = [operand.view.offset, ...operand.batch, ...more];
  return (
    [128, 64, 32, 16, 8, 4, 2].find((grain) => steps.every((step) => (step * bytes) % grain === 0)) ?? bytes
  );
}

/** Undefined where the row does not take operands that are read so. */
function layoutOf(row: GemmRow, a: Reading, b: Reading, type: FloatStorage): Layout | undefined {
  const layout = `${a.unit === "outer" ? "m" : "k"}${b.unit === "outer" ? "n" : "k"}` as const;
  if (row.kind === "simt") return a.isPacked || b.isPacked ? undefined : layout;
  if (row.kind === "skinny") return takesSkinny(row, a, b, type) ? layout : undefined;
  if (row.kind === "hopper" || row.kind === "thin")
    return takesHopper(a) && takesHopper(b) ? layout : undefined;
  if (a.unit === undefined || b.unit === undefined || !row.layouts.includes(layout)) return undefined;
  const grain = Math.min(a.wholeGrain, b.wholeGrain);
  const isOdd = grain < 4;
  return row.odd === isOdd ? layout : undefined;
}

/** TMA knows where a row ends; rows that repeat or overlap, and steps backwards, are not for it. */
function takesHopper({ unit, grain, isForward }: Reading): boolean {
  return unit === "k" && grain === 16 && isForward;
}

function takesSkinny(row: SkinnyRow, a: Reading, b: Reading, type: FloatStorage): boolean {
  const bytes = skinnyShape(row, type).width * bytesOfType(type);
  if (row.along === "n") return !a.isPacked && b.unit === "outer" && b.grain >= bytes;
  return a.unit === "k" && b.unit === "k" && a.grain >= bytes && b.grain >= bytes;
}

interface Way {
  readonly row: GemmRow;
  readonly layout: Layout;
  readonly problem: Problem;
  readonly isSwapped: boolean;
  readonly a: Reading;
  readonly b: Reading;
  readonly size: GemmSize;
  readonly times: TimesOfSize<GemmRow>;
}

function* withSplits(way: Way, options: ChooseOptions): Generator<Candidate<Choice>> {
  const { row, layout, problem, isSwapped, a, b, size, times } = way;
  const { target, type } = options;
  const unit = splitUnit(row, type);
  const seen = new Set<number>();
  const isTeam = sumsInTeam(row);
  for (const wanted of countsOf(row)) {
    const kPerSplit = Math.max(unit, Math.ceil(problem.k / wanted / unit) * unit);
    const splits = Math.max(1, Math.ceil(problem.k / kPerSplit));
    if (isTeam && splits !== wanted) continue;
    if (seen.has(splits) || splits * size.m * size.n * size.batch * 4 > maxWorkspaceBytes) {
      if (splits > 1) continue;
    }
    seen.add(splits);
    const productMicroseconds = times(row, splits, () => microsecondsOf(row, size, splits, target));
    const sumMicroseconds = splits === 1 || isTeam ? 0 : splitMicroseconds(size, splits, target);
    const launch: Choice = {
      row,
      problem,
      isSwapped,
      layout,
      packA: a.isPacked,
      packB: b.isPacked,
      aGrain: row.kind === "tensor" ? a.wholeGrain : a.grain,
      bGrain: row.kind === "tensor" ? b.wholeGrain : b.grain,
      splits,
      kPerSplit,
      productMicroseconds,
      sumMicroseconds,
    };
    const microseconds = productMicroseconds + sumMicroseconds + a.microseconds + b.microseconds;
    if (options.accepts?.(launch, microseconds) !== false) yield { launch, microseconds };
  }
}

/** Eight blocks took longer to meet than their shorter parts of k saved: three products on an H100. */
const teamSizes = [2, 4];

function countsOf(row: GemmRow): readonly number[] {
  if (row.kind === "thin") return [1];
  return sumsInTeam(row) ? teamSizes : splitCounts;
}

/** Splits of k begin at multiples of this. */
function splitUnit(row: GemmRow, type: FloatStorage): number {
  if (row.kind === "thin") return 64;
  if (row.kind !== "skinny") return row.k;
  const { lanes, width } = skinnyShape(row, type);
  return row.along === "n" ? 32 : lanes * width;
}

function sizeOf(problem: Problem, type: FloatStorage, a: Reading, b: Reading): GemmSize {
  const { m, n, k, batch, d } = problem;
  return {
    m,
    n,
    k,
    type,
    batch: batch.reduce((total, size) => total * size, 1),
    outputBytes: bytesOfType(d.view.type),
    storeFactor: storeFactorOf(problem),
    storeWidth: storeWidthOf(problem),
    isSideBySide: isSideBySide(problem),
    residualBytes: problem.residual === undefined ? 0 : bytesMoved([problem.residual.view]),
    aGrain: a.grain,
    bGrain: b.grain,
    aLine: a.line,
    bLine: b.line,
    sharedA: problem.a.batch.every((stride) => stride === 0),
    sharedB: problem.b.batch.every((stride) => stride === 0),
    first: problem.first.kind,
  };
}

/** Pairs along n are the fast way out; single elements along m or n take half lines; others a sector each. */
function storeFactorOf({ d }: Problem): number {
  if (d.n === 1) return [d.view.offset, d.m, ...d.batch].every((step) => step % 2 === 0) ? 1 : 2;
  return d.m === 1 ? 3 : 16;
}

/** As `isOdd` of kernels/core/hopper-product.cuh has it. */
function isSideBySide({ a, d, residual, scale, bias, channels, first, last }: Problem): boolean {
  return (
    d.n === 1 &&
    d.view.type === a.view.type &&
    residual === undefined &&
    scale === undefined &&
    (bias === undefined || channels === "n") &&
    takesFormulas({ first: first.kind === "tanh" ? noActivation : first, last })
  );
}

function storeWidthOf({ d }: Problem): 8 | 2 | 1 {
  const steps = [d.view.offset, d.m, ...d.batch];
  if (d.n !== 1) return 1;
  return ([8, 2] as const).find((width) => steps.every((step) => step % width === 0)) ?? 1;
}

/** For the printed plan and `detail` of a launch. */
export function describeChoice({ row, problem, layout, isSwapped, splits, packA, packB }: Choice): string {
  const { m, n, k, batch } = problem;
  const name =
    row.kind === "skinny"
      ? `${row.rows} rows along ${row.along}${row.load === "one" ? "" : ` ${row.load}`}`
      : row.tile;
  const notes = [
    `${[...batch, m, n].join("x")}x${k}`,
    name,
    layout ?? "",
    isSwapped ? "swapped" : "",
    splits > 1 ? `split ${splits}` : "",
    packA ? "packed A" : "",
    packB ? "packed B" : "",
    row.kind === "tensor" || row.kind === "hopper"
      ? `${row.stages} stages of ${stageBytes(row) / 1024} KB`
      : "",
  ];
  return notes.filter((note) => note !== "").join(", ");
}
