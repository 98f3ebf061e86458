import { describe, expect, it } from "vitest";
import { emitCheapest } from "../../../cuda-runtime/cost/candidate.ts";
import type { Emitter } from "../../../cuda-runtime/ir/emitter.ts";
import { plainEpilogue } from "../../../cuda-runtime/ir/epilogue.ts";
import type { Problem, Target } from "../../../cuda-runtime/ir/product.ts";
import { h200, type Launch } from "../../../cuda-runtime/ir/step.ts";
import { channelsLastOrder, elementCount } from "../../../cuda-runtime/ir/view.ts";
import { type ConvRequest, emitConv, emitConvPatches } from "../../../cuda-runtime/kernels/conv/conv.ts";
import { convolved, outputShapeOf } from "../../gpu/conv-reference.ts";
import { Buffers } from "./buffers.ts";

function emitterOf(buffers: Buffers, launches: Launch[]): Emitter {
  const unexpected = (): never => {
    throw new Error("not expected of a convolution");
  };
  const emitter: Emitter = {
    ...{ target: h200, tf32: false, clear: unexpected, constant: unexpected, evaluate: unexpected },
    evaluateInto: unexpected,
    launch: (launch) => void launches.push(launch),
    choose: (question) => emitCheapest(emitter, question),
    temporary: (type, shape, order) => buffers.view(type, shape, order),
    copy: (from, to) => buffers.write(to, buffers.read(from)),
    packed: (view, { order, type = view.type } = {}) => {
      const to = buffers.view(type, view.shape, order);
      buffers.write(to, buffers.read(view));
      return to;
    },
    isConstant: () => true,
  };
  return emitter;
}

/** D = A B + bias, as the problem of a launch says where these are. */
function multiply(buffers: Buffers, { m, n, k, batch, a, b, d, bias, channels }: Problem): void {
  const at = (outer: readonly number[], index: readonly number[]) =>
    index.reduce((sum, each, axis) => sum + each * (outer[axis] ?? 0), 0);
  const biases = bias && buffers.read(bias);
  const to = buffers.memory(d.view);
  for (const index of indicesOf(batch)) {
    for (let row = 0; row < m; row++) {
      for (let column = 0; column < n; column++) {
        let sum = biases?.[channels === "m" ? row : column] ?? 0;
        for (let step = 0; step < k; step++) {
          const left = buffers.memory(a.view)[
            a.view.offset + at(a.batch, index) + row * a.outer + step * a.k
          ];
          const right = buffers.memory(b.view)[
            b.view.offset + at(b.batch, index) + column * b.outer + step * b.k
          ];
          sum += (left ?? Number.NaN) * (right ?? Number.NaN);
        }
        to[placeIn(d, at(d.batch, index), row, column)] = sum;
      }
    }
  }
}

function placeIn({ view, m, n }: Target, batch: number, row: number, column: number): number {
  return view.offset + batch + row * m + column * n;
}

function indicesOf(shape: readonly number[]): number[][] {
  return shape.reduce<number[][]>(
    (all, size) => all.flatMap((each) => Array.from({ length: size }, (_, at) => [...each, at])),
    [[]],
  );
}

interface Case {
  readonly x: readonly number[];
  readonly w: readonly number[];
  readonly strides?: readonly number[];
  readonly pads?: readonly number[];
  readonly isLast?: boolean;
  /** Whether the result has channels second. */
  readonly isResultPlanar?: boolean;
}

function requestOf(buffers: Buffers, of: Case) {
  const rank = of.w.length - 2;
  const padsBegin = of.pads ?? new Array<number>(rank).fill(0);
  const window = {
    ...{ strides: of.strides ?? of.w.slice(2), dilations: new Array<number>(rank).fill(1) },
    ...{ padsBegin, padsEnd: padsBegin },
  };
  const last = channelsLastOrder(of.x.length);
  const x = buffers.view("float32", of.x, of.isLast ? last : undefined);
  const w = buffers.view("float32", of.w);
  const to = buffers.view("float16", outputShapeOf(of.x, of.w, window), of.isResultPlanar ? undefined : last);
  const bias = buffers.view("float32", [of.w[0] ?? 1]);
  const { strides, dilations } = window;
  const request: ConvRequest = {
    ...{ x, w, to, strides, dilations, pads: padsBegin, groups: 1, operands: "float16" },
    epilogue: { ...plainEpilogue, bias },
  };
  return { request, window };
}

