/** @file Which tile attention on Tensor Cores takes, and in how many splits of the keys. */
import { type Candidate, cheapest } from "../../cost/candidate.ts";
import type { PlanTarget } from "../../ir/step.ts";
import { type AttentionWork, combineMicroseconds, tileMicroseconds } from "./cost.ts";
import { type AttentionSize, type TensorTile, tensorTiles } from "./tiles.ts";

export interface AttentionChoice {
  readonly tile: TensorTile;
  readonly splits: number;
  /** Predicted, of the tiles' own launch, and of the one that adds up its splits (0 without). */
  readonly tileMicroseconds: number;
  readonly combineMicroseconds: number;
}

/** Tiles that hold the heads and have what masks need; none fits some sizes on some GPUs. */
export function fittingTiles(
  { dim, isMasked }: Pick<AttentionSize, "dim" | "isMasked">,
  target: PlanTarget,
): readonly TensorTile[] {
  return tensorTiles.filter(
    (tile) =>
      tile.headDim >= dim &&
      (tile.hopper === undefined || target.features.wgmma) &&
      (isMasked ? tile.isMasked : tile.isPlain) &&
      tile.sharedBytes <= target.sharedBytesPerBlock,
  );
}

/** Of a split: fewer are done before the sum of splits has been launched. */
const minimumSplitKeys = 512;
/** So few queries of a long cache leave a sum of splits next to nothing to read: steps are nothing but their wait for keys. */
const fewQueries = 16;
const longCacheKeys = 1024;
const minimumSplitKeysOfFew = 128;

/** All that are possible. */
export function attentionCandidates(
  work: AttentionWork,
  tiles: readonly TensorTile[],
  target: PlanTarget,
): Candidate<AttentionChoice>[] {
  return tiles.flatMap((tile) =>
    splitsOf(work, tile, target).map((splits) => {
      const launch = {
        tile,
        splits,
        tileMicroseconds: tileMicroseconds(work, tile, splits, target),
        combineMicroseconds: combineMicroseconds(work, splits, target),
      };
      return { launch, microseconds: launch.tileMicroseconds + launch.combineMicroseconds };
    }),
  );
}

/** Undefined where there is no tile. */
export function chooseAttention(
  work: AttentionWork,
  tiles: readonly TensorTile[],
  target: PlanTarget,
): Candidate<AttentionChoice> | undefined {
  return cheapest(attentionCandidates(work, tiles, target));
}

/** Splits where queries and heads leave more than half of the GPU idle: up to a block for each multiprocessor. */
function splitsOf({ blocks, queries, keys }: AttentionSize, tile: TensorTile, target: PlanTarget): number[] {
  if (tile.isApart) return [1];
  const unsplit = blocks * Math.ceil(queries / tile.queries);
  const isLongCache = queries <= fewQueries && keys >= longCacheKeys;
  const least = isLongCache ? minimumSplitKeysOfFew : minimumSplitKeys;
  const most = Math.min(
    Math.floor((target.multiprocessors * (tile.hopper?.blocks ?? 1)) / unsplit),
    Math.floor(keys / least),
  );
  return Array.from({ length: Math.max(1, most) }, (_, index) => index + 1);
}
