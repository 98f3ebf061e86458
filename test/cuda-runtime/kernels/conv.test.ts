import { readFileSync } from "node:fs";
import { describe, expect, it } from "vitest";
import { emitCheapest } from "../../../cuda-runtime/cost/candidate.ts";
import type { Emitter } from "../../../cuda-runtime/ir/emitter.ts";
import { plainEpilogue } from "../../../cuda-runtime/ir/epilogue.ts";
import { h200, type Launch } from "../../../cuda-runtime/ir/step.ts";
import type { StorageType } from "../../../cuda-runtime/ir/storage.ts";
import { channelsLastOrder, sliced, stridesOf, type View } from "../../../cuda-runtime/ir/view.ts";
import {
  type ConvChoice,
  type ConvSource,
  chooseConv,
  convCandidates,
  describeConv,
} from "../../../cuda-runtime/kernels/conv/choose.ts";
import { type ConvRequest, emitConv } from "../../../cuda-runtime/kernels/conv/conv.ts";
import { type ConvProblem, chunksOf } from "../../../cuda-runtime/kernels/conv/cost.ts";
import { planeTiles } from "../../../cuda-runtime/kernels/conv/planes-table.ts";
import { positionStride, spatialOf, vectorWidth } from "../../../cuda-runtime/kernels/conv/spatial.ts";
import { convTiles, sharedBytesOf, sumsInTeam } from "../../../cuda-runtime/kernels/conv/table.ts";
import { emitConvTranspose, phasesOf } from "../../../cuda-runtime/kernels/conv/transposed.ts";
import { emitDeformConv, emitIntegerConv } from "../../../cuda-runtime/kernels/directconv/directconv.ts";
import { copiedEnds, hasCopiedEnds } from "../../../cuda-runtime/kernels/gemm/end-maps.ts";
import { emitPool } from "../../../cuda-runtime/kernels/pool/pool.ts";
import { emitRoiPool, emitUnpool } from "../../../cuda-runtime/kernels/pool/unpool-roi.ts";
import { machineNamed } from "../../../src/hardware/machine.ts";

let nextId = 0;

function view(type: StorageType, shape: readonly number[], order?: readonly number[]): View {
  const buffer = { id: nextId++, kind: "temporary", bytes: 1 << 30, name: "" } as const;
  return { buffer, type, shape, strides: stridesOf(shape, order), offset: 0 };
}

function nhwc(type: StorageType, shape: readonly number[]): View {
  return view(type, shape, channelsLastOrder(shape.length));
}

function recorder(target = h200): { launches: Launch[]; copies: [View, View][]; emitter: Emitter } {
  const launches: Launch[] = [];
  const copies: [View, View][] = [];
  const unexpected = (): never => {
    throw new Error("not expected of a convolution");
  };
  const emitter: Emitter = {
    target,
    tf32: false,
    launch: (launch) => void launches.push(launch),
    choose: (question) => emitCheapest(emitter, question),
    temporary: (type, shape, order) => view(type, shape, order),
    constant: (type, shape) => view(type, shape),
    clear: () => {},
    copy: (from, to) => void copies.push([from, to]),
    packed: (from, { order, type = from.type } = {}) => view(type, from.shape, order),
    evaluate: unexpected,
    evaluateInto: unexpected,
    isConstant: () => false,
  };
  return { launches, copies, emitter };
}

function requestOf(changes: Partial<ConvRequest> = {}): ConvRequest {
  return {
    x: nhwc("float16", [2, 64, 28, 28]),
    w: view("float16", [128, 64, 3, 3]),
    to: nhwc("float16", [2, 128, 28, 28]),
    strides: [1, 1],
    dilations: [1, 1],
    pads: [1, 1],
    groups: 1,
    epilogue: plainEpilogue,
    ...changes,
  };
}

