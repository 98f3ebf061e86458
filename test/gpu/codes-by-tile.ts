/** @file Kernels of codes by name, whatever is chosen. */
import type { PlanTarget } from "../../cuda-runtime/ir/step.ts";
import type { StorageType } from "../../cuda-runtime/ir/storage.ts";
import type { TileChoice } from "../../cuda-runtime/kernels/gemm-int8/cost.ts";
import { codeTiles, nameOfTile, type Tile } from "../../cuda-runtime/kernels/gemm-int8/tiles.ts";

/** What only Hopper has. */
export const hopperTiles: readonly Tile[] = codeTiles.filter(({ kind }) => kind !== "mma");

/** For the end of a case's name. */
export function namedBy(tile: Tile | undefined): string {
  return tile === undefined ? "" : ` by ${nameOfTile(tile)}`;
}

/** `parts`: of a stage, where TMA walks through an image. On GPUs that lack the kernel, whatever there is. */
export function onlyBy(
  tile: Tile | undefined,
  { features }: PlanTarget,
  parts?: number,
): ((choice: TileChoice) => boolean) | undefined {
  if (tile === undefined || !features.wgmma) return undefined;
  return (choice) => choice.tile === tile && (parts === undefined || choice.parts === parts);
}

/** What it stores without a tail. */
export function storedBy(tile: Tile): readonly StorageType[] {
  const common = ["int8", "uint8", "float32"] as const;
  return tile.kind === "many" ? common : [...common, "int32", "float16", "bfloat16"];
}
