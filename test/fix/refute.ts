/**
 * @file Another look at a fix that was proven: other sizes, other numbers, unusual inputs and other ways to run, drawn and
 * compared by nothing that verification itself draws and compares with.
 */
import { InferenceSession, Tensor } from "onnxruntime-node";
import type { Node } from "../../src/ir/model.ts";
import type { Patch } from "../../src/ir/patch.ts";
import { requiredInputs } from "../../src/ir/symbols.ts";
import { exposeValues } from "../../src/onnx/expose.ts";
import { modelInMemory } from "../../src/onnx/in-memory.ts";
import { type OpenModel, openModel } from "../../src/onnx/open.ts";
import { patchedInMemory } from "../../src/onnx/patched-in-memory.ts";
import { findOp } from "../../src/ops/registry.ts";
import { roundWeights } from "../../src/verify/rounded.ts";
import { inputSymbols } from "../../src/verify/sizes.ts";
import { noise, volume } from "../passes/folding.ts";
import { withHalfNoise } from "./half-noise.ts";

export interface RefuteTask {
  readonly original: string;
  readonly candidate: string;
  /** Of the table that ids are of. */
  readonly rows: number;
  readonly precision: "fp16" | "bf16" | undefined;
}

type Level = "disabled" | "basic" | "all";
type Feeds = Record<string, Tensor>;
type Outputs = ReadonlyMap<string, ArrayLike<number>>;

const sizes = [
  { batch: 2, seq: 7 },
  { batch: 1, seq: 3 },
  { batch: 4, seq: 1 },
];
/** What floats hold; ids and masks go with them. */
const kinds = ["plain", "infinities", "nan", "huge", "zero rows"] as const;
type Kind = (typeof kinds)[number];

/** A difference, and where. */
export interface Refutation {
  readonly text: string;
  /**
   * Whether a product of the original reads infinities or NaN there: that it does not is what a fix assumes
   * (docs/fixing.md).
   */
  readonly isBeyond: boolean;
}

/** One that is not beyond what a fix assumes, else one that is; undefined where nothing was found. */
export async function refute(task: RefuteTask): Promise<Refutation | undefined> {
  let beyond: Refutation | undefined;
  for (const [index, level] of (["disabled", "all"] as const).entries()) {
    await using pair = await Pair.open(task, level);
    const shown = kindsAt(level).filter((kind) => kind !== "huge" || task.precision === undefined);
    for (const [at, kind] of shown.entries()) {
      for (const [round, size] of pair.sizes().entries()) {
        const feeds = feedsFor(pair.inputs, size, kind, task.rows, 10 * at + round + 5 * index);
        const found = await pair.differenceOn(feeds, kind);
        if (found === undefined) continue;
        const refutation = { ...found, text: `${kind} at ${JSON.stringify(size)}, ${level}: ${found.text}` };
        if (!refutation.isBeyond) return refutation;
        beyond ??= refutation;
      }
    }
  }
  return beyond;
}

/** What ONNX Runtime fuses makes NaN of an infinity by itself: its blocked convolutions multiply it by zeros. */
function kindsAt(level: Level): readonly Kind[] {
  return level === "all" ? ["plain", "zero rows"] : kinds;
}

interface Input {
  readonly name: string;
  readonly dtype: string;
  readonly dims: readonly (number | string)[];
}

class Pair implements AsyncDisposable {
  readonly #task: RefuteTask;
  readonly #level: Level;
  readonly #sessions = new Map<string, Promise<InferenceSession>>();
  readonly inputs: readonly Input[];
  readonly #isSymbolic: boolean;

  private constructor(task: RefuteTask, level: Level, inputs: readonly Input[], isSymbolic: boolean) {
    this.#task = task;
    this.#level = level;
    this.inputs = inputs;
    this.#isSymbolic = isSymbolic;
  }

