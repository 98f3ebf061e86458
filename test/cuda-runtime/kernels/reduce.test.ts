import { readFileSync } from "node:fs";
import { describe, expect, it } from "vitest";
import type { Emitter } from "../../../cuda-runtime/ir/emitter.ts";
import { OperandError } from "../../../cuda-runtime/ir/operand-error.ts";
import { h200, type Launch } from "../../../cuda-runtime/ir/step.ts";
import type { StorageType } from "../../../cuda-runtime/ir/storage.ts";
import { channelsLastOrder, stridesOf, type View } from "../../../cuda-runtime/ir/view.ts";
import { emitDistance } from "../../../cuda-runtime/kernels/distance/distance.ts";
import { emitFourier } from "../../../cuda-runtime/kernels/fourier/fourier.ts";
import { emitLoss } from "../../../cuda-runtime/kernels/loss/loss.ts";
import { emitMatrix } from "../../../cuda-runtime/kernels/matrix/matrix.ts";
import { emitArg, emitTopK, topKVariant } from "../../../cuda-runtime/kernels/order/order.ts";
import { mergedAxes } from "../../../cuda-runtime/kernels/reduce/axes.ts";
import {
  emitReduce,
  type ReduceRequest,
  shapeOf,
  variantOf,
} from "../../../cuda-runtime/kernels/reduce/reduce.ts";
import { emitScan } from "../../../cuda-runtime/kernels/scan/scan.ts";

const sum = {
  pre: "none",
  combine: "sum",
  post: "none",
  divisor: 1,
  integersAs: "integer",
} as const;

function view(type: StorageType, shape: readonly number[], order?: readonly number[], offset = 0): View {
  const buffer = { id: 0, kind: "temporary", bytes: 1 << 30, name: "" } as const;
  return { buffer, type, shape, strides: stridesOf(shape, order), offset };
}

/** Collects launches; what reductions do not ask for is missing. */
function recorder(): { launches: Launch[]; emitter: Emitter } {
  const launches: Launch[] = [];
  const unexpected = (): never => {
    throw new Error("not expected of a reduction");
  };
  const emitter: Emitter = {
    target: h200,
    tf32: false,
    launch: (launch) => void launches.push(launch),
    temporary: (type, shape, order) => view(type, shape, order),
    choose: unexpected,
    clear: unexpected,
    constant: unexpected,
    copy: unexpected,
    packed: unexpected,
    evaluate: unexpected,
    evaluateInto: unexpected,
    isConstant: () => false,
  };
  return { launches, emitter };
}

function request(input: View, axes: readonly number[], changes: Partial<ReduceRequest> = {}): ReduceRequest {
  const set = new Set(axes);
  const shape = input.shape.map((size, axis) => (set.has(axis) ? 1 : size));
  return { ...sum, input, axes: set, output: view(input.type, shape), ...changes };
}

function variant(input: View, axes: readonly number[], changes: Partial<ReduceRequest> = {}) {
  const asked = request(input, axes, changes);
  return variantOf(asked, shapeOf(asked), h200.multiprocessors);
}

/** The sizes that the kernels' structs are asserted to have. */
function structBytes(family: string, struct: string): number {
  const source = readFileSync(
    new URL(`../../../cuda-runtime/kernels/${family}/params.generated.cuh`, import.meta.url),
    "utf8",
  );
  const [, bytes] = new RegExp(`sizeof\\(${struct}\\) == (\\d+)`).exec(source) ?? [];
  return Number(bytes);
}

describe("how a reduction is walked", () => {
  it("takes rows where the reduced axes lie next to each other", () => {
    expect(variant(view("float16", [64, 768]), [1])).toMatchObject({ walk: "rows", lanes: 32, chunks: 1 });
    expect(variant(view("float32", [8, 50_000]), [1]).walk).toBe("rows");
    expect(shapeOf(request(view("float32", [2, 3, 4, 5]), [2, 3])).reduced).toEqual([
      { size: 20, strides: [1] },
    ]);
  });

  it("takes columns for means over the space of channels-last activations", () => {
    const input = view("float16", [32, 2048, 7, 7], channelsLastOrder(4));
    expect(variant(input, [2, 3])).toMatchObject({ walk: "columns", lanes: 32, chunks: 1 });
    expect(variant(view("float16", [32, 37, 7, 7], channelsLastOrder(4)), [2, 3]).walk).toBe("any");
    expect(variant(view("float16", [32, 64, 7, 7], channelsLastOrder(4), 4), [2, 3]).walk).toBe("any");
  });

  it("spreads a long reduction over many blocks, and combines them in order", () => {
    const { launches, emitter } = recorder();
    emitReduce(emitter, request(view("float32", [10_000_000]), [0], { divisor: 10, post: "sqrt" }));
    const [first, second] = launches;
    expect(launches).toHaveLength(2);
    expect(first?.kernel).toMatchObject({ entry: "reduce_rows_sum_float32" });
    expect(second?.kernel).toMatchObject({ entry: "reduce_any_f32" });
    const chunks = first?.grid[1] ?? 0;
    expect(chunks).toBeGreaterThan(h200.multiprocessors);
    expect(first?.writes[0]?.shape).toEqual([1, chunks]);
  });

  it("covers every element with its chunks", () => {
    for (const size of [4096, 8192, 8193, 100_001, 9_999_999]) {
      const { chunk, chunks } = variant(view("float32", [size]), [0]);
      expect(chunk * chunks).toBeGreaterThanOrEqual(size);
      expect(chunk * (chunks - 1)).toBeLessThan(size);
    }
  });

  it("computes integers as integers, and roots of them as doubles", () => {
    const { launches, emitter } = recorder();
    emitReduce(emitter, request(view("int8", [3, 4]), [1]));
    emitReduce(emitter, request(view("uint8", [3, 4]), [1]));
    emitReduce(emitter, request(view("int32", [3, 4]), [1], { integersAs: "float64", post: "sqrt" }));
    const entries = launches.map(({ kernel }) => kernel.entry);
    expect(entries).toEqual(["reduce_any_i64", "reduce_any_u64", "reduce_any_f64"]);
  });

  it("emits nothing for an output without elements", () => {
    const { launches, emitter } = recorder();
    emitReduce(emitter, request(view("float32", [0, 4]), [1]));
    expect(launches).toEqual([]);
  });

  it("refuses more axes than parameters hold", () => {
    const shape = new Array<number>(18).fill(2);
    const every = (start: number) => [...shape.keys()].filter((axis) => axis % 2 === start);
    expect(() => emitReduce(recorder().emitter, request(view("float32", shape), every(1)))).toThrow(
      OperandError,
    );
  });
});

