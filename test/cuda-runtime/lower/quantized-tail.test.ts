/** @file A residual behind a product of codes: one launch, and bit for bit what launches of their own give. */
import fc from "fast-check";
import { describe, expect, test, vi } from "vitest";
import type { Plan } from "../../../cuda-runtime/ir/step.ts";
import { planModel } from "../../../cuda-runtime/plan/build.ts";
import { modelFromBytes } from "../../../src/onnx/open.ts";
import { weightsOf } from "../../gpu/node-tests-data.ts";
import { floats, info, modelBytes, node, type types } from "../../onnx/build.ts";
import { stored } from "../../verify/code-models.ts";
import { runCodes } from "../kernels/code-machine.ts";
import { runPlan } from "../plan/machine.ts";
import { attribute, attributes } from "../small-plan.ts";

vi.mock("../../../cuda-runtime/ptx/compile.ts", async (original) => {
  const real = await original<typeof import("../../../cuda-runtime/ptx/compile.ts")>();
  const { rememberingChains } = await import("../plan/machine.ts");
  return { ...real, compileChain: rememberingChains(real.compileChain) };
});

vi.mock("../../../cuda-runtime/kernels/transpose/transpose.ts", async () => {
  const { plainCopies } = await import("../kernels/code-machine.ts");
  return { copyViews: plainCopies };
});

function planned(graph: types.IGraphProto): Plan {
  const bytes = modelBytes(graph, { irVersion: 9, opsetImport: [{ domain: "", version: 19 }] });
  using model = modelFromBytes(bytes);
  return planModel({ model, precision: "model", weights: weightsOf(model) });
}

function entriesOf(plan: Plan): string[] {
  return plan.steps.flatMap(({ action }) =>
    action.kind === "launch"
      ? [action.launch.kernel.entry.replace(/_[0-9a-f]{8,}$|_[hdst]?\d+x\d+$/, "")]
      : [],
  );
}

const [size, channels, filters] = [3, 16, 5];
const count = size * size;
const codeType = fc.constantFrom("int8" as const, "uint8" as const);
const scale = fc.oneof(
  fc.constantFrom(0.125, 0.0625, 0.5),
  fc.float({ min: Math.fround(0.01), max: Math.fround(0.3), noNaN: true }),
);
const list = (length: number, min: number, max: number) =>
  fc.array(fc.integer({ min, max }), { minLength: length, maxLength: length });

const blocks = fc
  .record({
    ...{ xType: codeType, betweenType: codeType, residualType: codeType, yType: codeType },
    ...{ isBetween: fc.boolean(), hasRelu: fc.boolean(), isFloat: fc.boolean(), isFirst: fc.boolean() },
  })
  .chain((kinds) => {
    const bounds = (type: "int8" | "uint8") =>
      type === "int8" ? ([-128, 127] as const) : ([0, 255] as const);
    const codesOf = (type: "int8" | "uint8", length: number) => {
      const [min, max] = bounds(type);
      return list(length, min, max);
    };
    const zeroOf = (type: "int8" | "uint8") => fc.integer({ min: bounds(type)[0], max: bounds(type)[1] });
    return fc.record({
      kinds: fc.constant(kinds),
      x: codesOf(kinds.xType, channels * count),
      w: list(filters * channels, -127, 127),
      bias: list(filters, -3000, 3000),
      residual: codesOf(kinds.residualType, filters * count),
      ...{ xs: scale, bs: scale, rs: scale, ys: scale },
      ws: fc.array(scale, { minLength: filters, maxLength: filters }),
      ...{ xz: zeroOf(kinds.xType), bz: zeroOf(kinds.betweenType) },
      ...{ rz: zeroOf(kinds.residualType), yz: zeroOf(kinds.yType) },
    });
  });
type Block = typeof blocks extends fc.Arbitrary<infer T> ? T : never;

