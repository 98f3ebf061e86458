/**
 * @file What the sources of the families of products instantiate, a macro's invocation for each row of the table: written to
 * <family>/entries.generated.cuh by `npm run kernels`.
 */
import type { FloatStorage } from "../../ir/storage.ts";
import { copiedEnds, hasCopiedEnds } from "./end-maps.ts";
import {
  blocksOfTeamRow,
  type GemmRow,
  gemmTable,
  type HopperRow,
  kernelOf,
  type SkinnyRow,
  skinnyShape,
  type TensorRow,
  type ThinRow,
} from "./table.ts";

const cTypes = { float16: "__half", bfloat16: "__nv_bfloat16", float32: "float" } as const;
const types = Object.keys(cTypes).filter((type): type is FloatStorage => type in cTypes);

/**
 * Blocks to a multiprocessor that the compiler has to leave registers for, by tile: fewer than there may be (`occupancy`) where
 * that many would make registers spill on some architecture.
 */
const launchBounds: Readonly<Record<string, number>> = {
  t256x128x64: 1,
  t128x128x64: 2,
  t128x64x64: 3,
  t64x128x64: 3,
  t64x64x64: 3,
  t32x128x64: 2,
  t32x64x64: 4,
  t16x64x64: 4,
  t128x128x32: 2,
  t128x64x32: 3,
  t64x64x32: 3,
  t32x64x32: 4,
  t16x64x32: 4,
};

/** By family. Throws for a tile whose registers nobody has looked at. */
export function gemmEntries(): ReadonlyMap<string, readonly string[]> {
  const lists = new Map<string, Set<string>>();
  for (const row of gemmTable) {
    for (const { family, line } of types.flatMap((type) => invocationsOf(row, type))) {
      const list = lists.get(family) ?? new Set();
      lists.set(family, list.add(line));
    }
  }
  return new Map([...lists].map(([family, lines]) => [family, [...lines]]));
}

interface Invocation {
  readonly family: string;
  readonly line: string;
}

function invocationsOf(row: GemmRow, type: FloatStorage): Invocation[] {
  const { family, entry } = kernelOf(row, type, undefined);
  switch (row.kind) {
    case "tensor":
      return tensorInvocations(row, type);
    case "hopper":
      return type === "float32" ? [] : hopperLines(row, entry, type).map((line) => ({ family, line }));
    case "thin":
      return type === "float32" ? [] : [{ family, line: thinLine(row, entry, type) }];
    case "simt":
      return [{ family, line: `SIMT(${entry}, ${row.m}, ${row.k}, ${row.occupancy})` }];
    case "skinny":
      return [{ family, line: skinnyLine(row, entry, type) }];
  }
}

function tensorInvocations(row: TensorRow, type: FloatStorage): Invocation[] {
  if ((row.arithmetic === "tf32") !== (type === "float32")) return [];
  const { tile, m, n, k, warpM, warpN, stages, odd } = row;
  const blocks = launchBounds[tile];
  if (blocks === undefined) throw new Error(`kernels/gemm/entries.ts has no launch bounds for ${tile}`);
  return row.layouts.map((layout) => {
    const { family, entry } = kernelOf(row, type, layout);
    const along = [layout.startsWith("k"), layout.endsWith("k")];
    const numbers = [m, n, k, warpM, warpN, stages, ...along, odd, blocks].join(", ");
    return { family, line: `TENSOR(${entry}, ${cTypes[type]}, ${numbers})` };
  });
}

function hopperLines(row: HopperRow, entry: string, type: FloatStorage): string[] {
  if (row.team === "sum") return [`SUM(${entry}, ${cTypes[type]}, ${sumSizes(row)})`];
  return productLines(row, entry, (name, sizes) => `HOPPER(${name}, ${cTypes[type]}, ${sizes})`);
}

/** One of each end that tiles can have. */
export function productLines(
  row: HopperRow,
  entry: string,
  line: (entry: string, sizes: string) => string,
): string[] {
  const sizes = productSizes(row);
  const plain = line(entry, `${sizes}, false`);
  return hasCopiedEnds(row) ? [plain, line(`${entry}${copiedEnds}`, `${sizes}, true`)] : [plain];
}

/** Arguments of HopperProduct: a group of warps takes 64 rows at a time, of its own tile or of its half of one. */
function productSizes({ m, n, stages, together }: HopperRow): string {
  return [together, m / (together ? 128 : 64), n, stages].join(", ");
}

/** Arguments of HopperSum, and how many blocks a multiprocessor has room for. */
export function sumSizes(row: HopperRow): string {
  return [row.m, row.n, row.stages, blocksOfTeamRow(row)].join(", ");
}

/** Arguments of ThinProduct: columns of a group, groups below each other and side by side. */
function thinLine({ m, n, width, blocks }: ThinRow, entry: string, type: FloatStorage): string {
  return `THIN(${entry}, ${cTypes[type]}, ${width}, ${m / 64}, ${n / width}, ${blocks})`;
}

function skinnyLine(row: SkinnyRow, entry: string, type: FloatStorage): string {
  const { threads, width, lanes } = skinnyShape(row, type);
  const sizes = [entry, cTypes[type], row.rows, width].join(", ");
  if (row.along === "k") return `SKINNY_K(${sizes}, ${threads})`;
  return `${row.along === "n" ? "SKINNY_N" : "SKINNY_SHORT"}(${sizes}, ${lanes}, ${threads})`;
}
