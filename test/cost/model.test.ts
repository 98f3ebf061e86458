import fc from "fast-check";
import { describe, expect, test } from "vitest";
import { createCostModel } from "../../src/cost/model.ts";
import { gpus } from "../../src/hardware/gpus.ts";
import { type StackId, stackIds } from "../../src/hardware/stacks.ts";
import type { Target } from "../../src/hardware/target.ts";
import type { Work } from "../../src/ops/work.ts";
import { attention, conv, elementwise, gemm, targetOf } from "./targets.ts";

const model = createCostModel();
const h200 = targetOf();

const anySize = fc.oneof(fc.integer({ min: 1, max: 64 }), fc.integer({ min: 65, max: 20_000 }));
const anyWork: fc.Arbitrary<Work<number>> = fc.oneof(
  fc.record({ m: anySize, n: anySize, k: anySize }).map(({ m, n, k }) => gemm(m, n, k)),
  fc
    .record({
      channels: fc.integer({ min: 1, max: 600 }),
      filters: fc.integer({ min: 1, max: 600 }),
      side: fc.integer({ min: 1, max: 300 }),
      taps: fc.constantFrom(1, 3, 5, 7),
      stride: fc.constantFrom(1, 2),
      layout: fc.constantFrom("nhwc" as const, "nchw" as const),
    })
    .map(conv),
  fc.integer({ min: 1, max: 300 }).map((headDim) => attention(headDim, 256)),
  fc.integer({ min: 1, max: 1e8 }).map(elementwise),
);

test("a T4 within its 70 W reaches 24 TFLOP/s of the 65 that its data sheet promises (NVIDIA's forum, thread 264462)", () => {
  const { microseconds } = model.estimate(gemm(4096, 4096, 4096), targetOf("t4"));
  const teraflops = (2 * 4096 ** 3) / microseconds / 1e6;
  expect(teraflops).toBeGreaterThan(20);
  expect(teraflops).toBeLessThan(28);
});

test("FP32 is multiplied in what a stack takes unasked: PyTorch's convolutions in TF32, its products not", () => {
  const float32 = <W extends Work<number>>(work: W): W => ({ ...work, dtype: "float32" });
  const [image, rows] = [
    float32(conv({ channels: 256, filters: 256, side: 28 })),
    float32(gemm(4096, 4096, 4096)),
  ];
  const isInTf32 = (work: Work<number>, stack: StackId, gpu?: string) => {
    const [unasked, tf32] = [targetOf(gpu, stack), targetOf(gpu, stack, "tf32")].map(
      (target) => model.estimate(work, target).microseconds,
    );
    return unasked === tf32;
  };
  for (const [stack, products, convolutions] of [
    ["ort-cuda", true, true],
    ["tensorrt", true, true],
    ["inductor", false, true],
    ["cudnn", false, false],
  ] as const) {
    expect(isInTf32(rows, stack), stack).toBe(products);
    expect(isInTf32(image, stack), stack).toBe(convolutions);
  }
  // A GPU without it computes FP32.
  expect(model.estimate(image, targetOf("v100", "inductor"))).toEqual(
    model.estimate(image, targetOf("v100", "inductor", "fp32")),
  );
});

