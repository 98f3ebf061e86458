/**
 * @file Two products one behind another in one launch: every way to cut each of them up, tails of all three sizes, what is done to both results,
 * residuals, rows of gaps, weights that are fetched ahead or not, a first result that somebody else reads or nobody.
 */
import { encodeValues } from "../../../cuda-runtime/ir/encode.ts";
import {
  type Activation,
  type Epilogue,
  noActivation,
  plainEpilogue,
} from "../../../cuda-runtime/ir/epilogue.ts";
import type { Launch, PlanTarget } from "../../../cuda-runtime/ir/step.ts";
import type { HalfStorage } from "../../../cuda-runtime/ir/storage.ts";
import { stridesOf, type View } from "../../../cuda-runtime/ir/view.ts";
import { problemOf } from "../../../cuda-runtime/kernels/gemm/problem.ts";
import { type PairOfProducts, pairLaunch, pairWays } from "../../../cuda-runtime/kernels/gemm-pair/pair.ts";
import { type PairRow, pairRows } from "../../../cuda-runtime/kernels/gemm-pair/table.ts";
import type { Harness, KernelCase } from "../../../cuda-runtime/session/harness.ts";
import { decodeValues } from "../../../cuda-runtime/session/numbers.ts";
import { applied, productOf, toleranceOf } from "./gemm.ts";

interface Draft {
  readonly bias?: boolean;
  readonly residual?: boolean;
  readonly activation?: Activation;
  readonly last?: Activation;
}

interface Setup {
  readonly m: number;
  readonly k: number;
  readonly n: number;
  /** Of the second result. */
  readonly n2: number;
  readonly first?: Draft;
  readonly second?: Draft;
  /** Elements behind each row of either operand, of the first result and its residual. */
  readonly gap?: number;
  readonly isAhead?: boolean;
  readonly isKept?: boolean;
}

const relu: Activation = { kind: "relu", a: 0, b: 0 };
const silu: Activation = { kind: "silu", a: 1, b: 0 };
const gelu: Activation = { kind: "gelu", a: 0, b: 0 };
const clip: Activation = { kind: "clip", a: 0, b: 6 };
const swish: Activation = { kind: "hardSwish", a: 1 / 6, b: 0.5 };

class Operands {
  readonly #harness: Harness;
  readonly #type: HalfStorage;
  readonly #gap: number;
  #seed = 1;

  constructor(harness: Harness, type: HalfStorage, gap: number) {
    this.#harness = harness;
    this.#type = type;
    this.#gap = gap;
  }