/** x as codes, a 1 x 1 convolution, codes between, codes of a residual, their sum. `isApart`: somebody reads the convolution's result. */
function build(block: Block, isApart: boolean, side = size): types.IGraphProto {
  const { xType, betweenType, residualType, yType, isBetween, hasRelu, isFloat, isFirst } = block.kinds;
  const [own, real] = isBetween ? ["cd", "cd"] : ["c", "c"];
  const shape = [1, filters, side, side];
  const total = hasRelu ? "relu" : "sum";
  const wire = { int8: 3, uint8: 2 } as const;
  return {
    input: [info("x", [1, channels, side, side], wire[xType]), info("r", shape, wire[residualType])],
    output: [
      isFloat ? info(total, shape) : info("y", shape, wire[yType]),
      ...(isApart ? [info(own, shape)] : []),
    ],
    initializer: [
      ...[floats("xs", [], [block.xs]), floats("bs", [], [block.bs]), floats("rs", [], [block.rs])],
      ...[floats("ys", [], [block.ys]), floats("ws", [filters], block.ws)],
      floats(
        "fs",
        [filters],
        block.ws.map((each) => Math.fround(each * block.xs)),
      ),
      ...[stored("xz", xType, [], [block.xz]), stored("bz", betweenType, [], [block.bz])],
      ...[stored("rz", residualType, [], [block.rz]), stored("yz", yType, [], [block.yz])],
      stored("w", "int8", [filters, channels, 1, 1], block.w),
      stored("b", "int32", [filters], block.bias),
    ],
    node: [
      node("DequantizeLinear", ["x", "xs", "xz"], ["xf"]),
      node("DequantizeLinear", ["w", "ws"], ["wf"], { attribute: [attribute("axis", 0)] }),
      node("DequantizeLinear", ["b", "fs"], ["bf"], { attribute: [attribute("axis", 0)] }),
      node("DequantizeLinear", ["r", "rs", "rz"], ["rf"]),
      node("Conv", ["xf", "wf", "bf"], ["c"], { attribute: [attributes("kernel_shape", [1, 1])] }),
      ...(isBetween
        ? [
            node("QuantizeLinear", ["c", "bs", "bz"], ["cq"]),
            node("DequantizeLinear", ["cq", "bs", "bz"], ["cd"]),
          ]
        : []),
      node("Add", isFirst ? ["rf", real] : [real, "rf"], ["sum"]),
      ...(hasRelu ? [node("Relu", ["sum"], ["relu"])] : []),
      ...(isFloat ? [] : [node("QuantizeLinear", [total, "ys", "yz"], ["y"])]),
    ],
  };
}

function outputOf(block: Block, isApart: boolean): { readonly entries: string[]; readonly values: number[] } {
  const plan = planned(build(block, isApart));
  const outputs = runPlan(plan, { x: block.x, r: block.residual }, runCodes);
  const { isFloat, hasRelu } = block.kinds;
  return { entries: entriesOf(plan), values: outputs[isFloat ? (hasRelu ? "relu" : "sum") : "y"] ?? [] };
}

describe("a residual of codes", () => {
  test("is added by the kernel of the convolution, and gives what launches of their own do, bit for bit", () => {
    fc.assert(
      fc.property(blocks, (block) => {
        const [one, apart] = [outputOf(block, false), outputOf(block, true)];
        expect(one.entries.filter((entry) => entry.startsWith("chain"))).toEqual([]);
        expect(apart.entries.filter((entry) => entry.startsWith("chain")).length).toBeGreaterThan(0);
        expect(one.values).toHaveLength(filters * count);
        expect(one.values.map((value) => value + 0)).toEqual(apart.values.map((value) => value + 0));
      }),
      { numRuns: 60, endOnFailure: true },
    );
  });
});

