/** @file Convolutions of few channels over planes on the GPU, by each kernel, against loops in double precision. */
import { planeTiles, type PlaneTile as Tile } from "../../../cuda-runtime/kernels/conv/planes-table.ts";
import type { KernelCase } from "../../../cuda-runtime/session/harness.ts";
import { activation, check, hasWgmma, type Spec } from "./conv.ts";

/** Of floats: codes' are among those of codes (codes-tail.ts). */
type PlaneTile = Tile & { readonly math: "f16" | "bf16" };
function isOfFloats(tile: Tile): tile is PlaneTile {
  return tile.math !== "codes";
}

type Changes = Omit<Spec, "name" | "math" | "planes">;

function spec(tile: PlaneTile, name: string, changes: Changes): Spec {
  return {
    name: `${tile.entry}, ${name}`,
    math: tile.math,
    affine: "bias",
    needs: hasWgmma,
    planes: (each) => each === tile,
    ...changes,
  };
}

/** Each kernel, on sizes that fill no tile. */
function tileSpecs(tile: PlaneTile): Spec[] {
  const { filters } = tile;
  const of = (name: string, changes: Changes) => spec(tile, name, changes);
  return [
    of("7x7 of stride 2", {
      x: [3, 3, 61, 58],
      w: [filters, 3, 7, 7],
      strides: [2, 2],
      pads: [3, 3, 3, 3],
      activation: activation("relu"),
    }),
    of("3x3 of stride 2, fewer filters, planar floats", {
      x: [2, 3, 75, 71],
      w: [filters - 8, 3, 3, 3],
      strides: [2, 2],
      pads: [1, 1, 1, 1],
      layout: "nchw",
      source: "float32",
      activation: activation("silu", 1),
    }),
    of("5x3 of 4 channels, an odd number of taps, two tiles of filters", {
      x: [2, 4, 33, 35],
      w: [filters + 8, 4, 5, 3],
      pads: [2, 1, 2, 1],
      affine: "both",
      activation: activation("hardSwish", 1 / 6, 0.5),
    }),
    // Stages are used again: a block has more tiles than its ring.
    of("many tiles", { x: [300, 1, 66, 66], w: [8, 1, 3, 3], pads: [1, 1, 1, 1] }),
    of("rows longer than a tile", {
      x: [1, 3, 9, 1300],
      w: [filters, 3, 7, 7],
      strides: [2, 2],
      pads: [3, 3, 3, 3],
      layout: "nchw",
    }),
  ];
}

/** Sizes and strides, by whichever kernel is predicted to be the fastest. */
function shapeSpecs(math: PlaneTile["math"]): Spec[] {
  const of = (name: string, changes: Changes): Spec => ({
    name: `planes, ${name}, ${math}`,
    math,
    affine: "bias",
    needs: hasWgmma,
    planes: () => true,
    ...changes,
  });
  const filters = [8, 12, 16, 24, 27, 30, 32, 48, 51, 64, 67, 96, 200].map((count) =>
    of(`${count} filters`, {
      x: [2, 3, 40, 44],
      w: [count, 3, 3, 3],
      strides: [2, 2],
      pads: [1, 1, 1, 1],
      layout: "nchw",
    }),
  );
  const channels = [1, 2, 3, 4, 8].map((count) =>
    of(`${count} channels`, { x: [2, count, 31, 37], w: [40, count, 3, 3], pads: [1, 1, 1, 1] }),
  );
  return [
    ...filters,
    ...channels,
    of("1 image", { x: [1, 3, 224, 224], w: [64, 3, 7, 7], strides: [2, 2], pads: [3, 3, 3, 3] }),
    of("a smaller image than the window", {
      x: [2, 3, 4, 5],
      w: [16, 3, 7, 7],
      strides: [2, 2],
      pads: [3, 3, 3, 3],
    }),
    of("1 channel, 11x11 of stride 2", {
      x: [2, 1, 41, 40],
      w: [16, 1, 11, 11],
      strides: [2, 2],
      pads: [5, 5, 5, 5],
    }),
    of("strides 3 and 2", { x: [2, 2, 43, 42], w: [16, 2, 5, 6], strides: [3, 2], pads: [0, 1, 2, 3] }),
    of("infinities and no numbers", {
      x: [2, 3, 35, 35],
      w: [64, 3, 3, 3],
      strides: [2, 2],
      pads: [1, 1, 1, 1],
      odd: [
        [36, Number.POSITIVE_INFINITY],
        [720, Number.NEGATIVE_INFINITY],
        [5000, Number.NaN],
      ],
    }),
    of("a stride beyond the window", { x: [1, 3, 37, 39], w: [8, 3, 2, 2], strides: [3, 4] }),
    of("asymmetric padding of a slice", {
      x: [2, 3, 34, 35],
      w: [16, 3, 4, 4],
      pads: [0, 3, 2, 0],
      layout: "wide",
    }),
    of("padding that is cut off", {
      x: [1, 4, 36, 39],
      w: [16, 4, 3, 3],
      strides: [2, 2],
      pads: [-1, -2, 1, 0],
    }),
    of("along one axis", { x: [3, 3, 700], w: [16, 3, 5], strides: [2], pads: [4, 0] }),
    of("floats of channels last", {
      x: [2, 4, 30, 31],
      w: [32, 4, 4, 4],
      strides: [2, 2],
      source: "float32",
    }),
  ];
}

const activationSpecs = (
  [
    ["leakyRelu", 0.1],
    ["sigmoid"],
    ["tanh"],
    ["geluTanh"],
    ["hardSigmoid", 0.2, 0.5],
    ["elu", 0.7],
    ["softplus"],
    ["affine", 2, -0.5],
    ["clip", 0, 6],
    ["relu"],
    ["silu", 1.702],
    ["hardSwish", 1 / 6, 0.5],
  ] as const
).map(
  ([kind, a, b]): Spec => ({
    name: `planes, ${kind}`,
    math: "f16",
    x: [2, 3, 32, 32],
    w: [64, 3, 3, 3],
    strides: [2, 2],
    pads: [1, 1, 1, 1],
    affine: "both",
    activation: activation(kind, a, b),
    needs: hasWgmma,
    planes: () => true,
  }),
);

export const cases: readonly KernelCase[] = [
  ...planeTiles.filter(isOfFloats).flatMap(tileSpecs),
  ...(["f16", "bf16"] as const).flatMap(shapeSpecs),
  ...activationSpecs,
].map((each) => ({ name: each.name, run: check(each) }));
