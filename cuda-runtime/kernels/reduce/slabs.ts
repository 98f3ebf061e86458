/** @file Sums and maxima of columns in one launch: how channels and rows are shared out among blocks. */
import { bytesMoved, passMicroseconds } from "../../cost/predict.ts";
import { writeParams } from "../../ir/param-table.ts";
import type { Launch, PlanTarget } from "../../ir/step.ts";
import { bytesOfType, storageTypes } from "../../ir/storage.ts";
import { slabReduceStruct } from "./params.table.ts";
import { postCodes, preCodes, type ReduceRequest, type ReduceShape } from "./reduce.ts";

const threads = 256;
const unrolled = 8;
const mostLanes = 32;
/** Of a sector's 32 bytes. */
const leastLanes = 2;
const mostTeam = 16;
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
  /** In elements: of the input along the batch and along rows, of the output along the batch and along columns. */
  readonly strides: readonly [number, number, number, number];
}

/** Undefined where rows are too many for the blocks that there would be. `walk` is "columns" already. */
export function slabsOf(
  { input }: ReduceRequest,
  { kept, reduced }: ReduceShape,
  target: PlanTarget,
): Slabs | undefined {
  const [axis, outer] = [kept.at(-1), kept.at(-2)];
  const [rows] = reduced;
  const batch = outer?.size ?? 1;
  if (axis === undefined || rows === undefined || kept.length > 2 || batch > mostBatch) return undefined;
  const perVector = 16 / bytesOfType(input.type);
  const vectors = Math.ceil(axis.size / perVector);
  const teamOf = (lanes: number, tiles: number) => {
    const most = target.features.clusters ? mostTeam : 1;
    const pay = Math.ceil(rows.size / ((threads / lanes) * 4));
    let team = 1;
    while (2 * team <= Math.min(most, pay) && 2 * team * tiles * batch <= 2 * target.multiprocessors)
      team *= 2;
    return team;
  };
  let lanes = mostLanes;
  while (lanes > leastLanes && lanes / 2 >= vectors) lanes /= 2;
  const blocksOf = (own: number) => {
    const tiles = Math.ceil(vectors / own);
    return tiles * batch * teamOf(own, tiles);
  };
  while (lanes > leastLanes && blocksOf(lanes) < target.multiprocessors / 3) lanes /= 2;
  const tiles = Math.ceil(vectors / lanes);
  const team = teamOf(lanes, tiles);
  const slabs: Slabs = {
    ...{ rows: rows.size, columns: axis.size, batch, lanes, team, tiles },
    strides: [outer?.strides[0] ?? 0, rows.strides[0] ?? 0, outer?.strides[1] ?? 0, axis.strides[1] ?? 0],
  };
  return roundsOf(slabs) > mostRounds && tiles * batch * team < target.multiprocessors ? undefined : slabs;
}

/** Rows that a thread reads. */
function roundsOf({ rows, lanes, team }: Slabs): number {
  return Math.ceil(rows / ((threads / lanes) * team));
}

/** What is joined before a result is there, in loads that are waited for. */
const joinRounds = { alone: 1, team: 2.5 } as const;

/** `request` has no minimum: that is the maximum of the opposites. */
export function slabLaunch(request: ReduceRequest, slabs: Slabs, target: PlanTarget): Launch {
  const { input, output, combine, pre, post, divisor } = request;
  const { rows, columns, batch, lanes, team, tiles, strides } = slabs;
  const [xBatch, xRow, yBatch, yColumn] = strides;
  const rounds = Math.ceil(roundsOf(slabs) / unrolled) + joinRounds[team > 1 ? "team" : "alone"];
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
    predictedMicroseconds: passMicroseconds({ bytes: bytesMoved([input, output]), rounds }, target),
    detail: `${batch}x${columns} of ${rows}, ${lanes} lanes${team > 1 ? `, a team of ${team}` : ""}`,
  };
}
