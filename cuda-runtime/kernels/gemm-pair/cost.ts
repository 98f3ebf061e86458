/** @file Predicted time of two products in one launch. */
import type { PlanTarget } from "../../ir/step.ts";
import { activationClocksOf } from "../gemm/end-cost.ts";
import type { PairOfProducts, PairWay } from "./pair.ts";
import { pairTileRows } from "./table.ts";

// Fitted to every way of 20 pairs of batch 1 on an H100 (bench/measurements/h100-pairs-of-products.jsonl), halfway between operands from DRAM and
// from L2: 5 % in the mean (test/cuda-runtime/cost/pair-ways.test.ts).

/** Behind the launch: until the first operands are there, and from the last result until it is stored. */
const startClocks = 330;
/** Of more rows. */
const manyClocks = 830;
const manyRows = 1024;
/** Blocks of the next launch find no room beside these, and begin later. */
const crowdClocks = 925;
/** Another block on the same multiprocessor. */
const waveClocks = 700;
/** Of a group, for each of its chunks of either product: waits, products, rounding. */
const [firstChunkClocks, secondChunkClocks] = [1110, 620];
/** Of an element of a result that is finished in registers. */
const elementClocks = 0.094;
/** Of a byte of the first product's operands, and of the second one's. */
const [operandClocks, weightClocks] = [0.0121, 0.016];
/** A team waits twice for its blocks, puts its sums down and adds them up. */
const teamClocks = 2070;
const sumClocks = 0.0635;
const cellClocks = 290;

export function pairMicroseconds(
  { first: { problem: p }, second: { problem: q } }: PairOfProducts,
  way: Omit<PairWay, "microseconds">,
  target: PlanTarget,
): number {
  const { row, team, columns, chunks, blocks, room } = way;
  const { multiprocessors } = target;
  const waves = Math.ceil(blocks / multiprocessors);
  const columnsOfSecond = chunks * row.chunk;
  const rounds =
    firstChunkClocks * Math.ceil(columns / row.chunk / row.groups) +
    secondChunkClocks * Math.ceil(chunks / row.groups);
  const [ofFirst, ofSecond] = [p, q].map(
    ({ first }) => elementClocks + activationClocksOf("thin", first.kind),
  );
  const results =
    pairTileRows * (columns * (ofFirst ?? 0) + (team > 1 ? 0 : columnsOfSecond * (ofSecond ?? 0)));
  const operands =
    2 * Math.ceil(p.k / 64) * 64 * (pairTileRows + columns) + (p.residual ? 2 * pairTileRows * columns : 0);
  const weights = 2 * Math.ceil(columns / 64) * 64 * columnsOfSecond;
  const each = results + operandClocks * operands + weightClocks * weights;
  const own =
    startClocks +
    (p.m >= manyRows ? manyClocks : 0) +
    (2 * blocks > multiprocessors * room ? crowdClocks : 0) +
    waveClocks * (waves - 1) +
    rounds +
    waves * each;
  const clocks = own + (team > 1 ? teamClocksOf(q.n, way) * waves : 0);
  return target.launchMicroseconds + clocks / target.clocksPerMicrosecond;
}

function teamClocksOf(n: number, { row, team, chunks }: Pick<PairWay, "row" | "team" | "chunks">): number {
  const cells = Math.ceil(((pairTileRows / team) * n) / 4 / (row.groups * 128));
  return teamClocks + sumClocks * 4 * pairTileRows * chunks * row.chunk + cellClocks * cells;
}
