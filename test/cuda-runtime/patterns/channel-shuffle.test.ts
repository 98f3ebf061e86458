/** @file Channel shuffles written out: one launch that reads both halves, of ONNX Runtime's results; a form that is none runs as it is written. */
import fc from "fast-check";
import { describe, expect, it, vi } from "vitest";
import type { Launch } from "../../../cuda-runtime/ir/step.ts";
import { elementCount } from "../../../cuda-runtime/ir/view.ts";
import { recogniseChannelShuffle } from "../../../cuda-runtime/patterns/channel-shuffle.ts";
import { planModel } from "../../../cuda-runtime/plan/build.ts";
import type { Precision } from "../../../cuda-runtime/plan/precision.ts";
import { inferFacts } from "../../../src/facts/infer.ts";
import { modelFromBytes } from "../../../src/onnx/open.ts";
import { weightsOf } from "../../gpu/node-tests-data.ts";
import { info, integers, modelBytes, node, type types } from "../../onnx/build.ts";
import { runPlan } from "../plan/machine.ts";
import { type Feeds, ran } from "../resample-model.ts";
import { attribute, attributes, launchesFor } from "../small-plan.ts";

vi.mock("../../../cuda-runtime/ptx/compile.ts", async (importOriginal) => {
  const real = await importOriginal<typeof import("../../../cuda-runtime/ptx/compile.ts")>();
  const { rememberingChains } = await import("../plan/machine.ts");
  return { ...real, compileChain: rememberingChains(real.compileChain) };
});

interface Form {
  /** Of a half, [batch, channels, …]. */
  readonly half: readonly number[];
  readonly axis: number;
  /** Whether the halves come with channels innermost. */
  readonly isChannelsLast: boolean;
}

/** Halves a and b, and y = both, shuffled, plus one. */
function graphOf({ half, axis, isChannelsLast }: Form): types.IGraphProto {
  const rank = half.length;
  const last = [0, ...[...half.keys()].slice(2), 1];
  const back = [0, rank - 1, ...Array.from({ length: rank - 2 }, (_, at) => at + 1)];
  const size = half[axis] ?? 0;
  const whole = half.with(axis, 2 * size);
  const apart = whole.toSpliced(axis, 1, 2, size);
  const swapped = [...apart.keys()].with(axis, axis + 1).with(axis + 1, axis);
  const given = isChannelsLast ? last.map((at) => half[at] ?? 0) : half;
  const turned = (name: string) =>
    node("Transpose", [`${name}_last`], [name], { attribute: [attributes("perm", back)] });
  return {
    name: "shuffle",
    input: ["a", "b"].map((name) => info(isChannelsLast ? `${name}_last` : name, [...given])),
    output: [info("y", [...whole])],
    initializer: [integers("apart", [apart.length], apart), integers("whole", [rank], whole)],
    node: [
      ...(isChannelsLast ? ["a", "b"].map(turned) : []),
      node("Concat", ["a", "b"], ["ab"], { attribute: [attribute("axis", axis)] }),
      node("Reshape", ["ab", "apart"], ["groups"]),
      node("Transpose", ["groups"], ["turned"], { attribute: [attributes("perm", swapped)] }),
      node("Reshape", ["turned", "whole"], ["shuffled"]),
      node("Relu", ["shuffled"], ["y"]),
    ],
  };
}

const forms: fc.Arbitrary<Form> = fc
  .record({
    half: fc.array(fc.integer({ min: 1, max: 6 }), { minLength: 2, maxLength: 4 }),
    axisDraw: fc.nat(3),
    isChannelsLast: fc.boolean(),
  })
  .map(({ half, axisDraw, isChannelsLast }) => ({
    ...{ half, axis: axisDraw % half.length },
    isChannelsLast: isChannelsLast && half.length > 2,
  }))
  // A half of one element is no shuffle: its Reshape and Transpose move nothing.
  .filter(({ half, axis }) => (half[axis] ?? 0) > 1);

const fullForm: Form = { half: [2, 6, 3, 5], axis: 1, isChannelsLast: true };

