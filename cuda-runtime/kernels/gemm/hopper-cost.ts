/** @file What a product of matrices costs whose blocks stay, fed by TMA (kernels/core): fitted to tiles with all three kinds of ends. */
import type { ActivationKind } from "../../ir/epilogue.ts";
import type { PlanTarget } from "../../ir/step.ts";
import type { GemmSize } from "./cost.ts";
import { activationClocksOf } from "./end-cost.ts";
import { hasCopiedEnds } from "./end-maps.ts";
import { clocksOfLine, fetchClocks, type LineClocks, sharedBytesOfStep } from "./staying-cost.ts";
import { blocksThatStay, type HopperRow } from "./table.ts";

/**
 * How a multiprocessor's groups of warps meet: two of one block share a tile; two of one block take turns, and one multiplies while the
 * other stores; or two blocks of small tiles, whose groups take turns.
 */
type Way = "together" | "turns" | "pairs";

interface ByWay {
  readonly together: number;
  readonly turns: number;
  readonly pairs: number;
}

/** For an element: of the tile's end; and of the next tile's products, which the other group computes meanwhile. */
interface OfElement {
  readonly end: ByWay;
  readonly meanwhile: Omit<ByWay, "together">;
}

/**
 * In clocks of a multiprocessor unless it says otherwise. Of 97 products on an H100 by each of eleven tiles, with nothing, with a bias and GELU, with
 * a bias and a residual (bench/measurements/h100-gemm-ends.jsonl), and of large tiles on an H200 (bench/measurements/h200-gemm-sweep.jsonl). What
 * is taken for the 97, of these kernels, thin ones and teams, takes 3.6 % more than the best in the mean (5.3 % by hopperRates, which products
 * with other ends keep). Fitted to two thirds of the sizes, tiles within 15 % of the best are predicted within 6 % in the median for the others.
 */
const rates = {
  /** Beside the launch. */
  start: 1038,
  /** Of what is shorter, the products or DRAM, what does not hide behind the other. */
  exposed: 0.303,
  /** Of a step along k, beside its products. */
  step: { together: 0, turns: 0, pairs: 173 },
  /** Of shared memory's rate, what groups that multiply together get: each reads its operands, and TMA writes the next ones. */
  sharedShare: 1.045,
  /**
   * Of what the copy engine was thought to fetch: at first, and where a block has more than so many tiles: clocks fall, and L2 does not hold what
   * all ask for. The last one is by 8192³, 1,654 µs by 256 x 128 and 1,885 by 128 x 192.
   */
  copies: { once: 1.35, long: 1.3, longest: 0.96 },
  /** Of DRAM's rate: where each block has one tile, all ask for pieces of 128 bytes of long rows at once; and of more tiles. */
  dramShares: { few: 0.85, many: 1 },
  /** Of two blocks' tiles one after another, however short: 401408x16x32 takes 30 µs by 64 x 32, 17 by thin tiles. */
  leastOfPairs: 2100,
  end: { together: 1807, turns: 658, pairs: 557 },
  stored: { end: { together: 0, turns: 0.034, pairs: 0 }, meanwhile: { turns: 0.079, pairs: 0.075 } },
  gelu: { end: { together: 0.196, turns: 0.176, pairs: 0.221 }, meanwhile: { turns: 0.075, pairs: 0.033 } },
  /** More of a formula where a group has two blocks of rows: 23328x4304x1152 takes 461 µs by 256 x 128, 431 by 128 x 256. */
  geluOfTall: 0.06,
  residual: {
    end: { together: 0.187, turns: 0.182, pairs: 0.269 },
    meanwhile: { turns: 0.093, pairs: 0.016 },
  },
  /** For an element of ends that go through registers, a part of a tile after another: a residual, a formula. */
  parts: { residual: 0.848, formula: 0.364 },
  /** For an element of rows off 16 bytes, which lanes store side by side: of even rows, and of odd ones (h100-gemm-lines.jsonl). */
  sideBySide: {
    even: { together: 0.43, turns: 0.17, pairs: 0.1 },
    odd: { together: 0.55, turns: 0.28, pairs: 0.15 },
  },
} as const;

/** Tiles of a block, beyond which the copy engine gets less. */
const [manyTiles, mostTiles] = [4, 10];
/** Of a step of tiles of so many columns, beside its products (h100-gemm-widths.jsonl: those of 224 take 8 % longer than by their products). */
const stepOfColumns: ReadonlyMap<number, number> = new Map([
  [224, 72],
  [256, 38],
]);
const tallRows = 256;
/** Formulas that a tile's end is compiled for (core/plain-end.cuh), but where its columns leave no registers. */
const formulas: ReadonlySet<ActivationKind> = new Set(["gelu", "geluTanh", "silu"]);
const columnsWithoutFormulas = 160;

/** Whether a row's ends have registers for formulas that are compiled in, and for stores side by side. */
export function hasRegistersForEnds({ n }: Pick<HopperRow, "n">): boolean {
  return n !== columnsWithoutFormulas;
}

function wayOf(row: HopperRow): Way {
  if (row.together) return "together";
  return blocksThatStay(row) === 2 ? "pairs" : "turns";
}

