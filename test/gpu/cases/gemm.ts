/** @file Products of matrices on the GPU against loops in double precision. */

import type { Emitter } from "../../../cuda-runtime/ir/emitter.ts";
import {
  type Activation,
  type ActivationKind,
  activations,
  type Epilogue,
  noActivation,
  plainEpilogue,
} from "../../../cuda-runtime/ir/epilogue.ts";
import { erfValue } from "../../../cuda-runtime/ir/expr-value.ts";
import type { FloatStorage, StorageType } from "../../../cuda-runtime/ir/storage.ts";
import { elementCount, sliced, stridesOf, type View } from "../../../cuda-runtime/ir/view.ts";
import { type Choice, runsOn } from "../../../cuda-runtime/kernels/gemm/choose.ts";
import { emitGemm, type GemmRequest } from "../../../cuda-runtime/kernels/gemm/gemm.ts";
import { emitGenericGemm } from "../../../cuda-runtime/kernels/gemm/generic.ts";
import {
  type CutRow,
  type GemmRow,
  gemmTable,
  type HopperRow,
  type Layout,
  sumsInTeam,
} from "../../../cuda-runtime/kernels/gemm/table.ts";
import type { Harness, KernelCase, Tolerance } from "../../../cuda-runtime/session/harness.ts";
import { withWeights } from "../with-weights.ts";

/** What a product's operands are rounded to, and so how close it comes. */
type Precision = FloatStorage | "tf32";

const precisions: readonly Precision[] = ["float16", "bfloat16", "tf32", "float32"];

function storageOf(precision: Precision): FloatStorage {
  return precision === "tf32" ? "float32" : precision;
}

function emitterOf({ emitter }: Harness, setup: Setup, weights: View | undefined): Emitter {
  const { multiprocessors = emitter.target.multiprocessors } = setup;
  const target = { ...emitter.target, multiprocessors };
  return withWeights({ ...emitter, tf32: setup.precision === "tf32", target }, weights ? [weights] : []);
}

/** For sums of k products of numbers up to 1, stored as `to`. */
export function toleranceOf(precision: Precision, to: StorageType, k: number): Tolerance {
  const relative = { float16: 1e-3, bfloat16: 8e-3, float32: 2e-6 }[to as FloatStorage];
  // TF32 keeps 10 bits of each operand: 2^-11 of each product, at random signs.
  const operand = precision === "tf32" ? 6e-4 : 3e-7;
  return { relative, absolute: operand * Math.sqrt(k) * 2 + 1e-6 };
}

function matrices(view: { readonly shape: readonly number[] }): number[] {
  return view.shape.slice(0, -2);
}

/** Row-major [..., m, n] of values a [..., m, k] and b [..., k, n], batch axes of 1 repeated. */
export function productOf(a: Values, b: Values, batch: readonly number[]): Float64Array {
  const [m = 1, k = 1] = a.shape.slice(-2);
  const [n = 1] = b.shape.slice(-1);
  const out = new Float64Array(elementCount(batch) * m * n);
  const strides = stridesOf(batch);
  for (let index = 0; index < elementCount(batch); index++) {
    const coordinates = batch.map((size, axis) => Math.floor(index / (strides[axis] ?? 1)) % size);
    const [atA, atB] = [a, b].map((side) => placeOf(side, coordinates));
    for (let i = 0; i < m; i++) {
      const row = out.subarray((index * m + i) * n, (index * m + i + 1) * n);
      for (let q = 0; q < k; q++) {
        const x = a.values[((atA ?? 0) * m + i) * k + q] ?? Number.NaN;
        const from = ((atB ?? 0) * k + q) * n;
        for (let j = 0; j < n; j++) row[j] = (row[j] ?? 0) + x * (b.values[from + j] ?? Number.NaN);
      }
    }
  }
  return out;
}

export interface Values {
  readonly shape: readonly number[];
  readonly values: ArrayLike<number>;
}

function placeOf({ shape }: Values, coordinates: readonly number[]): number {
  const batch = shape.slice(0, -2);
  const strides = stridesOf(batch);
  return batch.reduce(
    (at, size, axis) => at + (size === 1 ? 0 : (coordinates[axis] ?? 0) * (strides[axis] ?? 0)),
    0,
  );
}