  matrix(rows: number, columns: number): View {
    const strides = [columns + this.#gap, 1];
    return this.#harness.tensor(this.#type, [rows, columns], { strides, seed: this.#seed++ });
  }

  /** [k, n], stored along k. */
  weights(n: number, k: number): View {
    const stored = this.matrix(n, k);
    return { ...stored, shape: [k, n], strides: [1, k + this.#gap] };
  }

  output(rows: number, columns: number, gap = 0): View {
    const whole = this.#harness.output(this.#type, [rows, columns + gap]);
    return { ...whole, shape: [rows, columns] };
  }

  epilogue(draft: Draft, rows: number, columns: number): Epilogue {
    return {
      ...plainEpilogue,
      bias: draft.bias ? this.#harness.tensor("float32", [columns], { seed: this.#seed++ }) : undefined,
      residual: draft.residual ? this.matrix(rows, columns) : undefined,
      activation: draft.activation ?? noActivation,
      last: draft.last ?? noActivation,
    };
  }
}

function finished(harness: Harness, sums: Float64Array, columns: number, epilogue: Epilogue): Float64Array {
  const [biases, residuals] = [epilogue.bias, epilogue.residual].map((view) => view && harness.values(view));
  return sums.map((sum, at) => {
    const v = applied(epilogue.activation, sum + (biases?.[at % columns] ?? 0)) + (residuals?.[at] ?? 0);
    return applied(epilogue.last, v);
  });
}

function rounded(type: HalfStorage, values: Float64Array): Float64Array {
  return Float64Array.from(decodeValues(type, encodeValues(type, [...values])));
}

interface Way {
  readonly name: string;
  readonly launch: Launch;
}

type Ways = (pair: PairOfProducts, target: PlanTarget) => readonly Way[];

function runSetup(harness: Harness, type: HalfStorage, ways: Ways, setup: Setup): void {
  const { m, k, n, n2, first = {}, second = {}, gap = 0, isAhead = true, isKept = true } = setup;
  const { target } = harness.emitter;
  const operands = new Operands(harness, type, gap);
  const [a, b, c] = [operands.matrix(m, k), operands.weights(n, k), operands.weights(n2, n)];
  const between = operands.output(m, n, gap);
  const [firstEnd, secondEnd] = [operands.epilogue(first, m, n), operands.epilogue(second, m, n2)];
  const valuesOf = (view: View) => ({ shape: view.shape, values: harness.values(view) });
  const firstValues = () => finished(harness, productOf(valuesOf(a), valuesOf(b), []), n, firstEnd);
  const secondValues = () => {
    const left = { shape: [m, n], values: rounded(type, firstValues()) };
    return finished(harness, productOf(left, valuesOf(c), []), n2, secondEnd);
  };
  const pairTo = (to: View): PairOfProducts => ({
    first: { problem: problemOf({ a, b, to: between, epilogue: firstEnd }), isAhead },
    second: { problem: problemOf({ a: between, b: c, to, epilogue: secondEnd }), isAhead },
    isKept,
  });
  const count = ways(pairTo(operands.output(m, n2)), target).length;
  if (count === 0) throw new Error(`no way to compute ${m}x${n}x${k}, ${n2}`);
  for (let index = 0; index < count; index++) {
    const to = operands.output(m, n2);
    const way = ways(pairTo(to), target)[index];
    if (way === undefined) throw new Error("a way is gone");
    harness.emitter.launch(way.launch);
    harness.execute();
    const what = `${type} ${m}x${n}x${k}, ${n2} by ${way.name}`;
    if (isKept) harness.expectClose(between, firstValues, toleranceOf(type, type, k), `${what}: first`);
    else harness.expectUnwritten({ ...between, strides: stridesOf([m, n + gap]) }, `${what}: first`);
    const { relative, absolute } = toleranceOf(type, type, n);
    // What is between may round the other way: a unit of the largest there.
    const own = { relative: 2 * relative, absolute: absolute + relative * Math.sqrt(n) };
    harness.expectClose(to, secondValues, own, `${what}: second`);
  }
}

function byRow(row: PairRow): Ways {
  return (pair, target) =>
    pairWays(pair, target)
      .filter((way) => way.row === row)
      .map((way) => ({
        name: `${row.tile}, a team of ${way.team}, ${way.parts} parts`,
        launch: pairLaunch(pair, way),
      }));
}

const both: Draft = { bias: true, activation: relu };
const setups: readonly Setup[] = [
  { m: 64, k: 64, n: 64, n2: 64 },
  { m: 5, k: 8, n: 8, n2: 8 },
  { m: 7, k: 24, n: 40, n2: 24, first: both, second: both },
  { m: 65, k: 72, n: 64, n2: 136, first: { bias: true, residual: true, last: relu }, second: both, gap: 8 },
  { m: 196, k: 256, n: 1024, n2: 256, first: { bias: true, residual: true, last: relu }, second: both },
  {
    m: 130,
    k: 128,
    n: 512,
    n2: 128,
    first: { bias: true, residual: true, last: relu },
    second: both,
    isAhead: false,
  },
  {
    m: 197,
    k: 192,
    n: 768,
    n2: 192,
    first: { bias: true, activation: gelu },
    second: { bias: true, residual: true },
    isKept: false,
  },
  {
    m: 300,
    k: 144,
    n: 24,
    n2: 144,
    first: { bias: true, residual: true },
    second: { bias: true, activation: clip },
  },
  {
    m: 100,
    k: 96,
    n: 384,
    n2: 96,
    first: { bias: true, activation: gelu },
    second: { residual: true, last: clip },
    isKept: false,
    gap: 16,
  },
  {
    m: 127,
    k: 40,
    n: 256,
    n2: 40,
    first: { activation: silu },
    second: { bias: true, activation: swish },
    isKept: false,
  },
  {
    m: 257,
    k: 16,
    n: 128,
    n2: 320,
    first: { bias: true, activation: swish },
    second: { bias: true, activation: silu, residual: true },
  },
];

export const cases: readonly KernelCase[] = (["float16", "bfloat16"] as const).flatMap((type) => [
  ...pairRows.flatMap((row) =>
    setups.map(
      (setup): KernelCase => ({
        name: `${type} ${row.tile} ${setup.m}x${setup.n}x${setup.k} ${setup.n2}`,
        run(harness) {
          if (harness.emitter.target.features.wgmma) return runSetup(harness, type, byRow(row), setup);
          console.log(`skipped: pairs of products do not run on ${harness.emitter.target.architecture}`);
        },
      }),
    ),
  ),
]);
