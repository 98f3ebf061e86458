/** @file Convolutions whose taps are read from patches of the image: which, and whether what is launched is what the kernel lays out. */
import { readFileSync } from "node:fs";
import { describe, expect, test } from "vitest";
import { type Activation, noActivation, plainEpilogue } from "../../../cuda-runtime/ir/epilogue.ts";
import type { FloatStorage } from "../../../cuda-runtime/ir/storage.ts";
import { channelsLastOrder, stridesOf, type View } from "../../../cuda-runtime/ir/view.ts";
import { haloOf } from "../../../cuda-runtime/kernels/conv/halo.ts";
import {
  groupsOf,
  haloSharedBytes,
  halos,
  patchBytesOf,
} from "../../../cuda-runtime/kernels/conv/halo-table.ts";
import { partsFor } from "../../../cuda-runtime/kernels/conv/operands.ts";
import { choiceOf } from "../../../cuda-runtime/kernels/conv/product.ts";
import { convTiles } from "../../../cuda-runtime/kernels/conv/table.ts";
import { machineNamed } from "../../../src/hardware/machine.ts";

const h100 = machineNamed("h100");
let nextId = 0;

function nhwc(shape: readonly number[], type: FloatStorage = "float16"): View {
  const buffer = { id: nextId++, kind: "temporary", bytes: 1 << 30, name: "" } as const;
  return { buffer, type, shape, strides: stridesOf(shape, channelsLastOrder(shape.length)), offset: 0 };
}

interface Asked {
  readonly x?: readonly number[];
  readonly w?: readonly number[];
  readonly stride?: number;
  readonly dilation?: number;
  readonly groups?: number;
  readonly output?: FloatStorage;
  readonly activation?: Activation;
  readonly last?: Activation;
  readonly adds?: boolean;
}

function partsOf(asked: Asked) {
  const { x = [32, 64, 56, 56], w = [64, 64, 3, 3], stride = 1, dilation = 1, groups = 1, output } = asked;
  const pads = w.slice(2).map((taps) => Math.floor(((taps - 1) * dilation) / 2));
  const size = x.slice(2).map((positions, axis) => {
    const reach = ((w[2 + axis] ?? 1) - 1) * dilation;
    return Math.floor((positions + 2 * (pads[axis] ?? 0) - reach - 1) / stride) + 1;
  });
  const y = [x[0] ?? 1, w[0] ?? 1, ...size];
  return partsFor(
    {
      ...{ x: nhwc(x), w: nhwc(w), to: nhwc(y, output), groups, pads },
      ...{ strides: pads.map(() => stride), dilations: pads.map(() => dilation) },
      epilogue: {
        ...plainEpilogue,
        activation: asked.activation ?? noActivation,
        last: asked.last ?? noActivation,
        residual: asked.adds === true ? nhwc(y) : undefined,
      },
    },
    "f16",
  );
}

const activation = (kind: Activation["kind"]): Activation => ({ kind, a: 1, b: 2 });

describe("which convolutions", () => {
  test.each<[string, Asked, number, number]>([
    ["a window of 3 x 3", {}, 32 * 7 * 7, 100],
    ["outputs that fill no patch", { x: [3, 64, 14, 20] }, 3 * 2 * 3, 100],
    ["dilations", { dilation: 2 }, 32 * 7 * 7, 144],
    ["one axis", { x: [2, 64, 301], w: [64, 64, 5] }, 2 * 38, 8 * 12],
    ["one filter", { w: [1, 64, 3, 3] }, 32 * 49, 100],
    ["a residual behind a formula", { adds: true, activation: activation("silu") }, 32 * 49, 100],
    ["limits behind a residual", { adds: true, last: activation("clip") }, 32 * 49, 100],
    ["gelu", { activation: activation("gelu") }, 32 * 49, 100],
  ])("%s", (_, asked, patches, positions) => {
    expect(haloOf(partsOf(asked))).toMatchObject({ patches, positions });
  });

  test.each<[string, Asked]>([
    ["a stride", { stride: 2 }],
    ["one tap", { w: [64, 64, 1, 1] }],
    ["groups", { w: [64, 32, 3, 3], groups: 2 }],
    ["a volume", { x: [1, 64, 8, 8, 8], w: [64, 64, 3, 3, 3] }],
    ["an odd number of filters in front of a residual", { w: [63, 64, 3, 3], adds: true }],
    ["another type", { output: "float32" }],
    ["gelu in front of a residual", { adds: true, activation: activation("gelu") }],
    ["a formula that the end lacks", { activation: activation("sigmoid") }],
    ["limits at the very end, with nothing added", { last: activation("relu") }],
    ["a patch that no box of TMA holds", { dilation: 130, x: [1, 64, 512, 512] }],
  ])("not %s", (_, asked) => {
    expect(haloOf(partsOf(asked))).toBeUndefined();
  });

  test("are chosen for few channels of many positions, not where positions are few", () => {
    expect(choiceOf(partsOf({}), h100)?.launch.tile.family).toBe("conv-halo");
    expect(choiceOf(partsOf({ x: [1, 512, 7, 7], w: [512, 512, 3, 3] }), h100)?.launch.tile.family).toBe(
      "conv-tma",
    );
  });

  test("a window that shared memory has no room for is no candidate", () => {
    const tile = convTiles.find(({ entry }) => entry === "conv_f16_p256x128");
    const wide = partsOf({ w: [128, 64, 5, 5] });
    expect(choiceOf(wide, h100, (choice) => choice.tile === tile)).toBeUndefined();
    expect(choiceOf(partsOf({ w: [128, 64, 3, 3] }), h100, (choice) => choice.tile === tile)).toBeDefined();
  });
});

describe("shared memory", () => {
  const source = readFileSync(
    new URL("../../../cuda-runtime/kernels/conv-halo/halo-product.cuh", import.meta.url),
    "utf8",
  );
  const constantOf = (name: string) => Number(new RegExp(`int ${name} = (\\d+);`).exec(source)?.[1]);

  test("is laid out as the kernel has it", () => {
    expect(source).toContain("static constexpr int kGroups = PATCHES > 1 ? 2 : 1;");
    for (const halo of halos) {
      const { patches, channels, filters, stages } = halo;
      const warps = groupsOf(halo) * 4;
      const ends = warps * 16 * (Math.min(64, filters) * 2 + 16);
      const patchesAt =
        Math.ceil((stages * filters * channels * 2 + constantOf("kBarrierBytes") + ends) / 1024) * 1024;
      const bytes = patchesAt + constantOf("kRounds") * patches * patchBytesOf(100, channels);
      expect(haloSharedBytes(halo, 100), JSON.stringify(halo)).toBe(bytes);
      expect((2 * constantOf("kRounds") + 2 * stages) * 8).toBeLessThanOrEqual(constantOf("kBarrierBytes"));
    }
  });

  test("has room for as many blocks of 3 x 3 as registers have", () => {
    for (const halo of halos) {
      const bytes = haloSharedBytes(halo, 100);
      expect(bytes).toBeLessThanOrEqual(h100.sharedBytesPerBlock);
      expect(halo.blocks * (bytes + h100.reservedSharedBytes)).toBeLessThanOrEqual(h100.sharedBytes);
    }
  });
});