const formulas: Readonly<Record<ActivationKind, (x: number, a: number, b: number) => number>> = {
  none: (x) => x,
  relu: (x) => Math.max(x, 0),
  clip: (x, a, b) => Math.min(Math.max(x, a), b),
  leakyRelu: (x, a) => (x < 0 ? a * x : x),
  sigmoid: (x) => 1 / (1 + Math.exp(-x)),
  tanh: (x) => Math.tanh(x),
  silu: (x, a) => x / (1 + Math.exp(-a * x)),
  gelu: (x) => (x / 2) * (1 + erfValue(x / Math.SQRT2)),
  geluTanh: (x) => (x / 2) * (1 + Math.tanh(Math.sqrt(2 / Math.PI) * (x + 0.044715 * x ** 3))),
  hardSigmoid: (x, a, b) => Math.min(Math.max(a * x + b, 0), 1),
  hardSwish: (x, a, b) => x * Math.min(Math.max(a * x + b, 0), 1),
  elu: (x, a) => (x < 0 ? a * Math.expm1(x) : x),
  softplus: (x) => Math.log1p(Math.exp(x)),
  affine: (x, a, b) => a * x + b,
};

export function applied({ kind, a, b }: Activation, x: number): number {
  return formulas[kind](x, a, b);
}

type Order = "row" | "column";

export interface Setup {
  readonly precision: Precision;
  readonly m: number;
  readonly n: number;
  readonly k: number;
  readonly batchA?: readonly number[];
  readonly batchB?: readonly number[];
  /** "row": the last axis is the inner one. */
  readonly a?: Order;
  readonly b?: Order;
  readonly d?: Order;
  /** Elements between the ends of rows and the next ones; and before the first. */
  readonly gap?: number;
  readonly to?: FloatStorage;
  /** Elements behind each row of the output, which nobody may write. */
  readonly pad?: number;
  /** Of the GPU that is planned for: with few, blocks that stay have many tiles. */
  readonly multiprocessors?: number;
  readonly epilogue?: Draft;
  readonly channels?: "m" | "n";
  readonly alpha?: number;
  readonly accepts?: (choice: Choice) => boolean;
  /** The operand that is told to be written by no launch, and fetched before those in front are done. */
  readonly weights?: "a" | "b" | undefined;
  /** Skipped where this row does not run. */
  readonly needs?: GemmRow;
}

export interface Draft {
  readonly scale?: boolean;
  readonly bias?: boolean;
  readonly residual?: FloatStorage;
  readonly residualOrder?: Order;
  readonly activation?: Activation;
  readonly last?: Activation;
}

/** A matrix with `gap` unused elements at the end of each row (or column) and in front. */
function matrix(
  harness: Harness,
  type: FloatStorage,
  shape: readonly number[],
  order: Order,
  gap: number,
  seed: number,
): View {
  const rank = shape.length;
  const [outer, inner] = order === "row" ? [rank - 2, rank - 1] : [rank - 1, rank - 2];
  const pitch = (shape[inner] ?? 1) + gap;
  const strides = stridesOf([...shape.slice(0, -2), shape[outer] ?? 1, pitch]);
  const turned = order === "row" ? strides : [...strides.slice(0, -2), 1, pitch];
  return harness.tensor(type, shape, { strides: turned, offset: gap, seed });
}

function runSetup(harness: Harness, setup: Setup): void {
  const { target } = harness.emitter;
  const options = { type: storageOf(setup.precision), tf32: setup.precision === "tf32", target };
  if (setup.needs !== undefined && !runsOn(setup.needs, options)) {
    console.log(`skipped: ${describe(setup)}: a kernel that does not run on ${target.architecture}`);
    return;
  }
  const { precision, m, n, k, batchA = [], batchB = batchA, gap = 0 } = setup;
  const type = storageOf(precision);
  const to = setup.to ?? type;
  const batch = batchA.map((size, axis) => Math.max(size, batchB[axis] ?? 1));
  const a = matrix(harness, type, [...batchA, m, k], setup.a ?? "row", gap, 1);
  const b = matrix(harness, type, [...batchB, k, n], setup.b ?? "row", gap, 2);
  const shape = [...batch, m, n];
  const rank = shape.length;
  const axes = shape.map((_, axis) => axis);
  const order = setup.d === "column" ? [...axes.slice(0, -2), rank - 1, rank - 2] : axes;
  const { pad = 0 } = setup;
  const whole = harness.output(to, [...shape.slice(0, -1), n + pad], order);
  const output = { ...whole, shape };
  const { channels = "n", alpha = 1 } = setup;
  const { epilogue, expected } = referenceOf(harness, setup, a, b, shape);
  const request: GemmRequest = { a, b, to: output, epilogue, channels, alpha };
  const weights = setup.weights && { a, b }[setup.weights];
  emitGemm(emitterOf(harness, setup, weights), request, setup.accepts);
  harness.execute();
  harness.expectClose(output, expected, toleranceOf(precision, to, k), describe(setup));
  if (pad > 0)
    harness.expectUnwritten(sliced(whole, rank - 1, n, pad), `${describe(setup)}: memory behind rows`);
}

