/**
 * @file What conv.cu, conv-hopper.cu, conv-tma.cu, conv-halo.cu and conv-planes.cu instantiate, a macro's invocation for each row of the table: written to
 * <family>/entries.generated.cuh by `npm run kernels`.
 */
import { productLines, sumSizes } from "../gemm/entries.ts";
import { storageOf } from "./operands.ts";
import { type PlaneTile, planeTiles } from "./planes-table.ts";
import { type ConvTile, convTiles, sumsInTeam, threadsOf } from "./table.ts";

const maths = { f16: "HalfMath", bf16: "Bfloat16Math", tf32: "Tf32Math", f32: "Float32Math" } as const;
const cTypes = { float16: "__half", bfloat16: "__nv_bfloat16", float32: "float" } as const;
const rowTypes = { 1: "WholeRows", 2: "HalfRows", 4: "QuarterRows" } as const;

/** By family. */
export function convEntries(): ReadonlyMap<string, readonly string[]> {
  const products = (["conv", "conv-hopper", "conv-tma", "conv-halo"] as const).map((family) => {
    const lines = convTiles.filter((tile) => tile.family === family).flatMap(linesOf);
    return [family, lines] as const;
  });
  return new Map<string, readonly string[]>([...products, ["conv-planes", planeTiles.map(planeLineOf)]]);
}

/** Two groups multiply blocks of 64 positions. */
function planeLineOf({ entry, math, rows, filters }: PlaneTile): string {
  if (math === "codes") return `PLANES_OF_CODES(${entry}, ${filters}, ${rows / 128})`;
  return `PLANES(${entry}, ${cTypes[storageOf[math]]}, ${filters}, ${rows / 128})`;
}

function linesOf(tile: ConvTile): string[] {
  const { entry, walk, halo } = tile;
  if (halo !== undefined) {
    const sizes = [halo.channels, halo.patches, halo.filters, halo.stages, halo.blocks].join(", ");
    return [`HALO(${entry}, ${cTypes[tile.source]}, ${sizes})`];
  }
  if (walk === undefined) return [lineOf(tile)];
  const types = `${rowTypes[walk.panels]}, ${cTypes[tile.source]}`;
  if (sumsInTeam(tile)) return [`SUM(${entry}, ${types}, ${sumSizes(walk.product)})`];
  return productLines(walk.product, entry, (name, sizes) => `CONV(${name}, ${types}, ${sizes})`);
}

function lineOf(tile: ConvTile): string {
  const { family, entry, rows, filters, chunks, stages, warps, grain } = tile;
  const math = maths[tile.math];
  const sizes = [rows, filters, chunks, stages, ...warps].join(", ");
  const bound = boundOf(tile);
  if (family === "conv-hopper") return `HOPPER(${entry}, ${math}, ${sizes}, ${bound})`;
  if (grain === 0) return `GATHER(${entry}, ${math}, ${cTypes[tile.source]}, ${sizes}, ${bound})`;
  return `IMPLICIT(${entry}, ${math}, ${sizes}, ${grain}, ${bound})`;
}

/** Two blocks of 256 threads have too few registers where copies are in many pieces, or of TF32: before sm_90. */
function boundOf(tile: ConvTile): string {
  const isTight = (tile.grain !== 0 && tile.grain < 16) || tile.math === "tf32";
  return tile.blocks === 2 && threadsOf(tile) === 256 && isTight ? "TWO_IF_ROOM" : String(tile.blocks);
}
