/** @file Normalizations and softmax: forms of rows, layouts of groups, packing of parameters. */
import { readFileSync } from "node:fs";
import { describe, expect, it } from "vitest";
import { h200, type Launch } from "../../../cuda-runtime/ir/step.ts";
import type { StorageType } from "../../../cuda-runtime/ir/storage.ts";
import { channelsLastOrder, permuted, reshaped, type View } from "../../../cuda-runtime/ir/view.ts";
import { emitAxesNorm, emitLrn } from "../../../cuda-runtime/kernels/norm/axes.ts";
import { emitGroupNorm } from "../../../cuda-runtime/kernels/norm/group.ts";
import {
  axesNormStruct,
  groupNormStruct,
  lrnStruct,
  rowNormStruct,
} from "../../../cuda-runtime/kernels/norm/params.table.ts";
import { chooseRows } from "../../../cuda-runtime/kernels/norm/rows.ts";
import { axisSoftmaxStruct, rowSoftmaxStruct } from "../../../cuda-runtime/kernels/softmax/params.table.ts";
import { emitSoftmax } from "../../../cuda-runtime/kernels/softmax/softmax.ts";
import { lowerGroups } from "../../../cuda-runtime/lower/normalization-groups.ts";
import { lowerRows } from "../../../cuda-runtime/lower/normalization-rows.ts";
import { PlanDraft } from "../../../cuda-runtime/plan/buffers.ts";
import { PlanEmitter } from "../../../cuda-runtime/plan/emitter.ts";

function source(name: string): string {
  return readFileSync(new URL(`../../../cuda-runtime/kernels/${name}`, import.meta.url), "utf8");
}

function launchesOf(emit: (emitter: PlanEmitter) => void): Launch[] {
  const draft = new PlanDraft();
  emit(new PlanEmitter(draft, h200, false));
  return draft.finish().steps.flatMap(({ action }) => (action.kind === "launch" ? [action.launch] : []));
}

function view(type: StorageType, shape: readonly number[]): View {
  return new PlanDraft().allocate("input", type, shape);
}

/** Memory that is not the same at every run. */
function given(
  emitter: PlanEmitter,
  type: StorageType,
  shape: readonly number[],
  order?: readonly number[],
): View {
  return emitter.draft.allocate("input", type, shape, order);
}

function entriesOf(launches: readonly Launch[]): string[] {
  return launches.map(({ kernel }) => kernel.entry);
}

const plainRows = { isRms: false, epsilon: 1e-5 } as const;

describe("forms of rows", () => {
  const entry = (rows: number, cols: number, width: 8 | 1) =>
    chooseRows("rownorm", "float16", { rows, cols, width }, [view("float16", [rows, cols])], h200).launch
      .entry;

  it("are entries of norm.cu and softmax.cu", () => {
    const names = new Set<string>();
    for (const rows of [1, 1000, 100_000]) {
      for (const cols of [8, 200, 256, 300, 512, 1000, 1024, 4096, 8192, 12_288, 20_000]) {
        for (const width of [8, 1] as const) names.add(entry(rows, cols, width).replace("rownorm_f16_", ""));
      }
    }
    const rows = source("norm/rows.cuh");
    const softmax = source("softmax/softmax.cu");
    for (const name of names) {
      const [, width, form] = /^w(\d)_(\w+)$/.exec(name) ?? [];
      const [row, soft] =
        form === "long"
          ? [`ROW_NORM_LONG(T, TYPE, ${width})`, `SOFTMAX_LONG(T, TYPE, ${width})`]
          : [`ROW_NORM_ENTRY(T, TYPE, ${width}, ${form}`, `SOFTMAX_ENTRY(T, TYPE, ${width}, ${form}`];
      expect(rows).toContain(row);
      expect(softmax).toContain(soft);
    }
  });

  it("hold the row", () => {
    expect(entry(100_000, 768, 8)).toBe("rownorm_f16_w8_warp4");
    expect(entry(100, 768, 8)).toBe("rownorm_f16_w8_block1");
    expect(entry(100_000, 4096, 8)).toBe("rownorm_f16_w8_block4");
    expect(entry(100_000, 300, 1)).toBe("rownorm_f16_w1_block1");
    expect(entry(1, 100_000, 8)).toBe("rownorm_f16_w8_long");
    const odd = { rows: 5, cols: 1025, width: 1 } as const;
    const { launch } = chooseRows("softmax", "float32", odd, [view("float32", [5, 1025])], h200);
    expect(launch.block).toEqual([160, 1, 1]);
  });
});

describe("rows", () => {
  it("pack the struct of the kernels", () => {
    const [launch] = launchesOf((emitter) => {
      const x = given(emitter, "float16", [4, 64]);
      lowerRows(emitter, { ...plainRows, x, first: 1, output: () => given(emitter, "float16", [4, 64]) });
    });
    expect(launch?.params.bytes.length).toBe(rowNormStruct.bytes);
  });

  it("of transposed axes are views", () => {
    const launches = launchesOf((emitter) => {
      const memory = given(emitter, "float16", [7, 2, 64]);
      const x = permuted(memory, [1, 0, 2]);
      const output = (order?: readonly number[]) => given(emitter, "float16", [2, 7, 64], order);
      lowerRows(emitter, { ...plainRows, x, first: 2, output });
    });
    expect(entriesOf(launches)).toEqual(["rownorm_f16_w8_warp1"]);
    expect(launches[0]?.writes[0]?.strides).toEqual([64, 1]);
  });

  it("of a skip without the batch repeat it", () => {
    const launches = launchesOf((emitter) => {
      const [x, skip] = [given(emitter, "float16", [3, 5, 64]), given(emitter, "float16", [5, 64])];
      const output = () => given(emitter, "float16", [3, 5, 64]);
      lowerRows(emitter, { ...plainRows, x, skip, first: 2, output, sum: output });
    });
    expect(entriesOf(launches)).toEqual(["rownorm_f16_w8_warp1"]);
    expect(launches[0]?.writes).toHaveLength(2);
  });
});

