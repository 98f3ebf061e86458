/** Which copies go in tiles, and what the tile kernel is told. */

import { describe, expect, it } from "vitest";
import { h200, type Launch } from "../../../cuda-runtime/ir/step.ts";
import type { StorageType } from "../../../cuda-runtime/ir/storage.ts";
import { channelsLastOrder, expanded, permuted, sliced, type View } from "../../../cuda-runtime/ir/view.ts";
import { transposeStruct } from "../../../cuda-runtime/kernels/transpose/params.table.ts";
import { copyViews, tileParams, tilePlan } from "../../../cuda-runtime/kernels/transpose/transpose.ts";
import { PlanDraft } from "../../../cuda-runtime/plan/buffers.ts";
import { PlanEmitter } from "../../../cuda-runtime/plan/emitter.ts";

const draft = new PlanDraft();
const nhwc = channelsLastOrder(4);

function view(type: StorageType, shape: readonly number[], order?: readonly number[]): View {
  return draft.allocate("temporary", type, shape, order);
}

function launchesOf(from: View, to: View): Launch[] {
  const launches: Launch[] = [];
  class Recorder extends PlanEmitter {
    override launch(launch: Launch): void {
      launches.push(launch);
    }
  }
  copyViews(new Recorder(draft, h200, false), from, to);
  return launches;
}

describe("tilePlan", () => {
  it("walks a layout change along both innermost axes", () => {
    const plan = tilePlan(view("float16", [2, 64, 9, 16]), view("float16", [2, 64, 9, 16], nhwc));
    expect(plan).toEqual({
      sizeX: 144,
      sizeY: 64,
      fromStrideX: 1,
      fromStrideY: 144,
      toStrideX: 64,
      toStrideY: 1,
      batch: [{ size: 2, fromStride: 9216, toStride: 9216 }],
    });
  });

  it("leaves copies along the same memory to chains", () => {
    const x = view("float16", [2, 64, 9, 16], nhwc);
    expect(tilePlan(x, view("float16", [2, 64, 9, 16], nhwc))).toBe(undefined);
    expect(tilePlan(sliced(x, 1, 8, 32), view("float16", [2, 32, 9, 16], nhwc))).toBe(undefined);
    expect(tilePlan(expanded(view("float16", [64, 1, 1]), [2, 64, 9, 16]), x)).toBe(undefined);
  });

  it("leaves short axes to chains", () => {
    expect(tilePlan(view("float16", [2, 3, 9, 16]), view("float16", [2, 3, 9, 16], nhwc))).toBe(undefined);
  });
});

describe("copyViews", () => {
  it("uses the width of equal types, and converts between floats", () => {
    const entryOf = (from: StorageType, to: StorageType) =>
      launchesOf(view(from, [100, 40]), permuted(view(to, [40, 100]), [1, 0])).map(({ kernel }) =>
        kernel.kind === "built" ? kernel.entry : kernel.kind,
      );
    expect(entryOf("bool", "bool")).toEqual(["transpose_b8"]);
    expect(entryOf("int64", "int64")).toEqual(["transpose_b64"]);
    expect(entryOf("float32", "bfloat16")).toEqual(["transpose_f32_bf16"]);
    expect(entryOf("float16", "float16")).toEqual(["transpose_b16_pairs"]);
    expect(entryOf("int64", "int32")).toEqual(["ptx"]);
  });

  it("moves halves two by two only where all is even", () => {
    const entryOf = (from: View) =>
      launchesOf(from, view("float16", from.shape, [1, 0])).map(({ kernel }) => kernel.entry);
    expect(entryOf(view("float16", [100, 40]))).toEqual(["transpose_b16_pairs"]);
    expect(entryOf(view("float16", [100, 41]))).toEqual(["transpose_b16"]);
    expect(entryOf(sliced(view("float16", [100, 42]), 1, 1, 40))).toEqual(["transpose_b16"]);
    expect(entryOf(sliced(view("float16", [100, 41]), 1, 0, 40))).toEqual(["transpose_b16"]);
  });

  it("launches nothing for no elements", () => {
    expect(launchesOf(view("float32", [0, 40]), view("float32", [0, 40]))).toEqual([]);
  });

  it("has a block for every tile, and a struct of the kernel's size", () => {
    const from = view("float32", [3, 130, 65]);
    const to = permuted(view("float32", [3, 65, 130]), [0, 2, 1]);
    const [launch] = launchesOf(from, to);
    expect(launch?.grid).toEqual([3 * 3 * 2, 1, 1]);
    const plan = tilePlan(from, to);
    if (plan === undefined) throw new Error("no tiles");
    expect(tileParams(plan, from, to).bytes).toHaveLength(transposeStruct.bytes);
  });
});
