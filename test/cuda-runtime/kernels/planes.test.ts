import { describe, expect, it } from "vitest";
import { emitCheapest } from "../../../cuda-runtime/cost/candidate.ts";
import type { Emitter } from "../../../cuda-runtime/ir/emitter.ts";
import { plainEpilogue } from "../../../cuda-runtime/ir/epilogue.ts";
import { h200, type Launch } from "../../../cuda-runtime/ir/step.ts";
import { channelsLastOrder, elementCount, sliced, type View } from "../../../cuda-runtime/ir/view.ts";
import { type ConvRequest, emitConv, emitConvPlanes } from "../../../cuda-runtime/kernels/conv/conv.ts";
import { planesOf, planeTiles, stageOf } from "../../../cuda-runtime/kernels/conv/planes-table.ts";
import { spatialOf } from "../../../cuda-runtime/kernels/conv/spatial.ts";
import { machineNamed } from "../../../src/hardware/machine.ts";
import { convolved, outputShapeOf, type WindowSpec } from "../../gpu/conv-reference.ts";
import { placesOf } from "../lower/movement-machine.ts";
import { Buffers } from "./buffers.ts";
import { emulate } from "./planes-emulated.ts";

function recorder(buffers: Buffers, target = h200) {
  const launches: Launch[] = [];
  const unexpected = (): never => {
    throw new Error("not expected of a convolution");
  };
  const emitter: Emitter = {
    target,
    tf32: false,
    launch: (launch) => void launches.push(launch),
    choose: (question) => emitCheapest(emitter, question),
    temporary: (type, shape, order) => buffers.view(type, shape, order),
    constant: (type, shape, values) => {
      const view = buffers.view(type, shape);
      buffers.memory(view).set(values);
      return view;
    },
    clear: () => {},
    copy: () => {},
    packed: (view, { order, type = view.type } = {}) => buffers.view(type, view.shape, order),
    evaluate: unexpected,
    evaluateInto: unexpected,
    isConstant: () => true,
  };
  return { launches, emitter };
}

interface Case {
  readonly x: readonly number[];
  readonly w: readonly number[];
  readonly strides?: readonly number[];
  /** In front of all axes, then behind. */
  readonly pads?: readonly number[];
  readonly layout?: "nchw" | "nhwc" | "wide";
  /** Elements of x that are no small numbers. */
  readonly odd?: readonly (readonly [index: number, value: number])[];
}

function windowOf({ w, strides, pads }: Case): WindowSpec {
  const rank = w.length - 2;
  const zeros = new Array<number>(rank).fill(0);
  return {
    strides: strides ?? new Array<number>(rank).fill(1),
    dilations: new Array<number>(rank).fill(1),
    padsBegin: pads?.slice(0, rank) ?? zeros,
    padsEnd: pads?.slice(rank) ?? zeros,
  };
}

/** Small whole numbers: sums are exact in any order. */
function fill(buffers: Buffers, view: View, seed: number): Float64Array {
  let state = seed;
  const values = Float64Array.from({ length: elementCount(view.shape) }, () => {
    state = (state * 1103515245 + 12345) % 2 ** 31;
    return (Math.floor(state / 65536) % 7) - 3;
  });
  buffers.write(view, values);
  return values;
}

function viewOf(buffers: Buffers, shape: readonly number[], layout: Case["layout"]): View {
  const order = channelsLastOrder(shape.length);
  if (layout === "nchw") return buffers.view("float16", shape);
  if (layout !== "wide") return buffers.view("float16", shape, order);
  const channels = shape[1] ?? 1;
  return sliced(buffers.view("float16", shape.with(1, channels + 16), order), 1, 8, channels);
}

function requestOf(buffers: Buffers, of: Case) {
  const window = windowOf(of);
  const x = viewOf(buffers, of.x, of.layout);
  const w = buffers.view("float16", of.w);
  const to = viewOf(buffers, outputShapeOf(of.x, of.w, window), of.layout === "wide" ? "wide" : "nhwc");
  const bias = buffers.view("float32", [of.w[0] ?? 1]);
  const relu = { kind: "relu", a: 0, b: 0 } as const;
  const epilogue = { ...plainEpilogue, bias, activation: relu };
  const { strides, dilations, padsBegin: pads } = window;
  const request: ConvRequest = { x, w, to, strides, dilations, pads, groups: 1, epilogue };
  return { request, window };
}