function referenceOf(
  harness: Harness,
  { epilogue: draft = {}, channels = "n", alpha = 1, n }: Setup,
  a: View,
  b: View,
  shape: readonly number[],
): { epilogue: Epilogue; expected: () => Float64Array } {
  const valuesOf = (view: View): Values => ({ shape: view.shape, values: harness.values(view) });
  const count = shape.at(channels === "n" ? -1 : -2) ?? 1;
  const vector = (wanted: boolean | undefined, seed: number) =>
    wanted ? harness.tensor("float32", [count], { seed }) : undefined;
  const scale = vector(draft.scale, 3);
  const bias = vector(draft.bias, 4);
  const residual =
    draft.residual && matrix(harness, draft.residual, shape, draft.residualOrder ?? "row", 0, 5);
  const epilogue: Epilogue = {
    ...plainEpilogue,
    scale,
    bias,
    residual,
    activation: draft.activation ?? noActivation,
    last: draft.last ?? noActivation,
  };
  const expected = () => {
    const [scales, biases, residuals] = [scale, bias, residual].map((view) => view && harness.values(view));
    return productOf(valuesOf(a), valuesOf(b), shape.slice(0, -2)).map((sum, at) => {
      const channel = channels === "n" ? at % n : Math.floor(at / n) % count;
      const v = sum * alpha * (scales?.[channel] ?? 1) + (biases?.[channel] ?? 0);
      return applied(epilogue.last, applied(epilogue.activation, v) + (residuals?.[at] ?? 0));
    });
  };
  return { epilogue, expected };
}

export function describe(setup: Setup): string {
  const {
    precision,
    m,
    n,
    k,
    a = "row",
    b = "row",
    d = "row",
    gap = 0,
    pad = 0,
    batchA = [],
    batchB = batchA,
  } = setup;
  const batch = batchA.length > 0 ? ` [${batchA.join(",")}]·[${batchB.join(",")}]` : "";
  return `${precision} ${m}x${n}x${k} ${a}·${b}→${d}${gap > 0 ? ` gap ${gap}` : ""}${pad > 0 ? ` pad ${pad}` : ""}${batch}`;
}

/** Each in turn, so that kernels meet all three. */
function weightsAt(index: number): "a" | "b" | undefined {
  return ([undefined, "a", "b"] as const)[index % 3];
}

export function caseOf(name: string, setups: readonly Setup[]): KernelCase {
  return {
    name,
    run(harness) {
      for (const [index, setup] of setups.entries())
        runSetup(harness, { weights: weightsAt(index + name.length), ...setup });
    },
  };
}

const orders: readonly Order[] = ["row", "column"];

/** Tails of every tile, both ways round, all memory orders. */
function shapeCases(): KernelCase[] {
  const sizes = [
    [64, 64, 64],
    [128, 128, 128],
    [1, 1, 1],
    [3, 5, 7],
    [17, 33, 65],
    [129, 127, 100],
    [200, 72, 264],
    [31, 300, 48],
    [257, 136, 40],
    [300, 299, 301],
  ] as const;
  return precisions.flatMap((precision) =>
    sizes.map(([m, n, k]) =>
      caseOf(
        `${precision} ${m}x${n}x${k} in every order`,
        orders.flatMap((a) =>
          orders.flatMap((b) => orders.map((d): Setup => ({ precision, m, n, k, a, b, d }))),
        ),
      ),
    ),
  );
}

