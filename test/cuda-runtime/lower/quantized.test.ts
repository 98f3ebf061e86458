/** @file Products of codes against ONNX Runtime, bit for bit: plans run on the CPU as the kernels compute. */
import fc from "fast-check";
import { describe, expect, test, vi } from "vitest";
import type { Plan } from "../../../cuda-runtime/ir/step.ts";
import { planModel } from "../../../cuda-runtime/plan/build.ts";
import type { Precision } from "../../../cuda-runtime/plan/precision.ts";
import { modelFromBytes } from "../../../src/onnx/open.ts";
import { openSession } from "../../../src/verify/ort.ts";
import { tensorOf } from "../../../src/verify/tensor.ts";
import { weightsOf } from "../../gpu/node-tests-data.ts";
import { float, floats, info, modelBytes, node, type types } from "../../onnx/build.ts";
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

const wire = { float32: float, uint8: 2, int8: 3, int32: 6 } as const;
type Type = keyof typeof wire;
const arrays = { float32: Float32Array, uint8: Uint8Array, int8: Int8Array, int32: Int32Array } as const;

function stored(
  name: string,
  type: Exclude<Type, "float32">,
  dims: number[],
  values: readonly number[],
): types.ITensorProto {
  const array = arrays[type].from(values);
  return { name, dims, dataType: wire[type], rawData: Buffer.from(array.buffer) };
}

interface Case {
  readonly graph: types.IGraphProto;
  readonly x: { readonly type: Type; readonly dims: number[]; readonly values: readonly number[] };
}

function bytesOf(graph: types.IGraphProto): Uint8Array {
  return modelBytes(graph, { irVersion: 9, opsetImport: [{ domain: "", version: 19 }] });
}

function planned(graph: types.IGraphProto, precision: Precision = "model"): Plan {
  using model = modelFromBytes(bytesOf(graph));
  return planModel({ model, precision, weights: weightsOf(model) });
}

function entriesOf(plan: Plan): string[] {
  return plan.steps.flatMap(({ action }) => (action.kind === "launch" ? [action.launch.kernel.entry] : []));
}

async function expectSame({ graph, x }: Case): Promise<void> {
  const model = { path: "codes.onnx", bytes: bytesOf(graph), folder: "." };
  await using session = await openSession(model, { optimization: "all", threads: 1 });
  const expected = (await session.run(new Map([["x", tensorOf(x.type, x.dims, x.values)]]))).get("y");
  // Half precision is of floats: codes stay codes.
  for (const precision of ["model", "fp16", "bf16"] as const) {
    const plan = planned(graph, precision);
    expect(entriesOf(plan).filter((entry) => entry.startsWith("codes_"))).toHaveLength(1);
    const { y: own = [] } = runPlan(plan, { x: x.values }, runCodes);
    expect(own).toEqual(Array.from(expected?.data ?? [], Number));
  }
}

const codeType = fc.constantFrom("int8" as const, "uint8" as const);

function codes(type: "int8" | "uint8", count: number): fc.Arbitrary<number[]> {
  const [min, max] = type === "int8" ? [-128, 127] : [0, 255];
  return fc.array(fc.integer({ min, max }), { minLength: count, maxLength: count });
}

function zero(type: "int8" | "uint8"): fc.Arbitrary<number> {
  return fc.oneof(
    fc.constant(0),
    fc.integer(type === "int8" ? { min: -128, max: 127 } : { min: 0, max: 255 }),
  );
}

const scale = fc.float({ min: Math.fround(0.001), max: Math.fround(0.2), noNaN: true });

/** x [m, k] codes, w [k, n] codes with a scale for each column or one for all. */
const products = fc
  .record({
    ...{
      m: fc.integer({ min: 1, max: 5 }),
      n: fc.integer({ min: 1, max: 7 }),
      k: fc.integer({ min: 1, max: 40 }),
    },
    ...{ xType: codeType, isPerColumn: fc.boolean(), yType: codeType },
  })
  .chain((sizes) => {
    const { m, n, k, xType, yType, isPerColumn } = sizes;
    const scales = isPerColumn ? n : 1;
    return fc.record({
      sizes: fc.constant(sizes),
      x: codes(xType, m * k),
      w: codes("int8", k * n),
      ...{ xScale: scale, wScales: fc.array(scale, { minLength: scales, maxLength: scales }), yScale: scale },
      ...{ xZero: zero(xType), yZero: zero(yType) },
    });
  });