/** Clocks for an element of a tile, in all: of its end, and of the products meanwhile. */
function elementClocks(row: HopperRow, size: GemmSize): { readonly end: number; readonly meanwhile: number } {
  const way = wayOf(row);
  const of = ({ end, meanwhile }: OfElement, times: number) => ({
    end: end[way] * times,
    meanwhile: way === "together" ? 0 : meanwhile[way] * times,
  });
  const parts = (clocks: number) => ({ end: clocks, meanwhile: clocks });
  const each = [of(rates.stored, 1)];
  if (size.storeWidth < 8) each.push(parts(rates.sideBySide[size.storeWidth === 2 ? "even" : "odd"][way]));
  const formula = activationClocksOf("staying", size.first) / activationClocksOf("staying", "gelu");
  const isCompiled = formulas.has(size.first) && hasRegistersForEnds(row);
  if (isCompiled && size.residualBytes === 0) each.push(of(rates.gelu, formula));
  else each.push(parts(rates.parts.formula * formula));
  if (row.m === tallRows) each.push({ end: rates.geluOfTall * formula, meanwhile: 0 });
  if (size.residualBytes > 0)
    each.push(hasCopiedEnds(row) ? of(rates.residual, 1) : parts(rates.parts.residual));
  return {
    end: each.reduce((total, { end }) => total + end, 0),
    meanwhile: each.reduce((total, { meanwhile }) => total + meanwhile, 0),
  };
}

/** Whether its ends are those that the rates are of: halves in whole groups of eight, or in rows that are stored side by side. */
export function hasUsualEnds(row: HopperRow, size: GemmSize): boolean {
  const { storeWidth, storeFactor, outputBytes, isSideBySide } = size;
  if (outputBytes !== 2) return false;
  return storeWidth === 8 ? storeFactor === 1 : isSideBySide && hasRegistersForEnds(row);
}

/** Beside the launch, of usual ends. `memory`: clocks of operands read and results written once, at DRAM's rate. */
export function hopperClocks(row: HopperRow, size: GemmSize, memory: number, target: PlanTarget): number {
  const tiles = Math.ceil(size.m / row.m) * Math.ceil(size.n / row.n) * size.batch;
  const residual = size.residualBytes / (target.bytesPerClock.dram * target.multiprocessors);
  const moved = (memory + residual) / rates.dramShares[tiles <= target.multiprocessors ? "few" : "many"];
  const compute = computeClocks(row, size, tiles, target);
  const short = size.k < shortRow ? shortRowsClocks(size, target) : 0;
  return rates.start + Math.max(compute, moved) + rates.exposed * Math.min(compute, moved) + short;
}

/** Elements of 64 bytes. */
const shortRow = 32;

/**
 * Of a multiprocessor for its share of rows that are shorter than that, by the bytes that they begin at multiples of: 100352x144x24 takes 22 to 50 us by these
 * tiles and 13 by thin ones, 401408x96x16 38 to 112 and 26 (bench/measurements/h200-short-rows.jsonl); rows
 * of 64 bytes show nothing of it.
 */
const shortRowClocks: LineClocks = [
  [64, 0],
  [32, 9],
  [0, 27],
];

function shortRowsClocks({ m, n, batch, aLine, bLine }: GemmSize, { multiprocessors }: PlanTarget): number {
  const of = (bytes: number) => clocksOfLine(shortRowClocks, bytes);
  return ((m * of(aLine) + n * of(bLine)) * batch) / multiprocessors;
}

function computeClocks(row: HopperRow, size: GemmSize, tiles: number, target: PlanTarget): number {
  const way = wayOf(row);
  const waves = tiles / target.multiprocessors;
  const each = elementClocks(row, size);
  const elements = (row.m * row.n) / (row.together ? 2 : 1);
  const end = rates.end[way] + each.end * elements;
  const steps = Math.ceil(size.k / row.k);
  const product = steps * stepClocks(row, size, way, waves, target);
  if (way === "together") return Math.ceil(waves) * (product + end);
  const blocks = way === "pairs" ? 2 : 1;
  const hidden = Math.max(product, (product + end) / 2);
  const overlapped = product + Math.min(blocks, Math.ceil(waves)) * each.meanwhile * elements;
  const perTile = Math.max(overlapped, hidden, way === "pairs" ? rates.leastOfPairs : 0);
  // The last tile has no next one.
  return (Math.ceil(waves / blocks) - 1) * perTile + hidden + end;
}

function stepClocks(row: HopperRow, size: GemmSize, way: Way, waves: number, target: PlanTarget): number {
  const multiply = (2 * row.m * row.n * row.k) / target.flopPerClock.wgmma;
  const { once, long, longest } = rates.copies;
  const copies = waves > mostTiles ? longest : waves > manyTiles ? long : once;
  const fetch = fetchClocks(row, { ...size, rowClocks: 0 }, waves, copies, target);
  const alone = multiply + rates.step[way] + (row.together ? (stepOfColumns.get(row.n) ?? 0) : 0);
  if (way === "pairs") {
    const together = Math.min(2, Math.ceil(waves));
    return Math.max(alone, together * multiply, together * fetch);
  }
  if (way === "turns") return Math.max(alone, fetch);
  const shared = sharedBytesOfStep(row) / (target.bytesPerClock.shared * rates.sharedShare);
  return Math.max(alone, shared, fetch);
}