function emitted(changes: Partial<ConvRequest> = {}, accepts?: (choice: ConvChoice) => boolean) {
  const { launches, copies, emitter } = recorder();
  emitConv(emitter, requestOf(changes), accepts);
  return { entries: launches.map(({ kernel }) => kernel.entry), launches, copies };
}

/** What the struct of a kernel's source says that it is as large as. */
function declaredBytes(family: string, struct: string): number {
  const source = readFileSync(
    new URL(`../../../cuda-runtime/kernels/${family}/params.generated.cuh`, import.meta.url),
    "utf8",
  );
  return Number(new RegExp(`sizeof\\(${struct}\\) == (\\d+)`).exec(source)?.[1]);
}

describe("parameters fill the structs of the kernels", () => {
  const entryOf = (launches: readonly Launch[], prefix: string) =>
    launches.find(({ kernel }) => kernel.entry.startsWith(prefix))?.params.bytes.length;

  it("of products, weights and depthwise kernels", () => {
    const { launches } = emitted({}, (choice: ConvChoice) => choice.tile.family === "conv-tma");
    expect(entryOf(launches, "conv_f16_")).toBe(declaredBytes("conv-tma", "ConvTmaParams"));
    const patched = emitted({}, (choice: ConvChoice) => choice.tile.family === "conv-halo");
    expect(entryOf(patched.launches, "conv_f16_")).toBe(declaredBytes("conv-halo", "ConvHaloParams"));
    const staying = (choice: ConvChoice) => choice.tile.family === "conv";
    expect(entryOf(emitted({}, staying).launches, "conv_f16")).toBe(declaredBytes("conv", "ConvParams"));
    expect(entryOf(launches, "conv_pack")).toBe(declaredBytes("conv", "PackParams"));
    const depthwise = { w: view("float16", [64, 1, 3, 3]), groups: 64 };
    const inRings = emitted({ ...depthwise, to: nhwc("float16", [2, 64, 28, 28]) });
    expect(entryOf(inRings.launches, "depthwise")).toBe(
      declaredBytes("depthwise-hopper", "DepthwiseRingParams"),
    );
    const inTiles = emitted({ ...depthwise, to: nhwc("float32", [2, 64, 28, 28]) });
    expect(entryOf(inTiles.launches, "depthwise")).toBe(declaredBytes("depthwise", "DepthwiseParams"));
  });

  it("of pools and of direct kernels", () => {
    const { launches, emitter } = recorder();
    const x = nhwc("float32", [1, 8, 6, 6]);
    const ones = [1, 1];
    const zeros = [0, 0];
    emitPool(emitter, {
      ...{ kind: "max", x, to: x, kernel: ones, strides: ones, dilations: ones },
      ...{ padsBegin: zeros, padsEnd: zeros },
    });
    emitUnpool(emitter, { x, indices: view("int64", x.shape), to: x, counted: x.shape });
    emitRoiPool(emitter, {
      ...{ entry: "pool_roi_align", x, regions: view("float32", [1, 4]), batches: undefined, to: x },
      ...{ isMax: false, sampling: 0, scale: 1, shift: 0, minOne: false },
    });
    const window = { strides: ones, dilations: ones, pads: zeros, groups: 1 };
    const codes = view("uint8", [1, 8, 6, 6]);
    const wZero = undefined;
    emitIntegerConv(emitter, {
      x: codes,
      w: codes,
      xZero: undefined,
      wZero,
      to: view("int32", x.shape),
      ...window,
    });
    emitDeformConv(emitter, {
      ...{
        x,
        w: view("float32", [8, 8, 1, 1]),
        offsets: x,
        mask: undefined,
        bias: undefined,
        to: x,
        sets: 1,
      },
      ...window,
    });
    expect(launches.map(({ params }) => params.bytes.length)).toEqual([
      declaredBytes("pool", "PoolParams"),
      declaredBytes("pool", "UnpoolParams"),
      declaredBytes("pool", "RegionParams"),
      declaredBytes("directconv", "IntegerConvParams"),
      declaredBytes("directconv", "DeformConvParams"),
    ]);
  });
});