describe("MatMulInteger", () => {
  test("gives ONNX Runtime's sums, with zero points of both operands", async () => {
    const drawn = products.chain((product) =>
      fc.record({ product: fc.constant(product), wZero: fc.integer({ min: -128, max: 127 }) }),
    );
    await fc.assert(
      fc.asyncProperty(drawn, async ({ product: { sizes, x, w, xZero }, wZero }) => {
        const { m, n, k, xType } = sizes;
        const graph = {
          input: [info("x", [m, k], wire[xType])],
          output: [info("y", [m, n], wire.int32)],
          initializer: [
            stored("w", "int8", [k, n], w),
            stored("xz", xType, [], [xZero]),
            stored("wz", "int8", [], [wZero]),
          ],
          node: [node("MatMulInteger", ["x", "w", "xz", "wz"], ["y"])],
        };
        await expectSame({ graph, x: { type: xType, dims: [m, k], values: x } });
      }),
      { numRuns: 40 },
    );
  });
});

describe("QLinearMatMul", () => {
  test("gives ONNX Runtime's codes", async () => {
    await fc.assert(
      fc.asyncProperty(products, async ({ sizes, x, w, xScale, wScales, yScale, xZero, yZero }) => {
        const { m, n, k, xType } = sizes;
        const scales = wScales.length === 1 ? [] : [wScales.length];
        const graph = {
          input: [info("x", [m, k], wire[xType])],
          output: [info("y", [m, n], wire[xType])],
          initializer: [
            floats("xs", [], [xScale]),
            stored("xz", xType, [], [xZero]),
            stored("w", "int8", [k, n], w),
            floats("ws", scales, wScales),
            stored(
              "wz",
              "int8",
              scales,
              wScales.map(() => 0),
            ),
            floats("ys", [], [yScale]),
            stored("yz", xType, [], [xType === "int8" ? Math.min(yZero, 127) : Math.max(yZero, 0)]),
          ],
          node: [node("QLinearMatMul", ["x", "xs", "xz", "w", "ws", "wz", "ys", "yz"], ["y"])],
        };
        await expectSame({ graph, x: { type: xType, dims: [m, k], values: x } });
      }),
      { numRuns: 60 },
    );
  });
});

const convolutions = fc
  .record({
    ...{
      images: fc.integer({ min: 1, max: 2 }),
      channels: fc.constantFrom(3, 16, 20),
      filters: fc.integer({ min: 1, max: 5 }),
    },
    ...{ size: fc.integer({ min: 3, max: 6 }), taps: fc.constantFrom(1, 3), stride: fc.constantFrom(1, 2) },
    ...{ pad: fc.constantFrom(0, 1), dilation: fc.constantFrom(1, 2), xType: codeType, isRelu: fc.boolean() },
  })
  .filter(({ size, taps, dilation, pad }) => size + 2 * pad > (taps - 1) * dilation)
  .chain((sizes) => {
    const { images, channels, filters, size, taps, xType } = sizes;
    return fc.record({
      sizes: fc.constant(sizes),
      x: codes(xType, images * channels * size * size),
      w: codes("int8", filters * channels * taps * taps),
      bias: fc.array(fc.integer({ min: -5000, max: 5000 }), { minLength: filters, maxLength: filters }),
      ...{ xScale: scale, wScales: fc.array(scale, { minLength: filters, maxLength: filters }) },
      ...{
        yScale: fc.float({ min: Math.fround(0.01), max: 1, noNaN: true }),
        xZero: zero(xType),
        yZero: zero(xType),
      },
    });
  });

function windowOf({
  taps,
  stride,
  pad,
  dilation,
}: {
  taps: number;
  stride: number;
  pad: number;
  dilation: number;
}) {
  return {
    attribute: [
      attributes("kernel_shape", [taps, taps]),
      attributes("strides", [stride, stride]),
      attributes("pads", [pad, pad, pad, pad]),
      attributes("dilations", [dilation, dilation]),
    ],
  };
}

function outSize({
  size,
  taps,
  stride,
  pad,
  dilation,
}: Record<"size" | "taps" | "stride" | "pad" | "dilation", number>) {
  return Math.floor((size + 2 * pad - (taps - 1) * dilation - 1) / stride) + 1;
}

