/** @file Resampling written out: each form is one launch, of the same results as ONNX Runtime's; a form that is none stays as it is. */
import { readFileSync } from "node:fs";
import { onnx } from "onnx-proto";
import { describe, expect, it } from "vitest";
import { bucketizeModel, halfModel, resampleFunction, resampleModel } from "../../../fixtures/resample.ts";
import { runtimeModels } from "../../../fixtures/runtime.ts";
import { modelFromBytes } from "../../../src/onnx/open.ts";
import { lint } from "../../rules/lint.ts";
import { computed, type Feeds, planned, ran } from "../resample-model.ts";

const forms = {
  resample: resampleModel,
  "resample-function": resampleFunction,
  "resample-bucketize": bucketizeModel,
  "resample-half": halfModel,
} as const;
type Form = keyof typeof forms;

function randomNumbers(seed: number): () => number {
  let state = Math.imul(seed, 0x9e37_79b1) >>> 0;
  return () => {
    state = (Math.imul(state, 1664525) + 1013904223) >>> 0;
    return (state >>> 8) / 2 ** 24;
  };
}

type Oddity = "plain" | "outside" | "nan" | "repeated" | "unsorted" | "one row" | "nan times" | "infinite";
const oddities: readonly Oddity[] = [
  "plain",
  "outside",
  "nan",
  "repeated",
  "unsorted",
  "one row",
  "nan times",
  "infinite",
];

interface Drawn {
  readonly bytes: Uint8Array;
  readonly feeds: Feeds;
}

function draw(form: Form, oddity: Oddity, seed: number): Drawn {
  const random = randomNumbers(seed);
  const upTo = (most: number) => 1 + Math.floor(random() * most);
  const [batch, target, features] = [upTo(3), upTo(9), upTo(5)];
  const source = oddity === "one row" ? 1 : 1 + upTo(12);
  const isShared = form === "resample-bucketize";
  const lists = isShared ? 1 : batch;
  const times = Array.from({ length: lists }, () => timesOf(source, oddity, random)).flat();
  const targets = Array.from({ length: lists * target }, (_, at) => {
    if (oddity === "nan" && at % 3 === 0) return Number.NaN;
    if (oddity === "infinite" && at % 3 === 0) return at % 2 === 0 ? Infinity : -Infinity;
    if (at % 4 === 0) return times[Math.floor(random() * times.length)] ?? 0;
    return oddity === "outside" ? random() * 40 - 10 : random() * 10;
  });
  const type = form === "resample-half" ? "float16" : "float32";
  const x = Array.from({ length: batch * source * features }, () => Math.round(random() * 512 - 256) / 64);
  const feeds: Feeds = {
    x: { type, shape: [batch, source, features], values: x },
    times: {
      type: "float32",
      shape: isShared ? [source] : [batch, source],
      values: Float32Array.from(times),
    },
    targets: {
      type: "float32",
      shape: isShared ? [target] : [batch, target],
      values: Float32Array.from(targets),
    },
  };
  const sizes = { batch: "batch", source: "source", target: "target", features };
  return { bytes: forms[form](sizes), feeds };
}

function timesOf(source: number, oddity: Oddity, random: () => number): number[] {
  const times = Array.from({ length: source }, () => random() * 10);
  if (oddity === "repeated") for (let at = 1; at < source; at += 2) times[at] = times[at - 1] ?? 0;
  if (oddity !== "unsorted") times.sort((a, b) => a - b);
  if (oddity === "nan times") times.fill(Number.NaN, Math.floor(source / 2));
  return times;
}

function expectSame(actual: Float64Array, expected: Float64Array, isHalf: boolean): void {
  const tolerance = isHalf ? 0.02 : 1e-4;
  expect(actual.length).toBe(expected.length);
  for (const [at, value] of actual.entries()) {
    const wanted = expected[at] ?? 0;
    if (Object.is(value, wanted) || value === wanted) continue;
    expect(Math.abs(value - wanted), `element ${at} is ${value}, not ${wanted}`).toBeLessThan(
      tolerance * (1 + Math.abs(wanted)),
    );
  }
}