describe("groups", () => {
  const groups = (shape: readonly number[], order: readonly number[], count: number) =>
    launchesOf((emitter) => {
      const output = (wanted?: readonly number[]) => given(emitter, "float16", shape, wanted);
      lowerGroups(emitter, {
        x: given(emitter, "float16", shape, order),
        groups: count,
        scale: given(emitter, "float32", [shape[1] ?? 1]),
        bias: undefined,
        isParameterPerGroup: false,
        epsilon: 1e-5,
        isSilu: true,
        output,
      });
    });

  it("pack the struct of the kernels, and stay in their layout", () => {
    const nhwc = groups([2, 320, 32, 32], channelsLastOrder(4), 32);
    expect(entriesOf(nhwc)).toEqual(["groupnorm_f16_w2_statistics", "groupnorm_f16_w2_apply"]);
    expect(nhwc.at(-1)?.writes[0]?.strides[1]).toBe(1);
    expect(nhwc.every(({ params }) => params.bytes.length === groupNormStruct.bytes)).toBe(true);
    const nchw = groups([2, 320, 16, 16], [0, 1, 2, 3], 32);
    expect(entriesOf(nchw)).toEqual(["groupnorm_f16_w8_whole"]);
    expect(nchw.at(-1)?.writes[0]?.strides[2]).toBe(1);
  });

  it("are copied where neither channels nor positions are contiguous", () => {
    const launches = launchesOf((emitter) => {
      const x = permuted(given(emitter, "float16", [6, 6, 4, 2]), [3, 2, 0, 1]);
      const output = (order?: readonly number[]) => given(emitter, "float16", x.shape, order);
      const rest = {
        scale: undefined,
        bias: undefined,
        isParameterPerGroup: false,
        epsilon: 1e-5,
        isSilu: false,
      };
      lowerGroups(emitter, { ...rest, x, groups: 2, output });
    });
    expect(entriesOf(launches).at(-1)).toMatch(/^groupnorm_f16_w\d_whole$/);
    expect(launches).toHaveLength(2);
  });

  it("refuse a layout that they cannot read", () => {
    const draft = new PlanDraft();
    const emitter = new PlanEmitter(draft, h200, false);
    const x = permuted(given(emitter, "float16", [5, 4, 2]), [2, 1, 0]);
    const request = {
      scale: undefined,
      bias: undefined,
      isParameterPerGroup: false,
      epsilon: 0,
      isSilu: false,
    };
    expect(() => emitGroupNorm(emitter, { ...request, x, y: x, groups: 2 })).toThrow("contiguous");
  });
});

describe("softmax", () => {
  const softmax = (x: (emitter: PlanEmitter) => View, axis: number) =>
    launchesOf((emitter) => {
      const view = x(emitter);
      emitSoftmax(emitter, { x: view, y: { ...view }, axis, mode: "softmax" });
    });

  it("packs the structs of the kernels", () => {
    const row = softmax((emitter) => given(emitter, "float16", [3, 64]), 1);
    const axis = softmax((emitter) => given(emitter, "float16", [3, 64]), 0);
    expect(row[0]?.params.bytes.length).toBe(rowSoftmaxStruct.bytes);
    expect(axis[0]?.params.bytes.length).toBe(axisSoftmaxStruct.bytes);
  });

  it("reads rows wherever they are contiguous", () => {
    const channels = softmax((emitter) => given(emitter, "float16", [2, 24, 5, 5], channelsLastOrder(4)), 1);
    expect(entriesOf(channels)).toEqual(["softmax_f16_w8_warp1"]);
    expect(entriesOf(softmax((emitter) => given(emitter, "float16", [2, 24, 5, 5]), 1))).toEqual([
      "softmax_axis",
    ]);
    expect(entriesOf(softmax((emitter) => given(emitter, "float64", [2, 24]), 1))).toEqual([
      "softmax_axis_f64",
    ]);
    expect(softmax((emitter) => given(emitter, "float16", [0, 24]), 1)).toEqual([]);
  });
});

describe("other axes", () => {
  it("pack the structs of the kernels", () => {
    const launches = launchesOf((emitter) => {
      const x = given(emitter, "float32", [2, 3, 4, 5]);
      emitAxesNorm(emitter, { x, y: x, axes: new Set([0, 2]), mode: "l2" });
      const three = reshaped(x, [2, 3, 20]) ?? x;
      emitLrn(emitter, { x: three, y: three, size: 3, alpha: 1, beta: 1, bias: 1 });
    });
    expect(launches.map(({ params }) => params.bytes.length)).toEqual([
      axesNormStruct.bytes,
      lrnStruct.bytes,
    ]);
  });
});
