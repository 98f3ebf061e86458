/** @file Resampling on the GPU against its definition in double precision: drawn sizes, views, rules, and times of all kinds. */
import type { FloatStorage } from "../../../cuda-runtime/ir/storage.ts";
import { stridesOf } from "../../../cuda-runtime/ir/view.ts";
import {
  type Blend,
  emitResample,
  plainWeight,
  type ResampleTuning,
  type WeightRule,
} from "../../../cuda-runtime/kernels/resample/resample.ts";
import type { Harness, KernelCase, Tolerance } from "../../../cuda-runtime/session/harness.ts";
import { resampled, termsOf } from "../resample-reference.ts";

const tolerances: Readonly<Record<FloatStorage, Tolerance>> = {
  float32: { relative: 1e-4, absolute: 1e-4 },
  float16: { relative: 4e-3, absolute: 4e-3 },
  bfloat16: { relative: 3e-2, absolute: 3e-2 },
};

const timeKinds = [
  "plain",
  "outside",
  "nan",
  "repeated",
  "unsorted",
  "one row",
  "nan times",
  "infinite",
] as const;
type TimeKind = (typeof timeKinds)[number];

interface Drawn {
  readonly type: FloatStorage;
  readonly kind: TimeKind;
  readonly batch: number;
  readonly source: number;
  readonly target: number;
  readonly features: number;
  readonly isShared: boolean;
  /** Elements between one row and the next beside the row. */
  readonly gap: number;
  readonly offset: number;
  readonly isInclusive: boolean;
  readonly blend: Blend;
  readonly weight: WeightRule;
  /** Behind the last time, both rows are the last one. */
  readonly isFromBelow: boolean;
  readonly tuning: ResampleTuning;
  readonly seed: number;
}

function randomNumbers(seed: number): () => number {
  let state = Math.imul(seed, 0x9e37_79b1) >>> 0;
  return () => {
    state = (Math.imul(state, 1664525) + 1013904223) >>> 0;
    return (state >>> 8) / 2 ** 24;
  };
}

const types: readonly FloatStorage[] = ["float32", "float16", "bfloat16"];
const blends: readonly Blend[] = ["oneProduct", "twoProducts", "nearerEnd"];
const widths = [1, 2, 3, 6, 7, 8, 14, 16, 24, 32, 64, 96, 130, 256, 520, 1024, 2056];

export function drawn(seed: number): Drawn {
  const random = randomNumbers(seed);
  const upTo = (most: number) => 1 + Math.floor(random() * most);
  const pick = <Item>(items: readonly Item[], otherwise: Item) =>
    items[Math.floor(random() * items.length)] ?? otherwise;
  const kind = pick(timeKinds, "plain");
  const isLong = random() < 0.2;
  const features = pick(widths, 8);
  const type = pick(types, "float32");
  const isAligned = random() < 0.6;
  const rule: WeightRule = {
    ...plainWeight,
    least: random() < 0.7 ? 0 : -Infinity,
    most: random() < 0.7 ? 1 : Infinity,
    type: random() < 0.2 ? type : "float32",
  };
  const guards: readonly Partial<WeightRule>[] = [
    {},
    { zeroSpan: 1 },
    { spanLeast: Math.fround(1e-6) },
    { spanAdd: Math.fround(1e-6) },
    { empty: { kind: "noSpan", weight: 0 } },
    { empty: { kind: "notPositive", weight: 1 } },
  ];
  return {
    ...{ type, kind, features, seed },
    batch: upTo(4),
    source: kind === "one row" ? 1 : 1 + upTo(isLong ? 5000 : 70),
    target: upTo(isLong ? 600 : 40),
    isShared: random() < 0.3,
    gap: isAligned ? 8 * Math.floor(random() * 2) : Math.floor(random() * 4),
    offset: isAligned ? 0 : Math.floor(random() * 3),
    isInclusive: random() < 0.5,
    blend: pick(blends, "oneProduct"),
    weight: { ...rule, ...pick(guards, {}) },
    isFromBelow: random() < 0.4,
    tuning: { lanes: pick([1, 2, 4, 8, 16, 32], 8) },
  };
}

function timesOf({ kind, source }: Drawn, random: () => number): number[] {
  const times = Array.from({ length: source }, () => Math.fround(random() * 100));
  if (kind === "repeated") for (let at = 1; at < source; at += 2) times[at] = times[at - 1] ?? 0;
  if (kind !== "unsorted") times.sort((a, b) => a - b);
  if (kind === "nan times") times.fill(Number.NaN, Math.floor(source / 2));
  return times;
}

function targetsOf({ kind, target }: Drawn, times: readonly number[], random: () => number): number[] {
  return Array.from({ length: target }, (_, at) => {
    if (kind === "nan" && at % 3 === 0) return Number.NaN;
    if (kind === "infinite" && at % 3 === 0) return at % 2 === 0 ? Infinity : -Infinity;
    if (at % 4 === 0) return times[Math.floor(random() * times.length)] ?? 0;
    return Math.fround(kind === "outside" ? random() * 400 - 100 : random() * 100);
  });
}