describe("the table", () => {
  it("has its rows as entries of the kernels", () => {
    for (const family of ["conv", "conv-hopper", "conv-tma", "conv-planes"]) {
      const list = new URL(`../../../cuda-runtime/kernels/${family}/entries.generated.cuh`, import.meta.url);
      const names = [...readFileSync(list, "utf8").matchAll(/^[A-Z_]+\((\w+),/gm)].map(([, name]) => name);
      const rows = convTiles.filter((tile) => tile.family === family);
      const expected = rows.flatMap(({ entry, walk }) =>
        walk !== undefined && hasCopiedEnds(walk.product) ? [entry, entry + copiedEnds] : [entry],
      );
      expect(names).toEqual(family === "conv-planes" ? planeTiles.map(({ entry }) => entry) : expected);
    }
  });

  it("has a kernel of each arithmetic for every source on the smallest shared memory", () => {
    const small = convTiles.filter((tile) => sharedBytesOf(tile) <= 65_536);
    expect(new Set(small.map(({ math }) => math))).toEqual(new Set(["f16", "bf16", "tf32", "f32"]));
  });
});

/** No kernels of its own: what every architecture from sm_80 on has. */
const ampere = machineNamed("a100");
const turing = machineNamed("t4");
const aligned: ConvSource = {
  type: "float16",
  grain: 16,
  canGather: true,
  canWalk: false,
  copyMicroseconds: () => 20,
};

function problem(rows: number, filters: number, channels: number, taps: number, groups = 1): ConvProblem {
  const inputBytes = 2 * rows * channels * groups;
  return {
    math: "f16",
    rows,
    filters,
    channels,
    groups,
    taps,
    inputBytes,
    outputBytes: 2 * rows * filters * groups,
    storeWidth: 8,
  };
}

describe("the choice", () => {
  const choose = (of: ConvProblem, source = aligned) => {
    const choice = chooseConv(of, source, ampere);
    return choice && describeConv(choice.launch);
  };

  it("takes large tiles for large products and splits for few positions", () => {
    expect(choose(problem(100_352, 256, 128, 9))).toMatch(/^f16 (256|128)x128, 4 stages$/);
    expect(choose(problem(49, 512, 512, 9))).toMatch(/splits$/);
    expect(choose(problem(802_816, 32, 16, 9))).toBe("f16 128x32, 4 stages");
  });

  it("gathers a few channels where a copy takes long, copies many odd ones, reads even ones directly where little is to be won", () => {
    const few = problem(401_408, 64, 3, 49);
    expect(choose(few, { ...aligned, grain: 0, copyMicroseconds: () => 500 })).toMatch(/gathered$/);
    expect(choose(few, { ...aligned, grain: 0 })).toMatch(/x copied$/);
    expect(choose(problem(100_352, 255, 255, 9), { ...aligned, grain: 0 })).toMatch(/x copied$/);
    expect(choose(problem(3136, 50, 50, 9), { ...aligned, grain: 4 })).toMatch(/by 4 bytes/);
  });

  it("computes several small groups at once", () => {
    expect(choose(problem(25_088, 8, 8, 9, 32))).toMatch(/groups at once$/);
  });

  it("never splits into more parts than there are steps", () => {
    for (const { launch } of convCandidates(problem(49, 64, 8, 9), aligned, h200)) {
      const { splits, stepsPerSplit, tile } = launch;
      const steps = Math.ceil(9 / tile.chunks);
      if (tile.grain > 0) expect((splits - 1) * stepsPerSplit).toBeLessThan(Math.max(1, steps));
    }
  });

  it("leaves out what shared memory does not hold", () => {
    for (const { launch } of convCandidates(problem(5000, 128, 64, 9), aligned, turing)) {
      expect(sharedBytesOf(launch.tile)).toBeLessThanOrEqual(65_536);
    }
  });
});

describe("emitted convolutions", () => {
  it("pack weights and launch one product", () => {
    expect(emitted().entries).toEqual(["conv_pack", expect.stringMatching(/^conv_f16_/)]);
  });

  it("of one tap are products of matrices", () => {
    const { entries } = emitted({ w: view("float16", [128, 64, 1, 1]), pads: [0, 0] });
    expect(entries.every((entry) => !entry.startsWith("conv_"))).toBe(true);
  });

  it("of no output launch nothing", () => {
    expect(emitted({ to: nhwc("float16", [0, 128, 28, 28]) }).launches).toEqual([]);
  });

  it("copy odd channels into padded memory, without the padding", () => {
    const { copies } = emitted({
      x: nhwc("float16", [8, 255, 56, 56]),
      w: view("float16", [128, 255, 3, 3]),
      to: nhwc("float16", [8, 128, 56, 56]),
    });
    const [[, to] = []] = copies;
    expect(to?.shape).toEqual([8, 1, 255, 56, 56]);
    expect(to?.strides[4]).toBe(256);
  });

  it("run bfloat16 on CUDA cores where Tensor Cores have none", () => {
    const { launches, emitter } = recorder(turing);
    emitConv(emitter, requestOf({ x: nhwc("bfloat16", [2, 64, 28, 28]) }));
    expect(launches.map(({ kernel }) => kernel.entry)).toContainEqual(expect.stringMatching(/^conv_f32_/));
  });

  it("transposed by 2 along two axes are four plain ones", () => {
    const { launches, emitter } = recorder();
    emitConvTranspose(emitter, {
      ...requestOf({ to: nhwc("float16", [2, 32, 56, 56]) }),
      w: view("float16", [64, 32, 4, 4]),
      strides: [2, 2],
    });
    expect(launches.filter(({ kernel }) => kernel.entry.startsWith("conv_f16")).length).toBe(4);
  });
});

describe("phases of a transposed convolution", () => {
  it.each([
    [11, 3, 2, 1, 1],
    [36, 4, 4, 6, 2],
    [14, 2, 3, 1, 0],
    [9, 5, 1, 2, 4],
    [1, 2, 2, 1, 0],
  ])("%i positions, %i taps, stride %i, dilation %i, pad %i", (output, taps, stride, dilation, pad) => {
    const reached = new Map<string, number>();
    for (const { start, count, lastTap, tapStep, taps: used, dilation: step, pad: front } of phasesOf(
      output,
      taps,
      stride,
      dilation,
      pad,
    )) {
      for (let q = 0; q < count; q++) {
        for (let i = 0; i < used; i++)
          reached.set(`${start + stride * q} ${lastTap - tapStep * i}`, q - front + i * step);
      }
    }
    const expected = new Map<string, number>();
    for (let at = 0; at < output; at++) {
      for (let tap = 0; tap < taps; tap++) {
        const from = (at + pad - tap * dilation) / stride;
        if (Number.isInteger(from)) expected.set(`${at} ${tap}`, from);
      }
    }
    expect(new Map([...reached].sort())).toEqual(new Map([...expected].sort()));
  });
});

describe("views in three spatial axes", () => {
  it("know one stride between positions", () => {
    const whole = nhwc("float16", [2, 16, 5, 6]);
    expect(positionStride(spatialOf(whole))).toBe(16);
    expect(positionStride(spatialOf(sliced(whole, 1, 4, 8)))).toBe(16);
    expect(positionStride(spatialOf(sliced(whole, 3, 0, 3, 2)))).toBe(32);
    expect(positionStride(spatialOf(sliced(whole, 3, 0, 3)))).toBe(0);
    expect(positionStride(spatialOf(view("float16", [2, 16, 5, 6])))).toBe(0);
    expect(positionStride(spatialOf(view("float16", [1, 16, 5, 6])))).toBe(1);
  });

  it("know how many channels are stored at once", () => {
    const whole = nhwc("float16", [2, 16, 5, 6]);
    expect(vectorWidth(spatialOf(whole), 16)).toBe(8);
    expect(vectorWidth(spatialOf(sliced(whole, 1, 2, 8)), 8)).toBe(2);
    expect(vectorWidth(spatialOf(nhwc("float16", [2, 15, 5, 6])), 15)).toBe(1);
    expect(vectorWidth(spatialOf(view("float16", [2, 16, 5, 6])), 16)).toBe(1);
  });
});

describe("convolutions whose splits add up inside a cluster", () => {
  const teams = convTiles.filter(sumsInTeam);

  it.each([2, 4, 8])("of %i blocks are one launch without a workspace", (blocks) => {
    expect(teams.length).toBeGreaterThan(0);
    for (const tile of teams) {
      const type = tile.source === "float32" ? "float16" : tile.source;
      const request = {
        x: nhwc(type, [1, 264, 7, 9]),
        w: view(type, [72, 264, 3, 3]),
        to: nhwc(type, [1, 72, 7, 9]),
        epilogue: { ...plainEpilogue, bias: view("float32", [72]) },
      };
      const { launches } = emitted(request, (choice) => choice.tile === tile && choice.splits === blocks);
      const [pack, product] = launches;
      expect([pack?.kernel.entry, product?.kernel.entry, launches.length]).toEqual([
        "conv_pack",
        tile.entry,
        2,
      ]);
      const tiles = Math.ceil(63 / tile.rows) * Math.ceil(72 / tile.filters);
      expect(product).toMatchObject({ cluster: [blocks, 1, 1], grid: [tiles * blocks, 1, 1] });
      expect(product?.writes).toEqual([request.to]);
      expect(product?.reads).toContain(request.epilogue.bias);
      expect(product?.params.bytes.length).toBe(declaredBytes("conv-tma", "ConvTmaParams"));
    }
  });

  it("cut k so that all of it is summed, into no more parts than there are steps", () => {
    const walking = { ...aligned, canWalk: true };
    for (const [rows, channels] of [
      [49, 512],
      [196, 200],
      [100, 72],
      [64, 8],
    ] as const) {
      for (const { launch } of convCandidates(problem(rows, 64, channels, 9), walking, h200)) {
        if (!sumsInTeam(launch.tile)) continue;
        const steps = chunksOf({ taps: 9, channels }, launch.tile) / launch.tile.chunks;
        expect(launch.sumMicroseconds).toBe(0);
        expect(launch.splits).toBeLessThanOrEqual(steps);
        expect(launch.splits * launch.stepsPerSplit).toBeGreaterThanOrEqual(steps);
      }
    }
  });

  it("leave a multiprocessor room for as many blocks as the compiler has registers for", () => {
    for (const tile of teams) {
      const room = Math.floor(h200.sharedBytes / (sharedBytesOf(tile) + h200.reservedSharedBytes));
      expect(tile.blocks, tile.entry).toBe(room);
    }
  });
});

describe("the sum of splits in a second launch", () => {
  it("has the splits shared out among rows of threads where there are many", () => {
    for (const [splits, block] of [
      [3, [128, 1, 1]],
      [12, [32, 4, 1]],
    ] as const) {
      const { launches } = emitted(
        {
          x: nhwc("float16", [1, 512, 7, 7]),
          w: view("float16", [64, 512, 3, 3]),
          to: nhwc("float16", [1, 64, 7, 7]),
        },
        (choice) => choice.splits === splits && choice.tile.family === "conv-hopper",
      );
      const sum = launches.at(-1);
      expect(sum).toMatchObject({ kernel: { entry: "conv_sum_splits" }, block });
      // Four filters a thread.
      expect(sum?.grid).toEqual([Math.ceil((49 * 16) / block[0]), 1, 1]);
    }
  });
});
