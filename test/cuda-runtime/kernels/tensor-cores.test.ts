/** Which kernels multiply on Tensor Cores, as plans say it, is what the build finds in their machine code. */
import { existsSync, readdirSync, readFileSync } from "node:fs";
import path from "node:path";
import { describe, expect, it } from "vitest";
import { convTiles } from "../../../cuda-runtime/kernels/conv/table.ts";
import { multipliesOnTensorCores } from "../../../cuda-runtime/kernels/tensor-cores.ts";
import type { EntryFacts } from "../../../cuda-runtime/session/store.ts";

const root = path.resolve(import.meta.dirname, "../../..");
const built = path.join(root, "dist/cuda");
const isBuilt = existsSync(built);
if (!isBuilt) console.warn("dist/cuda is not here: kernels are not held to their machine code");

type Facts = Readonly<Record<string, Readonly<Record<string, EntryFacts>>>>;

/** The ladders' kernels are in no plan. */
function builtFiles(): string[] {
  return readdirSync(built).filter((name) => name.endsWith(".json") && name !== "ladder.json");
}

describe.skipIf(!isBuilt)("of every kernel that is built", () => {
  it.each(isBuilt ? builtFiles() : [])("%s: it is said whether it multiplies on Tensor Cores", (file) => {
    const family = path.basename(file, ".json");
    // What an older build left has no source any more.
    if (!existsSync(path.join(root, "cuda-runtime/kernels", family))) return;
    const facts: Facts = JSON.parse(readFileSync(path.join(built, file), "utf8"));
    const wrong = Object.values(facts).flatMap((entries) =>
      Object.entries(entries).flatMap(([entry, { tensor }]) =>
        multipliesOnTensorCores({ kind: "built", family, entry }) === (tensor !== null) ? [] : [entry],
      ),
    );
    expect(wrong).toEqual([]);
  });
});

it.each([
  ["gemm-hopper", "h64x64x64_f16", true],
  ["gemm-plain", "skinny_float16_k_4", false],
  ["conv", "conv_tf32_64x64", true],
  ["conv", "conv_f32_64x32", false],
  ["conv-planes", "conv_planes_pack_f16", false],
  ["attention", "attention_plain_d64", false],
  ["attention", "attention_f16_d64_w4_plain", true],
  ["depthwise", "depthwise_f16_diagonal_k7s1_4", true],
  ["depthwise", "depthwise_f16_k3s1_2x1", false],
  ["norm", "rownorm_f16_w8_warp1", false],
] as const)("%s/%s: %s", (family, entry, expected) => {
  expect(multipliesOnTensorCores({ kind: "built", family, entry })).toBe(expected);
});

it.each(convTiles.map((tile) => [tile.family, tile] as const))(
  "a convolution of %s says it by its numbers",
  (_, tile) => {
    const { family, entry, math } = tile;
    expect(multipliesOnTensorCores({ kind: "built", family, entry }), entry).toBe(math !== "f32");
  },
);

it("text that is compiled on the machine has none", () => {
  expect(multipliesOnTensorCores({ kind: "ptx", text: "", entry: "chain" })).toBe(false);
});
