/** @file How many blocks that stay a multiprocessor has: the host launches as many as the kernels are compiled for. */
import { readFileSync } from "node:fs";
import { expect, test } from "vitest";
import { convTiles, sumsInTeam } from "../../../cuda-runtime/kernels/conv/table.ts";
import { blocksThatStay, gemmTable } from "../../../cuda-runtime/kernels/gemm/table.ts";

const core = readFileSync(
  new URL("../../../cuda-runtime/kernels/core/hopper-product.cuh", import.meta.url),
  "utf8",
);
const rule =
  /int blocksOfProduct\(int rows, int columns, int panels\) \{ return rows \* columns <= (\d+) \* \(panels == 1 \? (\d+) : (\d+)\) \? (\d) : (\d); \}/;

/** As the header has it. */
function compiledFor(rows: number, columns: number, panels: number): number {
  const [rowsOfSmall = 0, whole = 0, inPieces = 0, small = 0, large = 0] =
    rule.exec(core)?.slice(1).map(Number) ?? [];
  return rows * columns <= rowsOfSmall * (panels === 1 ? whole : inPieces) ? small : large;
}

test("products of matrices", () => {
  const rows = gemmTable.flatMap((row) => (row.kind === "hopper" && row.team === "none" ? row : []));
  expect(rows.length).toBeGreaterThan(8);
  for (const row of rows) expect(blocksThatStay(row), row.tile).toBe(compiledFor(row.m, row.n, 1));
  expect(new Set(rows.map((row) => blocksThatStay(row)))).toEqual(new Set([1, 2]));
});

test("convolutions, whose rows may come in pieces", () => {
  const walks = convTiles.flatMap((tile) => (tile.walk !== undefined && !sumsInTeam(tile) ? tile.walk : []));
  expect(new Set(walks.map(({ panels }) => panels))).toEqual(new Set([1, 2, 4]));
  for (const { product, panels } of walks)
    expect(blocksThatStay(product, panels), `${product.tile}, ${panels}`).toBe(
      compiledFor(product.m, product.n, panels),
    );
});
