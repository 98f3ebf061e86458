/** @file Products of codes: which kernel, and that the planner knows their memory as the sources lay it out. */
import { readFileSync } from "node:fs";
import { describe, expect, test } from "vitest";
import { h200 } from "../../../cuda-runtime/ir/step.ts";
import { cheapestTile, codeProductMicroseconds } from "../../../cuda-runtime/kernels/gemm-int8/cost.ts";
import { codeTiles, nameOfTile, walkParts } from "../../../cuda-runtime/kernels/gemm-int8/tiles.ts";

const kernels = new URL("../../../cuda-runtime/kernels/", import.meta.url);
const sourceOf = (file: string) => readFileSync(new URL(file, kernels), "utf8");
const onHopper = { ...h200, mayFetch: true, maySum: true, hasMany: true };

describe("tiles", () => {
  const source = sourceOf("gemm-int8-hopper/gemm-int8-hopper.cu");
  const walked = sourceOf("conv-int8-hopper/conv-int8-hopper.cu");
  const declared = [...source.matchAll(/_h(\d+)x(\d+), A, B, (true|false), (\d+), (\d+), (\d+)\)/g)].map(
    ([, ...parts]) => parts,
  );

  test("of Hopper are those that the source declares, and divide as it says", () => {
    const rows = codeTiles.flatMap((tile) => {
      if (tile.kind !== "hopper") return [];
      const { m, n, together, stages } = tile.likeHalves;
      const blocks = m / 64 / (together ? 2 : 1);
      return [[m, n, together, blocks, n, stages].map(String)];
    });
    expect(declared).toEqual(rows);
  });

  test("of convolutions on Hopper are those that the source declares", () => {
    const rows = [...walked.matchAll(/_h(\d+)x(\d+)_(\d), (\w+), A, B, (\d+), (\d+), (\d+)\)/g)].map(
      ([, ...parts]) => parts,
    );
    const names: Readonly<Record<number, string>> = { 1: "Whole", 2: "Halves", 4: "Quarters" };
    const expected = codeTiles.flatMap((tile) => {
      if (tile.kind !== "hopper") return [];
      const { m, n, stages, together } = tile.likeHalves;
      const parts = walkParts[nameOfTile(tile)] ?? [];
      expect(together && parts.length > 0).toBe(false);
      return parts.map((part) => [m, n, part, names[part], m / 64, n, stages].map(String));
    });
    expect(rows).toEqual(expected);
  });

  test("of teams that add up are those that both sources declare, for both types of a", () => {
    const found = [
      ...`${source}${walked}`.matchAll(
        /codes_(conv_)?\w8s8_(s\d+x\d+)_?(\d?), \w+, (\w)8, S8, (\d+), (\d+)\)/g,
      ),
    ];
    const rows = found.map(([, conv = "", name, parts, type, n, stages]) =>
      [conv, name, parts, type, n, stages].join(),
    );
    const expected = codeTiles.flatMap((tile) => {
      if (tile.kind !== "sum") return [];
      const name = nameOfTile(tile);
      const ways = ["", ...(walkParts[name] ?? []).map(String)];
      const { n, stages } = tile.likeHalves;
      return ways.flatMap((parts) =>
        ["S", "U"].map((type) => [parts === "" ? "" : "conv_", name, parts, type, n, stages].join()),
      );
    });
    expect(rows.toSorted()).toEqual(expected.toSorted());
  });

  test("of many warps are those that both sources declare, for both types of a", () => {
    const many = sourceOf("gemm-int8-codes/gemm-int8-codes.cu");
    const products = [...many.matchAll(/_([dt])(\d+)x(\d+), A, B, (\d+), (\d+), (\d+), (\d+), (\d+)\)/g)].map(
      ([, letter, m, n, blocks, ...rest]) => [letter, m, n, "", Number(blocks) * 64, ...rest].join(),
    );
    const walks = [
      ...walked.matchAll(/_([dt])(\d+)x(\d+)_(\d), \w+, A, B, (\d+), (\d+), (\d+), (\d+)\)/g),
    ].map(([, letter, m, n, parts, ...rest]) => [letter, m, n, parts, 64, ...rest].join());
    const expected = codeTiles.flatMap((tile) => {
      if (tile.kind !== "many") return [];
      const { m, n, groups, resident, likeHalves } = tile;
      const name = nameOfTile(tile);
      return ["", ...(walkParts[name] ?? [])].map((parts) =>
        [name[0], m, n, parts, m, n, likeHalves.stages, groups, resident].join(),
      );
    });
    expect([...products, ...walks].toSorted()).toEqual(expected.toSorted());
    for (const source of [many, walked]) {
      const types = [...source.matchAll(/_OF\((\w)8s8, \w8, S8\)/g)].map(([, type]) => type);
      expect(types).toEqual(["s", "u"]);
    }
  });

  test("fit in a block's shared memory", () => {
    for (const tile of codeTiles) {
      const resident = tile.kind === "mma" ? 1 : tile.resident;
      expect(resident * (tile.sharedBytes + h200.reservedSharedBytes)).toBeLessThanOrEqual(h200.sharedBytes);
    }
  });

  test("have room for what warps store from", () => {
    const [, rows, row, apart] =
      /kCodeSlabBytes = (\d+) \* \((\d+) \+ (\d+)\)/.exec(sourceOf("gemm-int8/code-epilogue.cuh")) ?? [];
    const slab = Number(rows) * (Number(row) + Number(apart));
    for (const tile of codeTiles) {
      if (tile.kind === "mma") expect((tile.threads / 32) * slab).toBeLessThanOrEqual(tile.sharedBytes);
      else {
        const { stages } = tile.likeHalves;
        const ring = stages * (tile.m + tile.n) * 128;
        const others =
          tile.kind === "sum"
            ? 2 * 64 * tile.n * 4 + 8 * 2 * stages
            : tile.groups * 3 * tile.n * 4 + 8 * (2 * stages + tile.groups);
        expect(tile.sharedBytes).toBe(ring + tile.groups * 4 * slab + others);
      }
    }
  });
});