describe("resampling", () => {
  it.each(Object.keys(forms) as Form[])(
    "%s is one launch, which gives what ONNX Runtime does",
    async (form) => {
      for (const [index, oddity] of oddities.entries()) {
        for (let round = 0; round < 6; round++) {
          const { bytes, feeds } = draw(form, oddity, 100 * index + round + 1);
          const launches = planned(bytes, feeds);
          expect(launches.map(({ kernel }) => kernel.kind === "built" && kernel.family)).toEqual([
            "resample",
          ]);
          const expected = await ran(bytes, feeds);
          const [launch] = launches;
          if (expected === undefined || launch === undefined) throw new Error("ONNX Runtime does not run it");
          expectSame(computed(launch, feeds), expected, form === "resample-half");
        }
      }
    },
    60_000,
  );

  it("is taken where it is one, and gives what ONNX Runtime does, whatever is changed in a model", async () => {
    const random = randomNumbers(77);
    let taken = 0;
    for (let round = 0; round < 240; round++) {
      const names = Object.keys(forms) as Form[];
      const form = names[round % names.length] ?? "resample";
      const { bytes, feeds } = draw(form, "plain", round + 1);
      const changed = mutated(bytes, random);
      const expected = await ran(changed, feeds);
      if (expected === undefined) continue;
      const launches = plannedOrNone(changed, feeds);
      const [launch, ...more] = launches;
      if (launch?.kernel.kind !== "built" || launch.kernel.family !== "resample" || more.length > 0) continue;
      taken++;
      expectSame(computed(launch, feeds), expected, form === "resample-half");
    }
    expect(taken).toBeGreaterThan(20);
  });
});

function plannedOrNone(bytes: Uint8Array, feeds: Feeds) {
  try {
    return planned(bytes, feeds);
  } catch {
    return [];
  }
}

const swaps: Readonly<Record<string, readonly string[]>> = {
  Less: ["LessOrEqual", "Greater"],
  LessOrEqual: ["Less", "GreaterOrEqual"],
  Greater: ["GreaterOrEqual", "Less"],
  Add: ["Sub", "Mul"],
  Sub: ["Add"],
  Mul: ["Add", "Div"],
  Div: ["Mul"],
  Min: ["Max"],
  Max: ["Min"],
  Clip: ["Identity"],
};

/** A node does something else, takes its inputs in another order, another node's result, or another constant. */
function mutated(bytes: Uint8Array, random: () => number): Uint8Array {
  const model = onnx.ModelProto.decode(bytes);
  const nodes = model.functions?.[0]?.node ?? model.graph?.node ?? [];
  const pick = <Item>(items: readonly Item[]) => items[Math.floor(random() * items.length)];
  for (let tries = 0; tries < 20; tries++) {
    const node = pick(nodes);
    const inputs = node?.input ?? [];
    const kind = Math.floor(random() * 4);
    const others = swaps[node?.opType ?? ""];
    if (node === undefined) continue;
    if (kind === 0 && others !== undefined) {
      const other = pick(others) ?? "";
      if (other === "Identity") node.input = inputs.slice(0, 1);
      node.opType = other;
      break;
    }
    if (kind === 1 && inputs.length >= 2) {
      [inputs[0], inputs[1]] = [inputs[1] ?? "", inputs[0] ?? ""];
      break;
    }
    const constant = node.opType === "Constant" ? node.attribute?.[0] : undefined;
    if (kind === 2 && constant !== undefined && constant.name !== "value_ints") {
      if (constant.name === "value_int") constant.i = Math.floor(random() * 4) - 1;
      else constant.f = random() * 2 - 0.5;
      break;
    }
    const before = nodes.slice(0, nodes.indexOf(node)).flatMap(({ output }) => output ?? []);
    const source = pick([...before, "times", "targets"]);
    if (kind === 3 && inputs.length > 0 && source !== undefined) {
      inputs[Math.floor(random() * inputs.length)] = source;
      break;
    }
  }
  return onnx.ModelProto.encode(model).finish();
}

describe("models for the runtime", () => {
  it.each(Object.entries(runtimeModels))("%s is what `npm run fixtures` writes", (name, build) => {
    const file = new URL(`../../../fixtures/runtime/${name}.onnx`, import.meta.url);
    expect(Buffer.from(build()).equals(readFileSync(file))).toBe(true);
  });

  it.each(Object.entries(runtimeModels))("%s is lint's to read", (_name, build) => {
    using model = modelFromBytes(build());
    expect(lint(model).skipped).toEqual([]);
  });
});