describe("a convolution of three channels", () => {
  const stems = fc
    .record({
      ...{
        xType: codeType,
        taps: fc.constantFrom(2, 3, 7),
        stride: fc.constantFrom(1, 2),
        pad: fc.constantFrom(0, 1, 3),
      },
      ...{ images: fc.constantFrom(1, 2), side: fc.constantFrom(7, 8) },
    })
    .chain((sizes) => {
      const { xType, taps, images, side } = sizes;
      const [min, max] = xType === "int8" ? [-128, 127] : [0, 255];
      return fc.record({
        sizes: fc.constant(sizes),
        x: list(images * 3 * side * side, -40, 40),
        w: list(filters * 3 * taps * taps, -127, 127),
        ...{ xs: scale, ys: scale, xz: fc.integer({ min, max }) },
        ws: fc.array(scale, { minLength: filters, maxLength: filters }),
      });
    });

  test("quantizes its floats and lays windows of rows side by side in one launch, and gives the same codes", () => {
    fc.assert(
      fc.property(stems, ({ sizes, x, w, xs, ys, xz, ws }) => {
        const { xType, taps, stride, pad, images, side } = sizes;
        const out = Math.floor((side + 2 * pad - taps) / stride) + 1;
        const wire = xType === "int8" ? 3 : 2;
        const run = (isApart: boolean) => {
          const graph = {
            input: [info("x", [images, 3, side, side])],
            output: [
              info("y", [images, filters, out, out], 3),
              ...(isApart ? [info("xq", [images, 3, side, side], wire)] : []),
            ],
            initializer: [
              ...[floats("xs", [], [xs]), floats("ys", [], [ys * 40]), floats("ws", [filters], ws)],
              ...[stored("xz", xType, [], [xz]), stored("yz", "int8", [], [3])],
              stored("w", "int8", [filters, 3, taps, taps], w),
            ],
            node: [
              node("QuantizeLinear", ["x", "xs", "xz"], ["xq"]),
              node("DequantizeLinear", ["xq", "xs", "xz"], ["xf"]),
              node("DequantizeLinear", ["w", "ws"], ["wf"], { attribute: [attribute("axis", 0)] }),
              node("Conv", ["xf", "wf"], ["c"], {
                attribute: [
                  attributes("kernel_shape", [taps, taps]),
                  attributes("strides", [stride, stride]),
                  attributes("pads", [pad, pad, pad, pad]),
                ],
              }),
              node("QuantizeLinear", ["c", "ys", "yz"], ["y"]),
            ],
          };
          const plan = planned(graph);
          const values = x.map((each) => Math.fround((each * xs) / 1.5));
          return { entries: entriesOf(plan), values: runPlan(plan, { x: values }, runCodes)["y"] };
        };
        const [one, apart] = [run(false), run(true)];
        const launched = one.entries.filter((entry) => entry !== "plain_copy");
        expect(launched.map((entry) => entry.split("_", 2).join("_"))).toEqual(["code_rows", "codes_conv"]);
        expect(apart.entries).toContain("code_rows");
        expect(one.values).toEqual(apart.values);
      }),
      { numRuns: 25, endOnFailure: true },
    );
  });
});

describe("a transformer's feed-forward", () => {
  const [rows, width, inner] = [3, 16, 32];
  /** Products, GELU written out between, the input added behind. `isApart`: somebody reads what is between. */
  const build = (isApart: boolean): types.IGraphProto => ({
    input: [info("x", [rows, width])],
    output: [
      info("y", [rows, width]),
      ...(isApart ? [info("h", [rows, inner]), info("o", [rows, width])] : []),
    ],
    initializer: [
      ...[floats("xs", [], [0.02]), floats("hs", [], [0.03]), floats("ws", [], [0.004])],
      ...[floats("root", [], [Math.SQRT2]), floats("one", [], [1]), floats("half", [], [0.5])],
      floats(
        "b1",
        [inner],
        Array.from({ length: inner }, (_, at) => ((at * 7) % 11) / 20 - 0.2),
      ),
      floats(
        "b2",
        [width],
        Array.from({ length: width }, (_, at) => ((at * 5) % 7) / 9 - 0.3),
      ),
      stored(
        "w1",
        "int8",
        [width, inner],
        Array.from({ length: width * inner }, (_, at) => ((at * 37) % 251) - 125),
      ),
      stored(
        "w2",
        "int8",
        [inner, width],
        Array.from({ length: width * inner }, (_, at) => ((at * 91) % 253) - 126),
      ),
      ...[stored("xz", "uint8", [], [120]), stored("hz", "uint8", [], [11])],
    ],
    node: [
      node("QuantizeLinear", ["x", "xs", "xz"], ["xq"]),
      node("DequantizeLinear", ["xq", "xs", "xz"], ["xd"]),
      node("DequantizeLinear", ["w1", "ws"], ["w1f"]),
      node("DequantizeLinear", ["w2", "ws"], ["w2f"]),
      node("MatMul", ["xd", "w1f"], ["m"]),
      node("Add", ["b1", "m"], ["h"]),
      node("Div", ["h", "root"], ["d"]),
      node("Erf", ["d"], ["e"]),
      node("Add", ["e", "one"], ["e1"]),
      node("Mul", ["h", "e1"], ["g"]),
      node("Mul", ["g", "half"], ["gelu"]),
      node("QuantizeLinear", ["gelu", "hs", "hz"], ["hq"]),
      node("DequantizeLinear", ["hq", "hs", "hz"], ["hd"]),
      node("MatMul", ["hd", "w2f"], ["p"]),
      node("Add", ["p", "b2"], ["o"]),
      node("Add", ["x", "o"], ["y"]),
    ],
  });
  const x = Array.from({ length: rows * width }, (_, at) => Math.fround(((at * 29) % 97) / 40 - 1.2));

  test("is a launch that quantizes and two products", () => {
    const [one, apart] = [planned(build(false)), planned(build(true))];
    expect(entriesOf(one)).toEqual(["chain", "codes_u8s8", "codes_u8s8"]);
    expect(entriesOf(apart).length).toBeGreaterThan(3);
    const [own, other] = [
      runPlan(one, { x }, runCodes)["y"] ?? [],
      runPlan(apart, { x }, runCodes)["y"] ?? [],
    ];
    expect(own).toHaveLength(rows * width);
    // GELU's last digit may make another code of one number: a step of a product's sum.
    for (const [at, value] of own.entries()) expect(value).toBeCloseTo(other[at] ?? Number.NaN, 2);
  });

  test("leaves an activation whose input somebody else reads", () => {
    const graph = build(false);
    const seen = { ...graph, output: [...(graph.output ?? []), info("d", [rows, inner])] };
    expect(entriesOf(planned(seen)).filter((entry) => entry === "chain").length).toBeGreaterThan(1);
  });
});