function feedsOf(bytes: Uint8Array): Feeds {
  using model = modelFromBytes(bytes);
  return Object.fromEntries(
    model.graph.inputs.map(({ name, declared }, seed) => {
      const given = declared?.kind === "tensor" ? (declared.shape ?? []) : [];
      const shape = given.map((size) => (typeof size === "number" ? size : Number.NaN));
      // Multiples of 1/32 up to 2: exact in half.
      const values = Array.from(
        { length: elementCount(shape) },
        (_, at) => (((at + 7 * seed) * 37) % 101) / 32 - 1,
      );
      return [name, { type: "float32", shape, values }] as const;
    }),
  );
}

async function expectRuntimes(bytes: Uint8Array, precision: Precision) {
  using model = modelFromBytes(bytes);
  const plan = planModel({ model, precision, weights: weightsOf(model) });
  const feeds = feedsOf(bytes);
  const inputs = Object.entries(feeds).map(([name, { values }]) => [name, Array.from(values)] as const);
  const [actual = []] = Object.values(runPlan(plan, Object.fromEntries(inputs)));
  const expected = await ran(bytes, feeds);
  expect(actual).toEqual(Array.from(expected ?? []));
  return { plan, macros: recogniseChannelShuffle(inferFacts(model).root) };
}

describe("a channel shuffle", () => {
  it("is one launch, whose results are ONNX Runtime's, along any axis and in any order of memory", async () => {
    await fc.assert(
      fc.asyncProperty(forms, fc.constantFrom<Precision>("fp32", "fp16", "bf16"), async (form, precision) => {
        const { plan, macros } = await expectRuntimes(modelBytes(graphOf(form)), precision);
        expect(macros).toHaveLength(1);
        // Beside one for each input that comes in float32, which is half here.
        const isConversion = ({ reads }: Launch) => precision !== "fp32" && reads[0]?.type === "float32";
        const launches = launchesFor(plan.steps, "ChannelShuffle").filter((launch) => !isConversion(launch));
        expect(launches).toHaveLength(1);
        expect(plan.steps.filter(({ operator }) => operator === "Concat")).toEqual([]);
      }),
      { numRuns: 120, seed: 3 },
    );
  });

  it("of channels that lie innermost leaves them there, two of 2 bytes a store", async () => {
    const { plan } = await expectRuntimes(modelBytes(graphOf(fullForm)), "fp16");
    const [launch] = launchesFor(plan.steps, "ChannelShuffle");
    expect(launch?.writes.map(({ type }) => type)).toEqual(["uint32"]);
    expect(launch?.writes[0]?.strides).toEqual([90, 1, 30, 6]);
  });
});

type Change = (graph: types.IGraphProto) => types.IGraphProto;

const changed =
  (output: string, change: (old: types.INodeProto) => types.INodeProto): Change =>
  (graph) => ({
    ...graph,
    node: (graph.node ?? []).map((old) => (old.output?.includes(output) === true ? change(old) : old)),
  });

const others: readonly (readonly [string, Change])[] = [
  [
    "another permutation",
    changed("turned", (old) => ({ ...old, attribute: [attributes("perm", [0, 2, 1, 4, 3])] })),
  ],
  ["three parts", changed("ab", (old) => ({ ...old, input: ["a", "b", "b"] }))],
  [
    "a concatenation that others read",
    (graph) => ({ ...graph, output: [...(graph.output ?? []), info("ab", [2, 12, 3, 5])] }),
  ],
  [
    "halves apart in another place",
    (graph) => ({
      ...graph,
      initializer: [integers("apart", [5], [2, 6, 2, 3, 5]), ...(graph.initializer ?? []).slice(1)],
    }),
  ],
];

describe("no channel shuffle", () => {
  it.each(others)("is %s", (_, change) => {
    const graph = change(graphOf({ ...fullForm, isChannelsLast: false }));
    using model = modelFromBytes(modelBytes(graph));
    expect(recogniseChannelShuffle(inferFacts(model).root)).toEqual([]);
  });
});
