import { describe, expect, test } from "vitest";
import { ceilingsOf } from "../../src/hardware/ceilings.ts";
import { checkedGpus, findGpu, gpus } from "../../src/hardware/gpus.ts";
import { findStack, stacks } from "../../src/hardware/stacks.ts";

describe("GPU rows", () => {
  test("are found by id, whatever its case, and by alias", () => {
    expect(findGpu("H200")?.sms).toBe(132);
    expect(findGpu("h100-sxm")).toBe(findGpu("h100"));
    expect(findGpu("gtx1080")).toBeUndefined();
    expect(findGpu("constructor")).toBeUndefined();
  });

  test("cover what the documentation promises, each with a source", () => {
    const promised =
      "t4 a10 a30 a100 a100-40gb rtx3090 a4500 rtx4090 l4 l40s h100 h100-pcie h200 b200 rtx5090 orin";
    for (const id of promised.split(" ")) expect(findGpu(id)?.source, id).toMatch(/.{20}/);
  });

  test.each([
    ["a sparse rate", { tensorTflops: { fp16: 1979, int8: 1979 } }, /int8 below twice/],
    ["FP8 left out", { tensorTflops: { fp16: 989, int8: 1979 } }, /FP8 is of compute capability 8.9/],
    ["FP8 summed in FP16", { tensorTflops: { fp16: 989, int8: 1979, fp8: 3958 } }, /FP8 is not twice/],
    ["kilobytes for megabytes", { dramGBps: 4.8e6 }, /DRAM faster than L2/],
    ["a clock in GHz", { clockMHz: 1.83 }, /a clock is/],
    ["no Tensor Cores", { tensorTflops: {} }, /FP16 at least/],
  ])("with %s are refused on load", (_, slip, message) => {
    const row = gpus.get("h200");
    expect(row).toBeDefined();
    if (row !== undefined) expect(() => checkedGpus([{ ...row, ...slip }])).toThrow(message);
  });

  test("twice the same id is refused", () => {
    const rows = [...gpus.values()];
    expect(() => checkedGpus([...rows, ...rows.slice(0, 1)])).toThrow(/twice/);
  });

  test("a measured ceiling stays below the datasheet", () => {
    const ceilings = ceilingsOf("h200");
    expect(ceilings?.dramGBps).toBeLessThan(findGpu("h200")?.dramGBps ?? 0);
    expect(ceilings?.tensorTflops.fp16).toBeLessThan(findGpu("h200")?.tensorTflops.fp16 ?? 0);
    expect(ceilingsOf("toString")).toBeUndefined();
  });
});

describe("stack rows", () => {
  test("are found by id", () => {
    expect(findStack("cudnn")).toBe(stacks.cudnn);
    expect(findStack("toString")).toBeUndefined();
  });

  test("TensorRT wants 32 int8 channels, the others 16 bytes", () => {
    expect(stacks.tensorrt.alignment.int8).toBe(32);
    expect(stacks.cudnn.alignment).toMatchObject({ fp16: 8, bf16: 8, tf32: 4, int8: 16 });
  });
});