describe("what is chosen", () => {
  const chosen = (m: number, n: number, k: number) => {
    const { tile } = cheapestTile({ m, n, k, batch: 1 }, { type: "int8" }, onHopper);
    return `${tile.kind} ${tile.m}x${tile.n}`;
  };

  test("small tiles where large ones leave most multiprocessors idle", () => {
    expect(["hopper 64x32", "many 64x32"]).toContain(chosen(128, 768, 768));
    expect(chosen(64, 512, 4608)).toBe("sum 64x32");
  });

  test("large ones for large products", () => {
    expect(["hopper 256x128", "hopper 128x256"]).toContain(chosen(8192, 8192, 8192));
  });

  test("mma where TMA does not take the operands", () => {
    const { tile } = cheapestTile(
      { m: 4096, n: 768, k: 768, batch: 1 },
      { type: "int8" },
      { ...onHopper, mayFetch: false },
    );
    expect(tile.kind).toBe("mma");
  });

  test("a product takes what one of halves does with half as many along k, and no less for fewer bytes", () => {
    const [tile] = codeTiles.filter(({ kind }) => kind === "hopper");
    if (tile === undefined) throw new Error("no tile");
    const time = (k: number, type: "int8" | "float16" | "float32") =>
      codeProductMicroseconds(
        { m: 8192, n: 8192, k, batch: 1 },
        { tile, parts: 1, walk: undefined, splits: 1 },
        { type },
        h200,
      );
    expect(time(8192, "int8")).toBe(time(8192, "float16"));
    expect(time(8192, "float32")).toBeGreaterThan(time(8192, "float16"));
    expect(time(16384, "int8")).toBeGreaterThan(1.8 * time(8192, "int8"));
  });
});