function run(harness: Harness, each: Drawn): void {
  const { type, batch, source, target, features, isShared, gap, offset, isInclusive, blend } = each;
  const random = randomNumbers(each.seed + 1_000_000);
  const lists = isShared ? 1 : batch;
  const lines = Array.from({ length: lists }, () => timesOf(each, random));
  const aims = lines.map((times) => targetsOf(each, times, random));
  const repeated = <Item>(lists: readonly Item[][]) =>
    Array.from({ length: batch }, (_, b) => lists[isShared ? 0 : b] ?? []).flat();
  const [times, targets] = [repeated(lines), repeated(aims)];
  const strided = (length: number) =>
    isShared ? { strides: [0, 1] } : { strides: stridesOf([batch, length]) };
  const [row, shape] = [features + gap, [batch, source, features]];
  const x = harness.tensor(type, shape, { seed: each.seed, strides: [source * row, row, 1], offset });
  const y = harness.output(type, [batch, target, features]);
  const low = each.isFromBelow
    ? { shift: -1, least: 0, most: source - 1 }
    : { shift: -1, least: Math.min(0, source - 2), most: source - 2 };
  const high = { shift: 0, least: Math.min(1, source - 1), most: source - 1 };
  const request = {
    ...{ x, y, isInclusive, low, high, weight: each.weight, blend },
    times: harness.tensor("float32", [batch, source], { values: times, ...strided(source) }),
    targets: harness.tensor("float32", [batch, target], { values: targets, ...strided(target) }),
  };
  emitResample(harness.emitter, request, each.tuning);
  harness.execute();
  const { spanAdd, spanLeast, zeroSpan, empty, least, most } = each.weight;
  const rule = {
    ...{ batch, source, target, features, isInclusive, low, high, spanAdd, spanLeast, zeroSpan },
    emptyWeight: empty.weight,
    emptyKind: ["none", "noSpan", "notPositive"].indexOf(empty.kind),
    weightLeast: least,
    weightMost: most,
    blend: blends.indexOf(blend),
  };
  const operands = { x: harness.values(x), times, targets };
  const expected = resampled(rule, operands, rounded(each.weight.type));
  const terms = termsOf(rule, operands, rounded(each.weight.type));
  const actual = harness.read(y);
  // Two products of a huge weight cancel: what float32, and so the model, leaves of them is no more than this close.
  const reachable = expected.map((value, index) => {
    const found = actual[index] ?? Number.NaN;
    const isNear = Math.abs(found - value) <= float32Slack * (terms[index] ?? 0);
    return Number.isFinite(value) && isNear ? found : value;
  });
  harness.expectClose(y, reachable.map(rounded(type)), toleranceOf(each, expected), "resampled");
}

/** Of the largest term: a few roundings. */
const float32Slack = 2 ** -21;

/** Where nothing limits a weight, it is large behind the ends and where hardly any time is between two rows. */
function toleranceOf({ type }: Drawn, expected: Float64Array): Tolerance {
  const { relative, absolute } = tolerances[type];
  const largest = expected.reduce(
    (most, value) => (Number.isFinite(value) ? Math.max(most, Math.abs(value)) : most),
    0,
  );
  return { relative, absolute: absolute * (1 + largest) };
}

function rounded(type: FloatStorage): (value: number) => number {
  if (type === "float32") return Math.fround;
  const bits = type === "float16" ? 10 : 7;
  const least = type === "float16" ? -14 : -126;
  const most = type === "float16" ? 65_520 : Infinity;
  return (value) => {
    if (!Number.isFinite(value) || value === 0) return value;
    if (Math.abs(value) >= most) return Math.sign(value) * Infinity;
    const exponent = Math.max(least, Math.floor(Math.log2(Math.abs(value))));
    const unit = 2 ** (exponent - bits);
    const scaled = value / unit;
    const down = Math.floor(scaled);
    const rest = scaled - down;
    const isUp = rest > 0.5 || (rest === 0.5 && down % 2 !== 0);
    return (isUp ? down + 1 : down) * unit;
  };
}

const count = 200;

function caseOf(seed: number): KernelCase {
  const each = drawn(seed);
  const { type, kind, batch, source, target, features } = each;
  return {
    name: `drawn ${seed}: ${type} ${batch}x${source}->${target}x${features}, ${kind}`,
    run: (harness) => run(harness, each),
  };
}

/** Forms that take rows at multiples of 16 bytes; the copy engine's is Hopper's. */
function wideCase(seed: number, form: string, tuning: ResampleTuning): KernelCase {
  const each = drawn(seed);
  const features = 8 * Math.ceil(each.features / 8);
  const wide: Drawn = { ...each, features, gap: 0, offset: 0, tuning };
  return {
    name: `${form} ${seed}: ${wide.type} ${wide.batch}x${wide.source}->${wide.target}x${features}, ${wide.kind}`,
    run: (harness) => {
      if (tuning.isBulk !== true || harness.emitter.target.computeCapability === 90) run(harness, wide);
    },
  };
}

export const cases: readonly KernelCase[] = [
  ...Array.from({ length: count }, (_, at) => caseOf(at + 1)),
  ...Array.from({ length: 24 }, (_, at) => wideCase(at + 301, "bulk", { isBulk: true, lanes: 8 })),
  ...Array.from({ length: 24 }, (_, at) => wideCase(at + 401, "deep", { isDeep: true })),
  ...Array.from({ length: 24 }, (_, at) => wideCase(at + 501, "streamed", { isStreamed: true })),
  ...Array.from({ length: 24 }, (_, at) => wideCase(at + 701, "by warps", { isByWarps: true })),
  ...Array.from({ length: 8 }, (_, at) =>
    wideCase(at + 601, "deep, streamed", { isDeep: true, isStreamed: true }),
  ),
];
