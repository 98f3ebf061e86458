/** @file MaxPool between codes against ONNX Runtime, bit for bit: the codes themselves are pooled. */
import fc from "fast-check";
import { describe, expect, test, vi } from "vitest";
import type { Launch } from "../../../cuda-runtime/ir/step.ts";
import type { View } from "../../../cuda-runtime/ir/view.ts";
import { poolStruct } from "../../../cuda-runtime/kernels/pool/params.table.ts";
import { planModel } from "../../../cuda-runtime/plan/build.ts";
import { modelFromBytes } from "../../../src/onnx/open.ts";
import { openSession } from "../../../src/verify/ort.ts";
import { tensorOf } from "../../../src/verify/tensor.ts";
import { weightsOf } from "../../gpu/node-tests-data.ts";
import { floats, info, modelBytes, node, type types } from "../../onnx/build.ts";
import { stored } from "../../verify/code-models.ts";
import { type PlanMemory, runPlan } from "../plan/machine.ts";
import { attributes } from "../small-plan.ts";
import { fieldsOf } from "./struct-reader.ts";

vi.mock("../../../cuda-runtime/ptx/compile.ts", async (original) => {
  const real = await original<typeof import("../../../cuda-runtime/ptx/compile.ts")>();
  const { rememberingChains } = await import("../plan/machine.ts");
  return { ...real, compileChain: rememberingChains(real.compileChain) };
});

const [images, channels, size] = [2, 16, 6];

function pool(launch: Launch, memory: PlanMemory): void {
  const fields = fieldsOf(launch, poolStruct);
  const [x, y] = [fields.view("x"), fields.view("y")];
  if (x === undefined || y === undefined || !launch.kernel.entry.startsWith("pool_"))
    throw new Error("no pool");
  const axes = (name: string) => fields.ints(name, 3).slice(1);
  const [kernel, strides, pads] = [axes("kernel"), axes("stride"), axes("pad")];
  const values = memory.read(x);
  memory.write(
    y,
    largestOf(values, x, y, (at, axis, tap) => at * (strides[axis] ?? 1) - (pads[axis] ?? 0) + tap, kernel),
  );
}

function largestOf(
  values: readonly number[],
  x: View,
  y: View,
  placeOf: (at: number, axis: number, tap: number) => number,
  [taps = 1, tapsX = 1]: readonly number[],
): number[] {
  const [, , height = 1, width = 1] = x.shape;
  const [planes = 1, more = 1, rows = 1, columns = 1] = y.shape;
  const all: number[] = [];
  for (let plane = 0; plane < planes * more; plane++)
    for (let row = 0; row < rows; row++)
      for (let column = 0; column < columns; column++) {
        let largest = Number.NEGATIVE_INFINITY;
        for (let tap = 0; tap < taps * tapsX; tap++) {
          const [i, j] = [placeOf(row, 0, Math.floor(tap / tapsX)), placeOf(column, 1, tap % tapsX)];
          if (i < 0 || i >= height || j < 0 || j >= width) continue;
          largest = Math.max(largest, values[(plane * height + i) * width + j] ?? Number.NaN);
        }
        all.push(largest);
      }
  return all;
}

const codeType = fc.constantFrom("int8" as const, "uint8" as const);
const scale = fc.float({ min: Math.fround(0.01), max: Math.fround(0.3), noNaN: true });
const pools = codeType.chain((type) => {
  const [min, max] = type === "int8" ? [-128, 127] : [0, 255];
  const code = fc.integer({ min, max });
  const count = images * channels * size * size;
  return fc.record({
    ...{ type: fc.constant(type), taps: fc.constantFrom(2, 3), stride: fc.constantFrom(1, 2) },
    ...{ pad: fc.constantFrom(0, 1), scale, other: scale, isSame: fc.boolean(), zero: code },
    x: fc.array(code, { minLength: count, maxLength: count }),
  });
});
type Pool = typeof pools extends fc.Arbitrary<infer T> ? T : never;

function build({ type, taps, stride, pad, scale, other, isSame, zero }: Pool): types.IGraphProto {
  const out = Math.floor((size + 2 * pad - taps) / stride) + 1;
  const code = type === "int8" ? 3 : 2;
  return {
    input: [info("x", [images, channels, size, size], code)],
    output: [info("y", [images, channels, out, out], code)],
    initializer: [
      ...[floats("xs", [], [scale]), floats("ys", [], [isSame ? scale : other])],
      ...[stored("xz", type, [], [zero]), stored("yz", type, [], [zero])],
    ],
    node: [
      node("DequantizeLinear", ["x", "xs", "xz"], ["xf"]),
      node("MaxPool", ["xf"], ["m"], {
        attribute: [
          attributes("kernel_shape", [taps, taps]),
          attributes("strides", [stride, stride]),
          attributes("pads", [pad, pad, pad, pad]),
        ],
      }),
      node("QuantizeLinear", ["m", "ys", "yz"], ["y"]),
    ],
  };
}

describe("MaxPool of dequantized codes", () => {
  test("pools codes, in one launch where the same codes come out, and gives ONNX Runtime's", async () => {
    await fc.assert(
      fc.asyncProperty(pools, async (drawn) => {
        const bytes = modelBytes(build(drawn), { irVersion: 9, opsetImport: [{ domain: "", version: 19 }] });
        const x = tensorOf(drawn.type, [images, channels, size, size], drawn.x);
        await using session = await openSession(
          { path: "pool.onnx", bytes, folder: "." },
          { optimization: "disabled", threads: 1 },
        );
        const expected = (await session.run(new Map([["x", x]]))).get("y");
        using model = modelFromBytes(bytes);
        const plan = planModel({ model, precision: "model", weights: weightsOf(model) });
        const kernels = plan.steps.flatMap(({ action }) =>
          action.kind === "launch" ? [action.launch.kernel.entry.split("_")[0]] : [],
        );
        expect(kernels).toEqual(drawn.isSame || drawn.other === drawn.scale ? ["pool"] : ["pool", "chain"]);
        expect(runPlan(plan, { x: drawn.x }, pool)["y"]).toEqual(Array.from(expected?.data ?? [], Number));
      }),
      { numRuns: 60 },
    );
  });

  test("stays where a scale may be negative, or is not known", () => {
    const [drawn] = fc.sample(pools, { seed: 3, numRuns: 1 });
    if (drawn === undefined) throw new Error("nothing drawn");
    const graph = build(drawn);
    const entries = (changed: types.IGraphProto) => {
      const bytes = modelBytes(changed, { irVersion: 9, opsetImport: [{ domain: "", version: 19 }] });
      using model = modelFromBytes(bytes);
      const plan = planModel({ model, precision: "model", weights: weightsOf(model) });
      return plan.steps.map(({ action }) => (action.kind === "launch" ? action.launch.reads[0]?.type : ""));
    };
    const [, ...rest] = graph.initializer ?? [];
    expect(entries({ ...graph, initializer: [floats("xs", [], [-0.5]), ...rest] })).toContain("float32");
    expect(
      entries({ ...graph, initializer: rest, input: [...(graph.input ?? []), info("xs", [])] }),
    ).toContain("float32");
  });
});