/** Rows at 2, 4, 8 and 16 bytes. */
function alignmentCases(): KernelCase[] {
  return precisions.flatMap((precision) =>
    [1, 2, 4, 8, 3].map((gap) =>
      caseOf(
        `${precision} rows ${gap} elements apart`,
        orders.flatMap((a) =>
          orders.flatMap((b) => [
            { precision, m: 96, n: 160, k: 128, a, b, gap },
            { precision, m: 2, n: 160, k: 264, a, b, gap },
            { precision, m: 130, n: 4, k: 72, a, b, gap },
          ]),
        ),
      ),
    ),
  );
}

function batchCases(): KernelCase[] {
  const batches: readonly (readonly [string, readonly number[], readonly number[]])[] = [
    ["one axis", [5], [5]],
    ["two axes", [2, 3], [2, 3]],
    ["b shared", [4], [1]],
    ["a shared", [1], [4]],
    ["crossed", [3, 1], [1, 2]],
    ["grouped heads", [2, 2, 3], [2, 2, 1]],
    ["four axes", [2, 1, 3, 1], [1, 2, 1, 2]],
  ];
  return precisions.flatMap((precision) =>
    batches.map(([name, batchA, batchB]) =>
      caseOf(
        `${precision} batch: ${name}`,
        [
          [33, 40, 24],
          [1, 70, 33],
          [24, 1, 64],
        ].map(([m = 1, n = 1, k = 1]): Setup => ({ precision, m, n, k, batchA, batchB })),
      ),
    ),
  );
}

function epilogueCases(): KernelCase[] {
  const kinds = Object.keys(activations) as ActivationKind[];
  const activationSetups = (precision: Precision, n: number) =>
    kinds.map((kind): Setup => {
      const activation: Activation = { kind, a: 0.25, b: 0.5 };
      return { precision, m: 40, n, k: 32, epilogue: { bias: true, activation } };
    });
  const mixed: readonly Draft[] = [
    { scale: true },
    { scale: true, bias: true, residual: "float16" },
    { residual: "float32", last: { kind: "relu", a: 0, b: 0 } },
    { bias: true, residual: "bfloat16", activation: { kind: "gelu", a: 0, b: 0 } },
    {
      bias: true,
      activation: { kind: "silu", a: 1, b: 0 },
      residual: "float16",
      last: { kind: "tanh", a: 0, b: 0 },
    },
    { residual: "float16", residualOrder: "column", last: { kind: "clip", a: -1, b: 1.5 } },
  ];
  return precisions.flatMap((precision) => [
    caseOf(`${precision} activations`, [
      ...activationSetups(precision, 64),
      ...activationSetups(precision, 65),
    ]),
    caseOf(
      `${precision} epilogues`,
      mixed.flatMap((epilogue): Setup[] => [
        { precision, m: 70, n: 80, k: 64, epilogue, to: "float32" },
        { precision, m: 70, n: 81, k: 64, epilogue, to: "float16" },
        { precision, m: 33, n: 64, k: 40, epilogue, to: "bfloat16", d: "column" },
        { precision, m: 2, n: 90, k: 128, epilogue },
        { precision, m: 130, n: 66, k: 24, epilogue, channels: "m", alpha: 0.5 },
        { precision, m: 20, n: 24, k: 3000, epilogue, batchA: [2] },
      ]),
    ),
  ]);
}