describe("convolutions of codes", () => {
  test("QLinearConv gives ONNX Runtime's codes", async () => {
    await fc.assert(
      fc.asyncProperty(convolutions, async ({ sizes, x, w, bias, xScale, wScales, yScale, xZero, yZero }) => {
        const { images, channels, filters, size, taps, xType } = sizes;
        const out = outSize(sizes);
        const graph = {
          input: [info("x", [images, channels, size, size], wire[xType])],
          output: [info("y", [images, filters, out, out], wire[xType])],
          initializer: [
            floats("xs", [], [xScale]),
            stored("xz", xType, [], [xZero]),
            stored("w", "int8", [filters, channels, taps, taps], w),
            floats("ws", [filters], wScales),
            stored(
              "wz",
              "int8",
              [filters],
              wScales.map(() => 0),
            ),
            floats("ys", [], [yScale]),
            stored("yz", xType, [], [yZero]),
            stored("b", "int32", [filters], bias),
          ],
          node: [
            node("QLinearConv", ["x", "xs", "xz", "w", "ws", "wz", "ys", "yz", "b"], ["y"], windowOf(sizes)),
          ],
        };
        await expectSame({ graph, x: { type: xType, dims: [images, channels, size, size], values: x } });
      }),
      { numRuns: 60 },
    );
  });

  test("between DequantizeLinear and QuantizeLinear give the codes of the operator by itself", async () => {
    await fc.assert(
      fc.asyncProperty(convolutions, async ({ sizes, x, w, bias, xScale, wScales, yScale, xZero, yZero }) => {
        const { images, channels, filters, size, taps, xType, isRelu } = sizes;
        const out = outSize(sizes);
        const biasScales = wScales.map((each) => Math.fround(each * xScale));
        const graph = {
          input: [info("x", [images, channels, size, size], wire[xType])],
          output: [info("y", [images, filters, out, out], wire[xType])],
          initializer: [
            floats("xs", [], [xScale]),
            stored("xz", xType, [], [xZero]),
            stored("w", "int8", [filters, channels, taps, taps], w),
            floats("ws", [filters], wScales),
            stored(
              "wz",
              "int8",
              [filters],
              wScales.map(() => 0),
            ),
            floats("ys", [], [yScale]),
            stored("yz", xType, [], [yZero]),
            stored("b", "int32", [filters], bias),
            floats("bs", [filters], biasScales),
            stored(
              "bz",
              "int32",
              [filters],
              bias.map(() => 0),
            ),
          ],
          node: [
            node("DequantizeLinear", ["x", "xs", "xz"], ["xf"]),
            node("DequantizeLinear", ["w", "ws", "wz"], ["wf"], { attribute: [attribute("axis", 0)] }),
            node("DequantizeLinear", ["b", "bs", "bz"], ["bf"], { attribute: [attribute("axis", 0)] }),
            node("Conv", ["xf", "wf", "bf"], ["c"], windowOf(sizes)),
            ...(isRelu ? [node("Relu", ["c"], ["r"])] : []),
            node("QuantizeLinear", [isRelu ? "r" : "c", "ys", "yz"], ["y"]),
          ],
        };
        await expectSame({ graph, x: { type: xType, dims: [images, channels, size, size], values: x } });
      }),
      { numRuns: 60 },
    );
  });
});

describe("DequantizeLinear, MatMul, QuantizeLinear", () => {
  test("is one product of codes that ONNX Runtime's agree with", async () => {
    await fc.assert(
      fc.asyncProperty(products, async ({ sizes, x, w, xScale, wScales, yScale, xZero, yZero }) => {
        const { m, n, k, xType } = sizes;
        const scales = wScales.length === 1 ? [] : [wScales.length];
        const graph = {
          input: [info("x", [m, k], wire[xType])],
          output: [info("y", [m, n], wire[xType])],
          initializer: [
            floats("xs", [], [xScale]),
            stored("xz", xType, [], [xZero]),
            stored("w", "int8", [k, n], w),
            floats("ws", scales, wScales),
            stored(
              "wz",
              "int8",
              scales,
              wScales.map(() => 0),
            ),
            floats("ys", [], [yScale]),
            stored("yz", xType, [], [xType === "int8" ? Math.min(yZero, 127) : Math.max(yZero, 0)]),
          ],
          node: [
            node("DequantizeLinear", ["x", "xs", "xz"], ["xf"]),
            node("DequantizeLinear", ["w", "ws", "wz"], ["wf"], { attribute: [attribute("axis", 1)] }),
            node("MatMul", ["xf", "wf"], ["c"]),
            node("QuantizeLinear", ["c", "ys", "yz"], ["y"]),
          ],
        };
        await expectSame({ graph, x: { type: xType, dims: [m, k], values: x } });
      }),
      { numRuns: 60 },
    );
  });
});