  static async open(task: RefuteTask, level: Level): Promise<Pair> {
    using model = openModel(task.original);
    const inputs = requiredInputs(model).flatMap(({ name, declared }) => {
      if (declared?.kind !== "tensor") return [];
      const dims = (declared.shape ?? []).map((dim) => (typeof dim === "number" ? dim : String(dim)));
      return [{ name, dtype: declared.dtype ?? "", dims }];
    });
    return new Pair(task, level, inputs, inputSymbols(model).length > 0);
  }

  #session(key: string, make: () => Promise<InferenceSession>): Promise<InferenceSession> {
    const known = this.#sessions.get(key) ?? make();
    this.#sessions.set(key, known);
    return known;
  }

  #original(level: Level): Promise<InferenceSession> {
    return this.#session(`original ${level}`, () => session(this.#task.original, level));
  }

  #rounded(precision: "fp16" | "bf16"): Promise<InferenceSession> {
    return this.#session("rounded", () =>
      this.#patched((model) => roundWeights(model, precision === "bf16" ? "bfloat16" : "float16")),
    );
  }

  /** A symbol of the networks is one of these, or there is none. */
  sizes(): readonly Readonly<Record<string, number>>[] {
    return this.#isSymbolic ? sizes : [{}];
  }

  async differenceOn(feeds: Feeds, kind: Kind): Promise<Refutation | undefined> {
    const { candidate, precision } = this.#task;
    const original = await this.#original(this.#level);
    const expected = await tryRun(original, feeds);
    // What the original does not run on says nothing.
    if (expected === undefined) return undefined;
    const actual = await tryRun(
      await this.#session("candidate", () => session(candidate, this.#level)),
      feeds,
    );
    if (actual === undefined) return { text: "the result does not run", isBeyond: false };
    const rounded =
      precision && (await tryRun(await this.#rounded(precision), roundedFeeds(feeds, precision)));
    const look = (variants: readonly Outputs[]) => {
      for (const [name, want] of expected) {
        const others = variants.map((each) => each.get(name) ?? []);
        const problem = compare(want, actual.get(name), others, rounded?.get(name), precision, kind);
        if (problem !== undefined) return `"${name}"${problem}`;
      }
      return undefined;
    };
    if (look([]) === undefined) return undefined;
    const variants = [...(rounded ? [rounded] : [])];
    for (const level of ["disabled", "basic", "all"] as const) {
      const other = await tryRun(await this.#original(level), feeds);
      if (other !== undefined) variants.push(other);
    }
    // Half rounds every value on the way: what that makes of the inputs tells what it may make of the rest.
    const step = precision === undefined ? 2 ** -23 : unit[precision];
    for (const factor of [step, -step]) {
      const other = await tryRun(original, nudged(feeds, factor));
      if (other !== undefined) variants.push(other);
    }
    if (look(variants) === undefined) return undefined;
    // A value that two others tie for, or a small difference of large ones: any rounding on the way decides it.
    if (precision !== undefined) variants.push(...(await this.#halfNoise(unit[precision], feeds)));
    const found = look(variants);
    if (found === undefined || (await this.#readsOdd(feeds, dependsOnPlace))) return undefined;
    return { text: found, isBeyond: await this.#readsOdd(feeds, isProductOnOdd) };
  }

  /** Whether a node of the original reads a first input that `isOdd` to it. */
  async #readsOdd(
    feeds: Feeds,
    isOdd: (node: Node, numbers: readonly number[]) => boolean,
  ): Promise<boolean> {
    using model = openModel(this.#task.original);
    const read = model.graph.nodes.flatMap((node) => (node.inputs[0] === undefined ? [] : [node]));
    const names = read.flatMap(({ inputs: [input] }) =>
      input === undefined || input.isInput ? [] : input.name,
    );
    const inner = await this.#session("inner", () => {
      const { bytes } = modelInMemory(model.path, () => exposeValues(model, model.source, names));
      return session(bytes, this.#level);
    });
    const outputs = await tryRun(inner, feeds);
    return read.some((node) => {
      const name = node.inputs[0]?.name ?? "";
      const data = outputs?.get(name) ?? feeds[name]?.data;
      return data !== undefined && isOdd(node, Array.from(data as ArrayLike<number>, Number));
    });
  }

  async #halfNoise(step: number, feeds: Feeds): Promise<Outputs[]> {
    const found: Outputs[] = [];
    for (const seed of noiseSeeds) {
      const make = () => this.#patched((model) => withHalfNoise(model, roundings * step, 1000 * seed));
      const outputs = await tryRun(await this.#session(`noise ${seed}`, make), feeds);
      if (outputs !== undefined) found.push(outputs);
    }
    return found;
  }

  #patched(patchOf: (model: OpenModel) => Patch): Promise<InferenceSession> {
    using model = openModel(this.#task.original);
    return session(patchedInMemory(model, patchOf(model)).bytes, this.#level);
  }

  async [Symbol.asyncDispose](): Promise<void> {
    for (const each of this.#sessions.values()) await (await each).release();
  }
}

function session(model: string | Uint8Array, level: Level): Promise<InferenceSession> {
  const options = { logSeverityLevel: 4, graphOptimizationLevel: level, intraOpNumThreads: 1 } as const;
  return typeof model === "string"
    ? InferenceSession.create(model, options)
    : InferenceSession.create(model, options);
}

async function tryRun(model: InferenceSession, feeds: Feeds): Promise<Outputs | undefined> {
  try {
    const results = await model.run(feeds);
    return new Map(
      Object.entries(results).map(([name, { data }]) => [
        name,
        Array.from(data as ArrayLike<number | bigint>, Number),
      ]),
    );
  } catch (error) {
    if (error instanceof Error) return undefined;
    throw error;
  }
}

function feedsFor(
  inputs: readonly Input[],
  size: Readonly<Record<string, number>>,
  kind: Kind,
  rows: number,
  seed: number,
): Feeds {
  return Object.fromEntries(
    inputs.map(({ name, dtype, dims: declared }) => {
      const dims = declared.map((dim) => (typeof dim === "number" ? dim : (size[dim] ?? 2)));
      const uniform = noise(volume(dims), seed + 77);
      return [name, tensorOf(name, dtype, dims, uniform, kind, rows)];
    }),
  );
}

function tensorOf(
  name: string,
  dtype: string,
  dims: readonly number[],
  uniform: readonly number[],
  kind: Kind,
  rows: number,
): Tensor {
  const last = dims.at(-1) ?? 1;
  // Ids from both ends of the table.
  if (dtype === "int64") {
    const ids = uniform.map((u) => BigInt(Math.floor(u * rows)));
    return new Tensor(
      "int64",
      BigInt64Array.from(ids, (id) => (kind === "plain" && id < 0n ? -1n - id : id)),
      dims,
    );
  }
  if (dtype === "bool") {
    return new Tensor(
      "bool",
      Uint8Array.from(uniform, (u) => (u > (kind === "zero rows" ? 2 : -0.3) ? 1 : 0)),
      dims,
    );
  }
  const masks = [Number.NEGATIVE_INFINITY, -3.4028234663852886e38, -1e4];
  if (name === "mask") {
    const least = masks[Math.floor((1 + (uniform[0] ?? 0)) * 1.499)] ?? -1e4;
    return new Tensor(
      "float32",
      Float32Array.from(uniform, (u) => (u > 0 && kind !== "zero rows" ? 0 : least)),
      dims,
    );
  }
  const numbers = Float32Array.from(uniform, (u, at) => special(2 * u, at, last, kind));
  return new Tensor("float32", numbers, dims);
}

function special(value: number, at: number, last: number, kind: Kind): number {
  const row = Math.floor(at / last);
  if (kind === "infinities" && at % 61 === 7)
    return value < 0 ? Number.NEGATIVE_INFINITY : Number.POSITIVE_INFINITY;
  if (kind === "nan" && at % 97 === 3) return Number.NaN;
  if (kind === "huge") return at % 3 === 0 ? value * 1e30 : value;
  return kind === "zero rows" && row % 2 === 0 ? 0 : value;
}

function nudged(feeds: Feeds, step: number): Feeds {
  return mapped(feeds, (value, at) => value * (1 + (at % 2 === 0 ? step : -step)));
}

function roundedFeeds(feeds: Feeds, precision: RefuteTask["precision"]): Feeds {
  const bits = precision === "bf16" ? 8 : 11;
  return mapped(feeds, (value) => {
    if (!Number.isFinite(value) || value === 0) return value;
    const unit = 2 ** (Math.floor(Math.log2(Math.abs(value))) + 1 - bits);
    return Math.round(value / unit) * unit;
  });
}

function mapped(feeds: Feeds, map: (value: number, at: number) => number): Feeds {
  return Object.fromEntries(
    Object.entries(feeds).map(([name, tensor]) => {
      if (tensor.type !== "float32" || name === "mask") return [name, tensor];
      return [name, new Tensor("float32", Float32Array.from(tensor.data as Float32Array, map), tensor.dims)];
    }),
  );
}

const tolerance = 2e-4;
const halfFactor = 40;
/** A value is rounded where it is computed and where it is stored. */
const roundings = 2;
/** A tie of two goes the other way in one of them. */
const noiseSeeds = Array.from({ length: 16 }, (_, index) => index + 1);
/** Their gates bound a NaN, which a sum of infinities is, to a number, in whole vectors of lanes and not in the rest. */
const recurrent = new Set(["GRU", "LSTM", "RNN"]);
/** What ONNX Runtime makes of a NaN among other numbers in these depends on the order in which it takes them. */
const ordered = new Set(["ReduceMax", "ReduceMin", "MaxPool", "GlobalMaxPool", "ArgMax", "ArgMin", "TopK"]);
const unit = { fp16: 2 ** -11, bf16: 2 ** -8 } as const;

/** What ONNX Runtime makes different things of, by place. */
function dependsOnPlace({ opType }: Node, numbers: readonly number[]): boolean {
  if (recurrent.has(opType)) return !numbers.every(Number.isFinite);
  return ordered.has(opType) && numbers.some(Number.isNaN);
}

function isProductOnOdd({ domain, opType }: Node, numbers: readonly number[]): boolean {
  return findOp(domain, opType)?.product === true && !numbers.every(Number.isFinite);
}

function isSameKind(a: number, b: number): boolean {
  return Number.isFinite(a) ? Number.isFinite(b) : Object.is(a, b);
}

function compare(
  want: ArrayLike<number>,
  got: ArrayLike<number> | undefined,
  variants: readonly ArrayLike<number>[],
  rounded: ArrayLike<number> | undefined,
  precision: RefuteTask["precision"],
  kind: Kind,
): string | undefined {
  if (got?.length !== want.length) return ` has ${got?.length} elements, expected ${want.length}`;
  let [largest, sensitivity, own, error, worst] = [0, 0, 0, 0, -1];
  for (let i = 0; i < want.length; i++) {
    const [x, y] = [want[i] ?? Number.NaN, got[i] ?? Number.NaN];
    if (variants.some((variant) => !isSameKind(x, variant[i] ?? Number.NaN))) continue;
    // The fix says of itself that an infinite sum may come out as NaN; what was a number must be one.
    if (Number.isFinite(x) !== Number.isFinite(y)) return `[${i}] is ${y}, expected ${x}`;
    if (!Number.isFinite(x)) continue;
    largest = Math.max(largest, Math.abs(x));
    for (const variant of variants) sensitivity = Math.max(sensitivity, Math.abs(x - (variant[i] ?? 0)));
    if (rounded !== undefined) own = Math.max(own, Math.abs(x - (rounded[i] ?? 0)));
    if (Math.abs(x - y) > error) [error, worst] = [Math.abs(x - y), i];
  }
  const allowed =
    precision === undefined
      ? Math.max((kind === "huge" ? 5 : 1) * tolerance * largest, 8 * sensitivity)
      : Math.max(halfFactor * Math.max(own, unit[precision] * largest), 8 * sensitivity);
  return error > allowed
    ? `[${worst}] is ${got[worst]}, expected ${want[worst]} (allowed ${allowed})`
    : undefined;
}