const cases: readonly (readonly [string, Case])[] = [
  ["7x7 of stride 2", { x: [2, 3, 37, 41], w: [24, 3, 7, 7], strides: [2, 2], pads: [3, 3, 3, 3] }],
  [
    "7x7 of stride 2, planar",
    { x: [3, 3, 16, 18], w: [64, 3, 7, 7], strides: [2, 2], pads: [3, 3, 3, 3], layout: "nchw" },
  ],
  ["3x3 of stride 2", { x: [1, 3, 30, 31], w: [32, 3, 3, 3], strides: [2, 2], pads: [1, 1, 1, 1] }],
  ["3x3 of 3 channels, an even number of taps", { x: [2, 3, 9, 11], w: [16, 3, 3, 3], pads: [1, 1, 1, 1] }],
  ["3x3 of 4 channels and an odd number", { x: [1, 4, 20, 21], w: [40, 4, 5, 3], pads: [2, 1, 2, 1] }],
  ["3x3 of 8 channels", { x: [1, 8, 12, 13], w: [8, 8, 3, 3], pads: [1, 1, 1, 1] }],
  ["1 channel, whole rows of the window", { x: [2, 1, 20, 21], w: [40, 1, 5, 5], pads: [2, 2, 2, 2] }],
  ["1 channel of stride 2", { x: [1, 1, 21, 20], w: [8, 1, 11, 11], strides: [2, 2], pads: [5, 5, 5, 5] }],
  [
    "2 channels of strides 3 and 2",
    { x: [1, 2, 23, 22], w: [16, 2, 5, 6], strides: [3, 2], pads: [0, 1, 2, 3] },
  ],
  [
    "asymmetric padding, a slice",
    { x: [1, 3, 14, 15], w: [16, 3, 4, 4], pads: [0, 3, 2, 0], layout: "wide" },
  ],
  ["padding that is cut off", { x: [1, 4, 16, 19], w: [16, 4, 3, 3], strides: [2, 2], pads: [-1, -2, 1, 0] }],
  ["two tiles of filters", { x: [1, 3, 12, 12], w: [104, 3, 3, 3], strides: [2, 2], pads: [1, 1, 1, 1] }],
  ["rows longer than a tile", { x: [1, 3, 6, 700], w: [8, 3, 7, 7], strides: [2, 2], pads: [3, 3, 3, 3] }],
  [
    "infinities and no numbers, which reach their windows and nothing else",
    {
      ...{ x: [2, 3, 15, 15], w: [16, 3, 3, 3], strides: [2, 2], pads: [1, 1, 1, 1] },
      odd: [
        [16, Number.POSITIVE_INFINITY],
        [100, Number.NEGATIVE_INFINITY],
        [700, Number.NaN],
        [1349, Number.POSITIVE_INFINITY],
      ],
    },
  ],
  ["a stride beyond the window", { x: [1, 3, 17, 19], w: [8, 3, 2, 2], strides: [3, 4] }],
  ["along one axis", { x: [2, 3, 70], w: [16, 3, 5], strides: [2], pads: [4, 0] }],
];

describe("a convolution over planes", () => {
  it.each(cases)("%s", (_, of) => {
    for (const tile of planeTiles.filter(({ math }) => math === "f16")) {
      const buffers = new Buffers();
      const { launches, emitter } = recorder(buffers);
      const { request, window } = requestOf(buffers, of);
      const [x, w] = [fill(buffers, request.x, 1), fill(buffers, request.w, 2)];
      for (const [index, value] of of.odd ?? []) {
        x[index] = value;
        buffers.memory(request.x)[placesOf(request.x)[index] ?? 0] = value;
      }
      const { bias } = request.epilogue;
      const biases = bias && fill(buffers, bias, 3);
      expect(emitConvPlanes(emitter, request, (each) => each === tile)).toBe(true);
      for (const launch of launches) emulate(launch, buffers.memory);
      const sums = convolved({ shape: of.x, values: x }, { shape: of.w, values: w }, 1, window);
      const perChannel = elementCount(sums.shape.slice(2));
      const filters = of.w[0] ?? 1;
      const expected = Float64Array.from(sums.values, (sum, index) =>
        Math.max(0, sum + (biases?.[Math.floor(index / perChannel) % filters] ?? 0)),
      );
      expect(buffers.read(request.to)).toEqual(expected);
    }
  });
});