describe("estimates", () => {
  test("of any work on any target lie within their interval and above zero", () => {
    const anyTarget = fc
      .tuple(
        fc.constantFrom(...gpus.keys()),
        fc.constantFrom(...stackIds),
        fc.constantFrom("as-is", "fp16", "bf16", "tf32", "int8", "fp32" as const),
      )
      .map(([gpu, stack, precision]) => targetOf(gpu, stack, precision));
    fc.assert(
      fc.property(anyWork, anyTarget, (work, target) => {
        const { microseconds, low, high, flops, bytes, biasMicroseconds } = model.estimate(work, target);
        expect(low).toBeGreaterThan(0);
        expect(low).toBeLessThan(microseconds);
        expect(high).toBeGreaterThan(microseconds);
        expect(Number.isFinite(high)).toBe(true);
        expect(flops).toBeGreaterThan(0);
        expect(bytes).toBeGreaterThan(0);
        expect(biasMicroseconds).toBeLessThan(high);
      }),
      { numRuns: 600 },
    );
  });

  test("of a token behind a long cache are those of its bytes: multiprocessors share the keys", () => {
    const behind = (queryLength: number): Work<number> => ({
      ...attention(128, 131_072),
      ...{ batch: 1, heads: 8, kvHeads: 8, queryLength },
    });
    const [token, more] = [1, 16].map((queries) => model.estimate(behind(queries), h200));
    const gigabytesASecond = (token?.bytes ?? 0) / (token?.microseconds ?? 1) / 1000;
    expect(gigabytesASecond).toBeGreaterThan(1500);
    expect(gigabytesASecond).toBeLessThan(4800);
    expect((more?.microseconds ?? 0) / (token?.microseconds ?? 1)).toBeGreaterThan(4);
  });

  test("never beat the datasheet", () => {
    fc.assert(
      fc.property(anyWork, (work) => {
        const { microseconds, flops, tensorCore } = model.estimate(work, h200);
        const rate = (tensorCore ? h200.gpu.tensorTflops.fp16 : h200.gpu.cudaTflops) ?? 0;
        if (work.kind !== "traffic") expect(flops / microseconds / 1e6).toBeLessThan(rate);
      }),
      { numRuns: 400 },
    );
  });

  test("say what binds: a large product the Tensor Cores, a large pass DRAM, a small one the launch", () => {
    expect(model.estimate(gemm(8192, 8192, 8192), h200)).toMatchObject({
      bound: "tensor-core",
      tensorCore: true,
    });
    expect(model.estimate(elementwise(2e8), h200)).toMatchObject({ bound: "dram", tensorCore: false });
    expect(model.estimate(elementwise(1000), h200).bound).toBe("launch");
    const depthwise = conv({ channels: 256, filters: 256, side: 56, groups: 256 });
    expect(model.estimate(depthwise, h200).tensorCore).toBe(false);
  });

  test("reach the measured ceilings of the H200, within a tenth", () => {
    const { microseconds } = model.estimate(gemm(8192, 8192, 8192), h200);
    expect((2 * 8192 ** 3) / microseconds / 1e6).toBeGreaterThan(0.9 * 760);
    expect((2 * 8192 ** 3) / microseconds / 1e6).toBeLessThan(1.1 * 760);
  });

  test("half precision halves the bytes of a float32 model", () => {
    const work = { ...gemm(512, 512, 512), dtype: "float32" } as const;
    expect(model.estimate(work, targetOf("h200", "cudnn", "fp16")).bytes).toBe(3 * 512 * 512 * 2);
    expect(model.estimate(work, h200).bytes).toBe(3 * 512 * 512 * 4);
  });

  test("a convolution's bias is a pass of its own only where the stack does not fuse it", () => {
    const work = conv({ channels: 64, filters: 256, side: 56, taps: 1 });
    const eager = model.estimate(work, h200);
    expect(eager.biasMicroseconds).toBeGreaterThan(2);
    const without = model.estimate(work, h200, { biased: false });
    expect(without.biasMicroseconds).toBe(0);
    expect(without.microseconds).toBeLessThan(eager.microseconds);
    expect(model.estimate(work, targetOf("h200", "tensorrt")).biasMicroseconds).toBe(0);
  });

  test("TensorRT pads odd channels itself", () => {
    const tensorrt = targetOf("h200", "tensorrt");
    const [odd, padded] = [60, 64].map((n) =>
      model.estimate(conv({ channels: n, filters: n, side: 56 }), tensorrt),
    );
    expect((odd?.microseconds ?? 0) / (padded?.microseconds ?? 1)).toBeLessThan(1.1);
  });
});