/** So deep that k is split, and sizes that each row of the table wins. */
function sizeCases(): KernelCase[] {
  return precisions.flatMap((precision) => [
    caseOf(`${precision} deep`, [
      { precision, m: 16, n: 48, k: 9000 },
      { precision, m: 64, n: 40, k: 8191, b: "column" },
      { precision, m: 1, n: 100, k: 8200 },
      { precision, m: 4, n: 129, k: 8193, b: "column" },
    ]),
    caseOf(`${precision} wide`, [
      { precision, m: 520, n: 1040, k: 72 },
      { precision, m: 1000, n: 264, k: 65, b: "column" },
      { precision, m: 48, n: 3000, k: 40 },
      { precision, m: 3000, n: 20, k: 40 },
    ]),
    caseOf(`${precision} short`, [
      { precision, m: 1, n: 5001, k: 30, b: "column" },
      { precision, m: 3001, n: 1, k: 30 },
      { precision, m: 3, n: 701, k: 29, gap: 1, b: "column", epilogue: { bias: true } },
      { precision, m: 4, n: 1030, k: 64, b: "column", batchA: [2], batchB: [2] },
      { precision, m: 1, n: 33, k: 7, b: "column" },
    ]),
    ...[6, 20].map((splits) => {
      const accepts = (choice: Choice) => choice.splits === splits && !sumsInTeam(choice.row);
      const setup = { precision, accepts, k: 2560, epilogue: { bias: true } } as const;
      return caseOf(`${precision} sum of ${splits} splits`, [
        { ...setup, m: 16, n: 48 },
        { ...setup, m: 17, n: 37, b: "column" },
        { ...setup, m: 7, n: 24, batchA: [3], batchB: [3] },
      ]);
    }),
    caseOf(`${precision} nothing to sum`, [{ precision, m: 9, n: 70, k: 0, epilogue: { bias: true } }]),
  ]);
}

/** Every kernel of the table in every layout, whole and split: the cost decides nothing here. */
function rowCases(): KernelCase[] {
  return precisions.flatMap((precision) =>
    gemmTable.flatMap((row) => {
      const isHopper = row.kind === "hopper";
      if (row.kind === "thin") return []; // gemm-thin.ts
      if (isHopper && precision === "tf32") return [];
      if (row.kind === "tensor" && (row.arithmetic === "tf32") !== (precision === "tf32")) return [];
      if (isHopper || row.kind === "tensor" ? precision === "float32" : precision === "tf32") return [];
      if (row.kind === "simt" && precision !== "float32") return [];
      return splitsOf(row).map((splits) => rowCase(precision, row, splits));
    }),
  );
}

function splitsOf(row: CutRow): readonly number[] {
  return row.kind === "hopper" && row.team === "sum" ? [4] : [1, 3];
}

function layoutsOf(row: CutRow): readonly Layout[] {
  switch (row.kind) {
    case "skinny":
      return [row.along === "n" ? "kn" : "kk"];
    case "tensor":
      return row.layouts;
    case "hopper":
      return ["kk"];
    case "simt":
      return ["kk", "mn"];
  }
}

function rowCase(precision: Precision, row: CutRow, splits: number): KernelCase {
  const isSkinny = row.kind === "skinny";
  const layouts = layoutsOf(row);
  const name = isSkinny ? `rows${row.rows} along ${row.along} ${row.load}` : row.tile;
  const isOdd = row.kind === "tensor" && row.odd;
  const gap = isSkinny ? { wide: 0, pair: 2, one: 1 }[row.load] : Number(isOdd);
  const [m, n] = isSkinny ? [row.rows, 264] : [row.m + 24, row.n + 40];
  const k = isSkinny ? 1200 : 5 * row.k + 8;
  return caseOf(
    `${precision} ${name}${isOdd ? " odd" : ""}, ${splits} splits`,
    layouts.flatMap((layout): Setup[] => {
      const a: Order = layout.startsWith("k") ? "row" : "column";
      const b: Order = layout.endsWith("k") ? "column" : "row";
      const accepts = (choice: Choice) =>
        choice.row === row &&
        choice.layout === layout &&
        !choice.isSwapped &&
        !choice.packA &&
        !choice.packB &&
        choice.splits > 1 === splits > 1;
      const setup = {
        precision,
        m,
        n,
        k,
        a,
        b,
        gap,
        epilogue: { bias: true },
        accepts,
        needs: row,
      };
      const crossed = { ...setup, batchA: [3, 1], batchB: [1, 2] };
      // More tiles than multiprocessors, twice over: blocks stay, and their groups come round again.
      const many = (own: HopperRow) => ({ ...setup, m: 17 * own.m - 5, n: 17 * own.n - 8, k: own.k + 8 });
      const hopper = row.kind === "hopper" ? [crossed, ...(splits === 1 ? [many(row)] : [])] : [];
      return [{ ...setup, batchA: [2] }, ...hopper];
    }),
  );
}

interface WholeSetup {
  readonly a: StorageType;
  readonly b: StorageType;
  readonly to: StorageType;
  readonly zeros?: boolean;
}