/** Small whole numbers: sums are exact in any order. */
function numbers(count: number, seed: number): Float64Array {
  return Float64Array.from({ length: count }, (_, index) => ((index * 7919 + seed * 104729) % 11) - 5);
}

const sideBySide: readonly (readonly [string, Case])[] = [
  ["of an image", { x: [2, 3, 28, 28], w: [16, 3, 14, 14] }],
  ["of an image with channels last", { x: [2, 3, 32, 16], w: [24, 3, 8, 4], isLast: true }],
  ["of an image that they do not fill", { x: [1, 4, 19, 23], w: [8, 4, 4, 5] }],
  ["into a result with channels second", { x: [3, 3, 12, 8], w: [16, 3, 4, 4], isResultPlanar: true }],
  ["along one axis", { x: [2, 1, 400], w: [32, 1, 16] }],
  ["of a volume", { x: [2, 3, 4, 6, 8], w: [16, 3, 2, 3, 4] }],
  ["along one of two axes", { x: [1, 2, 5, 12], w: [8, 2, 1, 3] }],
];

describe("windows side by side", () => {
  it.each(sideBySide)("%s are rows of a product", (_, of) => {
    const buffers = new Buffers();
    const launches: Launch[] = [];
    const { request, window } = requestOf(buffers, of);
    const values = numbers(elementCount(of.x), 1);
    const weights = numbers(elementCount(of.w), 2);
    buffers.write(request.x, values);
    buffers.write(request.w, weights);
    const { bias } = request.epilogue;
    const biases = numbers(of.w[0] ?? 1, 3);
    if (bias !== undefined) buffers.write(bias, biases);
    expect(emitConvPatches(emitterOf(buffers, launches), request)).toBe(true);
    for (const { product } of launches) {
      if (product === undefined) throw new Error("a launch that is no product");
      multiply(buffers, product.problem);
    }
    const sums = convolved({ shape: of.x, values }, { shape: of.w, values: weights }, 1, window);
    const positions = elementCount(sums.shape.slice(2));
    const filters = of.w[0] ?? 1;
    const expected = Float64Array.from(
      sums.values,
      (sum, index) => sum + (biases[Math.floor(index / positions) % filters] ?? 0),
    );
    expect(buffers.read(request.to)).toEqual(expected);
  });

  const others: readonly (readonly [string, Case])[] = [
    ["that overlap", { x: [1, 3, 28, 28], w: [16, 3, 3, 3], strides: [2, 2] }],
    ["that leave pixels between them", { x: [1, 3, 28, 28], w: [16, 3, 2, 2], strides: [3, 3] }],
    ["that hang over the image", { x: [1, 3, 28, 28], w: [16, 3, 4, 4], pads: [2, 2] }],
    ["of one pixel", { x: [1, 3, 28, 28], w: [16, 3, 1, 1] }],
  ];
  it.each(others)("and windows %s are not", (_, of) => {
    const buffers = new Buffers();
    expect(emitConvPatches(emitterOf(buffers, []), requestOf(buffers, of).request)).toBe(false);
  });

  it("are what an embedding of 32 images takes", () => {
    const buffers = new Buffers();
    const launches: Launch[] = [];
    const of = { x: [32, 3, 224, 224], w: [1152, 3, 14, 14] };
    const emitter: Emitter = {
      ...emitterOf(buffers, launches),
      copy: () => undefined,
      packed: (view, { type = view.type } = {}) => ({ ...view, type }),
    };
    emitConv(emitter, requestOf(buffers, of).request);
    expect(launches.map(({ product }) => product?.problem.k)).toEqual([588]);
  });
});