describe("planes", () => {
  const geometry = (channels: number, kernel: number, stride: number, size = 224) => {
    const output = Math.ceil(size / stride);
    const y = spatialOf(new Buffers().view("float16", [1, 8, output, output]));
    const window = {
      kernel: [1, kernel, kernel],
      stride: [1, stride, stride],
      dilation: [1, 1, 1],
      pad: [0, 0, 0],
    } as const;
    return planesOf({ channels, window, y });
  };

  it("hold as many columns of a pixel as fit, by whole strides", () => {
    const found = [
      [3, 7, 2],
      [3, 3, 1],
      [1, 3, 1],
      [1, 11, 2],
      [4, 3, 2],
      [8, 3, 1],
    ].map(([channels = 1, kernel = 1, stride = 1]) => {
      const planes = geometry(channels, kernel, stride);
      return planes && [planes.count, planes.columnsOfPixel, planes.slots, planes.taps.length];
    });
    expect(found).toEqual([
      [2, 2, 6, 28],
      [1, 2, 6, 6],
      [1, 3, 3, 3],
      [2, 8, 8, 22],
      [2, 2, 8, 6],
      [1, 1, 8, 9],
    ]);
  });

  it("are none of more channels than slots, or of too many taps", () => {
    expect(geometry(5, 3, 2)).toBeUndefined();
    expect(geometry(9, 3, 1)).toBeUndefined();
    expect(geometry(8, 13, 1)).toBeUndefined();
  });

  it("come to a stage row by row where rows are longer than a tile", () => {
    const [wide, narrow] = [geometry(3, 7, 2, 2048), geometry(3, 7, 2, 224)];
    const [tile] = planeTiles;
    if (wide === undefined || narrow === undefined || tile === undefined) throw new Error("there are planes");
    expect(stageOf(wide, tile)?.runs.length).toBe(7);
    expect(stageOf(narrow, tile)?.runs.length).toBe(2);
  });
});

describe("the choice", () => {
  const entriesOf = (of: Case, changes: Partial<ConvRequest> = {}, target = h200) => {
    const buffers = new Buffers();
    const { launches, emitter } = recorder(buffers, target);
    emitConv(emitter, { ...requestOf(buffers, of).request, ...changes });
    return launches.map(({ kernel }) => kernel.entry);
  };
  const stem: Case = {
    x: [32, 3, 224, 224],
    w: [64, 3, 7, 7],
    strides: [2, 2],
    pads: [3, 3, 3, 3],
    layout: "nchw",
  };

  it("is planes for the stems of many images on Hopper, and nowhere else", () => {
    expect(entriesOf(stem)).toEqual([
      "conv_planes_weights",
      "conv_planes_pack_f16",
      "conv_planes_f16_256x64",
    ]);
    expect(entriesOf(stem, {}, machineNamed("a100")).join()).not.toContain("planes");
  });

  it("is another one of dilations, of groups, of planar results, and of what is added", () => {
    const without = (changes: Partial<ConvRequest>, of: Case = stem) =>
      expect(entriesOf(of, changes).join()).not.toContain("planes");
    const buffers = new Buffers();
    without({
      dilations: [2, 2],
      to: buffers.view("float16", [32, 64, 109, 109], channelsLastOrder(4)),
    });
    const residual = buffers.view("float16", [32, 64, 112, 112], channelsLastOrder(4));
    without({ epilogue: { ...plainEpilogue, residual } });
    without({ to: buffers.view("float16", [32, 64, 112, 112]) });
  });
});
