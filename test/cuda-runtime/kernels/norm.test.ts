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
  groupSlabStruct,
  lrnStruct,
  rowNormStruct,
} from "../../../cuda-runtime/kernels/norm/params.table.ts";
import { chooseRows, cutOf, type RowCut } from "../../../cuda-runtime/kernels/norm/rows.ts";
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
  const entry = (rows: number, cols: number, cut: RowCut) =>
    chooseRows("rownorm", "float16", { rows, cols, cut }, [view("float16", [rows, cols])], h200).launch.entry;

  it("are entries of norm.cu and softmax.cu", () => {
    const names = new Set<string>();
    for (const rows of [1, 1000, 100_000]) {
      for (const cols of [8, 90, 200, 256, 300, 512, 1000, 1024, 4096, 8192, 12_288, 20_000]) {
        for (const cut of ["w8", "p8", "w1"] as const)
          names.add(entry(rows, cols, cut).replace("rownorm_f16_", ""));
      }
    }
    expect(names.size).toBeGreaterThan(12);
    for (const [kernel, text] of [
      ["ROW_NORM", source("norm/rows.cuh")],
      ["SOFTMAX", source("softmax/softmax.cu")],
    ] as const) {
      for (const name of names) {
        const [, cut = "", width = "", form = ""] = /^(\w(\d))_(\w+)$/.exec(name) ?? [];
        const isPhased = cut === "p8";
        const wanted = [cut, "CUT"].flatMap((own) => [
          `${kernel}_ENTRY(T, TYPE, ${own}, ${width}, ${own === "CUT" ? "PHASED" : isPhased}, ${form},`,
          `${kernel}_LONG(T, TYPE, ${own}, ${width}, ${own === "CUT" ? "PHASED" : isPhased})`,
        ]);
        const found = wanted.filter(
          (each) => text.includes(each) && (form === "long") === each.includes("_LONG"),
        );
        expect(found, name).not.toEqual([]);
      }
    }
  });

  it("hold the row", () => {
    expect(entry(100_000, 96, "w8")).toBe("rownorm_f16_w8_lanes4");
    expect(entry(100_000, 768, "w8")).toBe("rownorm_f16_w8_warp4");
    expect(entry(100, 64, "w8")).toBe("rownorm_f16_w8_half1");
    expect(entry(100, 200, "w8")).toBe("rownorm_f16_w8_warp1");
    expect(entry(100, 768, "w8")).toBe("rownorm_f16_w8_block1");
    expect(entry(100_000, 4096, "w8")).toBe("rownorm_f16_w8_block4");
    expect(entry(100_000, 300, "w1")).toBe("rownorm_f16_w1_block1");
    expect(entry(1, 100_000, "w8")).toBe("rownorm_f16_w8_long");
    const odd = { rows: 5, cols: 1025, cut: "w1" } as const;
    const { launch } = chooseRows("softmax", "float32", odd, [view("float32", [5, 1025])], h200);
    expect(launch.block).toEqual([160, 1, 1]);
  });

  it("of packed rows that start anywhere have room for the elements before and behind them", () => {
    expect(entry(12_288, 249, "p8")).toBe("rownorm_f16_p8_lanes16");
    expect(entry(12_288, 250, "p8")).toBe("rownorm_f16_p8_warp2");
    const cut = (view: View) => cutOf(view.shape[1] ?? 0, [view]);
    expect(cut(view("float16", [4, 96]))).toBe("w8");
    expect(cut(view("float16", [4, 97]))).toBe("p8");
    expect(cut({ ...view("float16", [4, 97]), offset: 8 })).toBe("p8");
    expect(cut({ ...view("float16", [4, 97]), offset: 4 })).toBe("w1");
    expect(cut({ ...view("float16", [4, 97]), strides: [100, 1] })).toBe("w1");
    expect(cut(view("float16", [4, 33]))).toBe("w1");
    expect(cutOf(97, [view("float16", [4, 97]), view("float32", [4, 97])])).toBe("w1");
    expect(cutOf(97, [view("float16", [4, 97]), view("float16", [2, 97])])).toBe("w1");
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
    expect(entriesOf(launches)).toEqual(["rownorm_f16_w8_half1"]);
    expect(launches[0]?.writes[0]?.strides).toEqual([64, 1]);
  });

  it("of a skip without the batch repeat it", () => {
    const launches = launchesOf((emitter) => {
      const [x, skip] = [given(emitter, "float16", [3, 5, 64]), given(emitter, "float16", [5, 64])];
      const output = () => given(emitter, "float16", [3, 5, 64]);
      lowerRows(emitter, { ...plainRows, x, skip, first: 2, output, sum: output });
    });
    expect(entriesOf(launches)).toEqual(["rownorm_f16_w8_half1"]);
    expect(launches[0]?.writes).toHaveLength(2);
  });
});

describe("groups", () => {
  const groups = (shape: readonly number[], order: readonly number[], count: number) =>
    launchesOf((emitter) => {
      const output = (wanted?: readonly number[]) => given(emitter, "float16", shape, wanted);
      lowerGroups(emitter, {
        x: () => given(emitter, "float16", shape, order),
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
    const nhwc = groups([2, 320, 64, 64], channelsLastOrder(4), 32);
    expect(entriesOf(nhwc)).toEqual(["groupslab_f16_s2_grid"]);
    expect(nhwc.at(-1)?.writes[0]?.strides[1]).toBe(1);
    expect(nhwc.every(({ params }) => params.bytes.length === groupSlabStruct.bytes)).toBe(true);
    const nchw = groups([2, 320, 16, 16], [0, 1, 2, 3], 32);
    expect(entriesOf(nchw)).toEqual(["groupnorm_f16_w8_whole"]);
    expect(nchw[0]?.params.bytes.length).toBe(groupNormStruct.bytes);
    expect(nchw.at(-1)?.writes[0]?.strides[2]).toBe(1);
  });

  it("of one sample are read as wide as those of several", () => {
    for (const samples of [1, 2]) {
      const shape = [samples, 64, 32, 32];
      const nhwc = entriesOf(groups(shape, channelsLastOrder(4), 8));
      const nchw = entriesOf(groups(shape, [0, 1, 2, 3], 8));
      expect(nhwc.filter((entry) => !entry.startsWith("groupslab"))).toEqual([]);
      expect(nchw.filter((entry) => !entry.startsWith("groupnorm_f16_w8"))).toEqual([]);
    }
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
      lowerGroups(emitter, { ...rest, x: () => x, groups: 2, output });
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
    expect(entriesOf(channels)).toEqual(["softmax_f16_w8_half1"]);
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