describe("targets nobody measured", () => {
  const work = gemm(4096, 4096, 4096);

  test("use the datasheet's rates, say so, and give wider intervals", () => {
    const width = (gpu: string) => {
      const { low, high } = model.estimate(work, targetOf(gpu));
      return Math.log(high / low);
    };
    expect(model.kinship(h200)).toBe("measured");
    expect(model.kinship(targetOf("h200", "tensorrt"))).not.toBe("measured");
    for (const gpu of ["a100", "rtx3090", "a4500", "l4"]) {
      expect(model.kinship(targetOf(gpu))).not.toBe("measured");
      expect(width(gpu)).toBeGreaterThan(1.5 * width("h200"));
    }
  });

  test("a stack that nobody measured claims nothing by another's measurements, whatever the family", () => {
    const tensorrt = targetOf("h200", "tensorrt");
    const width = (work: Work<number>, target: Target) => {
      const { low, high } = model.estimate(work, target);
      return high / low;
    };
    const image = conv({ channels: 64, filters: 64, side: 56 });
    for (const asked of [work, image, attention(30), attention(64), elementwise(1e7)]) {
      const elsewhere = width(asked, targetOf("a100", "tensorrt"));
      expect(width(asked, tensorrt), asked.kind).toBeCloseTo(elsewhere, 6);
    }
    // cuDNN's cliff at an odd head_dim is cuDNN's.
    expect(model.savingOf([attention(30)], [attention(32)], h200).low).toBeGreaterThan(0);
    expect(model.savingOf([attention(30)], [attention(32)], tensorrt).low).toBeLessThan(0);
  });

  test("are ordered as their rates are", () => {
    const times = ["b200", "h200", "a100", "l4", "t4"].map(
      (gpu) => model.estimate(work, targetOf(gpu)).microseconds,
    );
    expect(times).toEqual([...times].sort((a, b) => a - b));
  });

  test("reach between half and all of the datasheet, as far as their power limit keeps it, in a large product", () => {
    for (const gpu of gpus.values()) {
      const { microseconds, flops } = model.estimate(gemm(8192, 8192, 8192), targetOf(gpu.id));
      const share = flops / microseconds / 1e6 / ((gpu.heldShare ?? 1) * (gpu.tensorTflops.fp16 ?? 1));
      expect(share, gpu.id).toBeGreaterThan(0.5);
      expect(share, gpu.id).toBeLessThan(1);
    }
  });

  test("a GPU with slow Tensor Cores hides odd sizes: an A100 loses much, an RTX 3090 little", () => {
    const loss = (gpu: string) =>
      model.estimate(gemm(4096, 4097, 4097), targetOf(gpu)).microseconds /
      model.estimate(gemm(4096, 4104, 4104), targetOf(gpu)).microseconds;
    expect(loss("a100")).toBeGreaterThan(2);
    expect(loss("rtx3090")).toBeLessThan(1.25);
  });
});

describe("savings", () => {
  test("a pair's interval is narrower than that of two estimates apart", () => {
    const [before, after] = [gemm(4096, 4096, 4104), gemm(4096, 4096, 4096)];
    const saving = model.savingOf([before], [after], h200);
    const [from, to] = [model.estimate(before, h200), model.estimate(after, h200)];
    expect(saving.microseconds).toBeCloseTo(from.microseconds - to.microseconds, 6);
    expect(saving.high - saving.low).toBeLessThan(from.high - to.low - (from.low - to.high));
  });

  test("what is only removed saves its whole time; what is only added costs it", () => {
    const { microseconds } = model.estimate(elementwise(1e6), h200);
    expect(model.savingOf([elementwise(1e6)], [], h200).microseconds).toBeCloseTo(microseconds, 9);
    const added = model.savingOf([], [elementwise(1e6)], h200);
    expect(added.microseconds).toBeCloseTo(-microseconds, 9);
    expect(added.low).toBeLessThan(added.microseconds);
    expect(added.high).toBeGreaterThan(added.microseconds);
  });

  test("of several layers add up, their widths less than that", () => {
    const before = [gemm(2048, 1001, 512), gemm(2048, 512, 1001)];
    const after = [gemm(2048, 1008, 512), gemm(2048, 512, 1008)];
    const both = model.savingOf(before, after, h200);
    const each = before.map((work, index) => model.savingOf([work], after.slice(index, index + 1), h200));
    const sum = (pick: (saving: (typeof each)[number]) => number) =>
      each.reduce((total, one) => total + pick(one), 0);
    expect(both.microseconds).toBeCloseTo(
      sum((one) => one.microseconds),
      6,
    );
    expect(both.high - both.low).toBeLessThan(sum((one) => one.high - one.low));
    expect(model.savingOf([], [], h200)).toEqual({ microseconds: 0, low: 0, high: 0 });
  });
});
