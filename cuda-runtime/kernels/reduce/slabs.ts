/** @file Sums and maxima of columns in one launch: how channels and rows are shared out among blocks. */
import { cheapest } from "../../cost/candidate.ts";
import { bytesMoved } from "../../cost/predict.ts";
import { writeParams } from "../../ir/param-table.ts";
import type { Launch, PlanTarget } from "../../ir/step.ts";
import { bytesOfType, storageTypes } from "../../ir/storage.ts";
import { slabReduceStruct } from "./params.table.ts";
import { postCodes, preCodes, type ReduceRequest, type ReduceShape } from "./reduction.ts";

const threads = 256;
const unrolled = 8;
const lanesThereAre = [2, 4, 8, 16, 32] as const;
const teamsThereAre = [1, 2, 4, 8, 16] as const;
/** The grid's second axis. */
const mostBatch = 65_535;
/** Rows that a thread reads before another walk, which cuts them into as many parts as it likes, is ahead. */
const mostRounds = 64;

export interface Slabs {
  readonly rows: number;
  readonly columns: number;
  readonly batch: number;
  readonly lanes: number;
  /** Blocks of a cluster, which take rows in turn. */
  readonly team: number;
  /** Of columns. */
  readonly tiles: number;
  readonly microseconds: number;
  /** In elements: of the input along the batch and along rows, of the output along the batch and along columns. */
  readonly strides: readonly [number, number, number, number];
}

/** The fastest; undefined where rows are too many for the blocks that there would be. `walk` is "columns" already. */
export function slabsOf(request: ReduceRequest, shape: ReduceShape, target: PlanTarget): Slabs | undefined {
  const best = cheapest(
    slabWays(request, shape, target).map((slabs) => ({ launch: slabs, microseconds: slabs.microseconds })),
  )?.launch;
  const isShort = best !== undefined && loadsOf(best) <= mostRounds;
  return isShort || (best !== undefined && blocksOf(best) >= target.multiprocessors) ? best : undefined;
}

/** By every number of lanes and blocks that have something to do. */
export function slabWays(
  { input }: ReduceRequest,
  { kept, reduced }: ReduceShape,
  target: PlanTarget,
): Slabs[] {
  const [axis, outer] = [kept.at(-1), kept.at(-2)];
  const [along] = reduced;
  const batch = outer?.size ?? 1;
  if (axis === undefined || along === undefined || kept.length > 2 || batch > mostBatch) return [];
  const [columns, rows] = [axis.size, along.size];
  const vectors = Math.ceil(columns / (16 / bytesOfType(input.type)));
  const bytes = bytesMoved([input]);
  const strides = [outer?.strides[0], along.strides[0], outer?.strides[1], axis.strides[1]];
  const [xBatch = 0, xRow = 0, yBatch = 0, yColumn = 0] = strides;
  return lanesThereAre.flatMap((lanes) =>
    teamsThereAre.flatMap((team) => {
      const isIdle = (lanes > 2 && lanes / 2 >= vectors) || (team > 1 && team > (rows * lanes) / threads);
      if (isIdle || (team > 1 && !target.features.clusters)) return [];
      const cut = { rows, columns, batch, lanes, team, tiles: Math.ceil(vectors / lanes) };
      const microseconds = slabMicroseconds(cut, bytes, target);
      return [{ ...cut, microseconds, strides: [xBatch, xRow, yBatch, yColumn] as const }];
    }),
  );
}

type Cut = Omit<Slabs, "microseconds" | "strides">;

/** Of a thread, one after another. */
function loadsOf({ rows, lanes, team }: Cut): number {
  return Math.ceil(rows / ((threads / lanes) * team));
}

function blocksOf({ tiles, team, batch }: Cut): number {
  return tiles * team * batch;
}

// Fitted to every way of 26 means on an H100, halfway between operands from DRAM and from L2 (bench/measurements/h100-column-means.jsonl): 5 % in the
// mean, and what is taken within 4 % of the fastest (test/cuda-runtime/cost/mean-ways.test.ts). In clocks.

/** Behind the launch: until the first rows are there, and from the last sums until they are stored. */
const startClocks = 535;
/** Of loads that are in flight together; of each of them; of each of another block's on the same multiprocessor. */
const [roundClocks, loadClocks, busyClocks] = [456, 48, 23];
/** Another block on the same multiprocessor; one of a team waits for the others as well. */
const [blockClocks, teamBlockClocks] = [629, 411];
/** Of rows that a warp's lanes join. */
const stepClocks = 94;
const teamClocks = 1065;
const blockOfTeamClocks = 40;
/** Of what DRAM takes for all bytes; where a row of the tile is no more than a sector, more. */
const [dramShare, narrowShare] = [0.61, 0.26];

function slabMicroseconds(cut: Cut, bytes: number, target: PlanTarget): number {
  const { lanes, team } = cut;
  const beside = Math.max(0, blocksOf(cut) / target.multiprocessors - 1);
  const loads = loadsOf(cut);
  const clocks =
    startClocks +
    roundClocks * Math.ceil(loads / unrolled) +
    loads * (loadClocks + busyClocks * beside) +
    blockClocks * beside +
    stepClocks * Math.log2(32 / lanes) +
    (team > 1 ? teamClocks + blockOfTeamClocks * team + teamBlockClocks * beside : 0);
  const memory = (bytes / target.bandwidth.dram) * (dramShare + (lanes === 2 ? narrowShare : 0));
  return target.launchMicroseconds + clocks / target.clocksPerMicrosecond + memory;
}

/** `request` has no minimum: that is the maximum of the opposites. */
export function slabLaunch(request: ReduceRequest, slabs: Slabs): Launch {
  const { input, output, combine, pre, post, divisor } = request;
  const { rows, columns, batch, lanes, team, tiles, strides } = slabs;
  const [xBatch, xRow, yBatch, yColumn] = strides;
  return {
    kernel: {
      kind: "built",
      family: "reduce",
      entry: `reduce_slab_${combine === "sum" ? "sum" : "max"}_${input.type}`,
    },
    grid: [tiles * team, batch, 1],
    cluster: team > 1 ? [team, 1, 1] : undefined,
    block: [threads, 1, 1],
    sharedBytes: 0,
    params: writeParams(slabReduceStruct, {
      ...{ x: input, y: output, xBatch, yBatch, xRow, yColumn, columns, rows, lanes },
      ...{ pre: preCodes[pre], post: postCodes[post], divisor, yType: storageTypes[output.type].code },
    }),
    reads: [input],
    writes: [output],
    predictedMicroseconds: slabs.microseconds,
    detail: `${batch}x${columns} of ${rows}, ${lanes} lanes${team > 1 ? `, a team of ${team}` : ""}`,
  };
}