const wholes: readonly WholeSetup[] = [
  { a: "float64", b: "float64", to: "float64" },
  { a: "int32", b: "int32", to: "int32" },
  { a: "uint32", b: "uint32", to: "uint32" },
  { a: "int64", b: "int64", to: "int64" },
  { a: "uint64", b: "uint64", to: "uint64" },
  { a: "int8", b: "uint8", to: "int32" },
  { a: "uint8", b: "int8", to: "int32", zeros: true },
  { a: "uint8", b: "uint8", to: "int32", zeros: true },
];

function wholeCase({ a, b, to, zeros = false }: WholeSetup): KernelCase {
  return {
    name: `${a} by ${b} into ${to}${zeros ? " with zero points" : ""}`,
    run(harness) {
      for (const [m, n, k] of [
        [3, 5, 7],
        [40, 33, 100],
      ] as const) {
        const viewA = harness.tensor(a, [2, m, k], { seed: 1 });
        const viewB = harness.tensor(b, [1, k, n], { seed: 2 });
        const zeroA = zeros ? harness.tensor(a, [2, m], { seed: 3 }) : undefined;
        const zeroB = zeros ? harness.tensor(b, [1, n], { seed: 4 }) : undefined;
        const output = harness.output(to, [2, m, n]);
        emitGenericGemm(harness.emitter, { a: viewA, b: viewB, to: output, zeroA, zeroB });
        harness.execute();
        const [offA, offB] = [zeroA, zeroB].map((view) => view && harness.values(view));
        const valuesA = harness.values(viewA).map((x, at) => x - (offA?.[Math.floor(at / k)] ?? 0));
        const valuesB = harness.values(viewB).map((x, at) => x - (offB?.[at % n] ?? 0));
        const expected = () =>
          productOf(
            { shape: viewA.shape, values: valuesA },
            { shape: viewB.shape, values: valuesB },
            matrices(output),
          );
        harness.expectClose(output, expected, { relative: 1e-14, absolute: 1e-12 }, `${m}x${n}x${k}`);
      }
    },
  };
}

/** Blocks that add up: teams of each size, splits of one step and of more than a ring holds, the last one short; tails, batches, epilogues. */
function teamCases(): KernelCase[] {
  const sums = gemmTable.filter((row) => row.kind === "hopper" && row.team === "sum");
  return (["float16", "bfloat16"] as const).flatMap((precision) =>
    sums.flatMap((row) => {
      if (row.kind !== "hopper") return [];
      const { m, n, k } = row;
      const full: Draft = {
        scale: true,
        bias: true,
        residual: precision,
        last: { kind: "relu", a: 0, b: 0 },
      };
      const rare: Draft = { bias: true, residual: "float32", activation: { kind: "gelu", a: 0, b: 0 } };
      return [2, 4].map((team) => {
        const accepts = (choice: Choice) => choice.row === row && !choice.isSwapped && choice.splits === team;
        const setup = { precision, b: "column", accepts, needs: row } as const;
        return caseOf(`${precision} ${row.tile}, teams of ${team}`, [
          { ...setup, m, n, k: team * k },
          { ...setup, m: 32, n: n + 8, k: 5 * team * k - 24 },
          { ...setup, m: 5, n: 3 * n - 8, k: 33 * team * k - 40, epilogue: { bias: true } },
          { ...setup, m: 2 * m + 24, n: 2 * n + 16, k: 2 * team * k, epilogue: full },
          { ...setup, m: m + 30, n: n + 17, k: 2 * team * k, epilogue: rare, to: "float32" },
          { ...setup, m: 50, n: 9 * n, k: 3 * team * k - 8, epilogue: full, channels: "m", alpha: 0.5 },
          { ...setup, m: m + 1, n: 40, k: 3 * team * k, batchA: [3, 1], batchB: [1, 2] },
          { ...setup, m: 300, n: 17 * n, k: team * k },
        ]);
      });
    }),
  );
}

export const cases: readonly KernelCase[] = [
  ...teamCases(),
  ...shapeCases(),
  ...alignmentCases(),
  ...batchCases(),
  ...epilogueCases(),
  ...sizeCases(),
  ...rowCases(),
  ...wholes.map(wholeCase),
];