describe("merging axes", () => {
  it("joins what every view walks as one, and leaves out single elements", () => {
    const axes = [
      { size: 2, strides: [12, 24] },
      { size: 1, strides: [7, 7] },
      { size: 3, strides: [4, 8] },
      { size: 4, strides: [1, 1] },
    ];
    expect(mergedAxes(axes)).toEqual([
      { size: 6, strides: [4, 8] },
      { size: 4, strides: [1, 1] },
    ]);
  });
});

describe("TopK", () => {
  it("sorts what fits into shared memory, reads longer rows through a window, counts where too much is kept", () => {
    expect(topKVariant("float32", 10, 3)).toEqual({ entry: "topk_narrow", capacity: 16 });
    expect(topKVariant("float32", 1, 1)).toEqual({ entry: "topk_narrow", capacity: 1 });
    expect(topKVariant("int64", 2048, 2048)).toEqual({ entry: "topk_wide", capacity: 2048 });
    expect(topKVariant("float16", 50_257, 50)).toEqual({ entry: "topk_narrow", capacity: 4096 });
    expect(topKVariant("float32", 9000, 9000).entry).toBe("topk_rank");
  });

  it("leaves a block's worth of room behind what is kept", () => {
    for (const count of [1, 40, 600, 1000, 3000]) {
      const { entry, capacity } = topKVariant("float32", 100_000, count);
      if (entry !== "topk_rank") expect(capacity).toBeGreaterThanOrEqual(count + 512);
    }
  });
});

describe("parameters", () => {
  const square = view("float32", [6, 6]);

  it("have the sizes that the kernels assert", () => {
    const { launches, emitter } = recorder();
    emitReduce(emitter, request(square, [1]));
    emitArg(emitter, {
      input: square,
      axis: 1,
      isLargest: true,
      isLastIndex: false,
      output: view("int64", [6, 1]),
    });
    const kept = { values: view("float32", [6, 2]), indices: view("int64", [6, 2]) };
    emitTopK(emitter, { input: square, axis: 1, isLargest: true, ...kept });
    const scan = { axis: 1, isExclusive: false, isReverse: true, isProduct: false };
    emitScan(emitter, { input: square, output: square, ...scan });
    const signal = view("float32", [2, 6, 2]);
    const transform = {
      axis: 1,
      length: 6,
      window: undefined,
      isInverse: false,
      isMirrored: false,
    };
    emitFourier(emitter, { input: signal, output: signal, ...transform });
    emitMatrix(emitter, { kind: "inverse", input: square, output: square });
    const labels = view("int64", [6]);
    const losses = view("float32", [6]);
    const options = {
      weights: undefined,
      counts: undefined,
      logarithms: undefined,
      isSoftmax: true,
      ignored: 3,
    };
    emitLoss(emitter, { input: square, labels, losses, ...options });
    emitDistance(emitter, { a: square, b: square, output: square, isSquared: true });
    expect(launches.map(({ params }) => params.bytes.length)).toEqual([
      structBytes("reduce", "ReduceParams"),
      structBytes("order", "OrderParams"),
      structBytes("order", "OrderParams"),
      structBytes("scan", "ScanParams"),
      structBytes("fourier", "FourierParams"),
      structBytes("matrix", "MatrixParams"),
      structBytes("loss", "LossParams"),
      structBytes("distance", "DistanceParams"),
    ]);
  });

  it("walk a reversed scan from the last element", () => {
    const { launches, emitter } = recorder();
    const flags = { isExclusive: false, isReverse: true, isProduct: false };
    emitScan(emitter, { input: square, output: square, axis: 1, ...flags });
    expect(launches[0]?.params.pointers.map((slot) => slot.view.offset)).toEqual([5, 5]);
  });
});