describe("products of the same codes", () => {
  const [rows, depth] = [3, 32];
  const widths = { q: 16, k: 16, v: 8 } as const;
  const names = ["q", "k", "v"] as const;
  const x = Array.from({ length: rows * depth }, (_, at) => ((at * 53) % 256) - 128);
  const build = (wanted: readonly (keyof typeof widths)[]): types.IGraphProto => ({
    input: [info("x", [rows, depth], 3)],
    output: wanted.map((name) => info(`${name}_y`, [rows, widths[name]])),
    initializer: [
      ...[floats("xs", [], [0.02]), stored("xz", "int8", [], [-9])],
      ...wanted.flatMap((name) => {
        const n = widths[name];
        const seed = names.indexOf(name) + 3;
        return [
          stored(
            `${name}_w`,
            "int8",
            [depth, n],
            Array.from({ length: depth * n }, (_, at) => ((at * 37 * seed) % 251) - 125),
          ),
          // One scale for all, or one a column.
          floats(
            `${name}_s`,
            name === "v" ? [] : [n],
            Array.from({ length: name === "v" ? 1 : n }, (_, at) => 0.003 + (at * seed) / 9000),
          ),
          ...(name === "k"
            ? []
            : [
                floats(
                  `${name}_b`,
                  [n],
                  Array.from({ length: n }, (_, at) => (at - seed) / 7),
                ),
              ]),
        ];
      }),
    ],
    node: [
      node("DequantizeLinear", ["x", "xs", "xz"], ["xf"]),
      ...wanted.flatMap((name) => [
        node("DequantizeLinear", [`${name}_w`, `${name}_s`], [`${name}_wf`], {
          attribute: [attribute("axis", 1)],
        }),
        node("MatMul", ["xf", `${name}_wf`], [name === "k" ? "k_y" : `${name}_m`]),
        ...(name === "k" ? [] : [node("Add", [`${name}_m`, `${name}_b`], [`${name}_y`])]),
      ]),
    ],
  });

  test("are one product, whose slices are what each gives by itself, bit for bit", () => {
    const together = planned(build(names));
    expect(entriesOf(together).filter((entry) => entry.startsWith("codes_"))).toHaveLength(1);
    const all = runPlan(together, { x }, runCodes);
    for (const name of names) {
      const own = runPlan(planned(build([name])), { x }, runCodes)[`${name}_y`];
      expect(own).toHaveLength(rows * widths[name]);
      expect(all[`${name}_y`]).toEqual(own);
    }
  });
});
