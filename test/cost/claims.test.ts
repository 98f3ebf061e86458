/** @file The claims table of the shared measurements, line by line: what is true there must come out, and what is false must not. */
import { describe, expect, test } from "vitest";
import { createCostModel } from "../../src/cost/model.ts";
import type { Work } from "../../src/ops/work.ts";
import { attention, conv, gemm, targetOf } from "./targets.ts";

const model = createCostModel();
const h200 = targetOf();

function us(work: Work<number>): number {
  return model.estimate(work, h200).microseconds;
}

function slower(work: Work<number>, than: Work<number>): number {
  return us(work) / us(than);
}

describe("K or N off a multiple of 8 slows an FP16 product, by how odd it is", () => {
  test("K: 4104 to 4097 is 195 to 1425 µs", () => {
    expect(slower(gemm(4096, 4096, 4097), gemm(4096, 4096, 4104))).toBeGreaterThan(5.5);
  });

  test("N: 50264 to 50257 is 239 to 2196 µs; multiples of 4 and of 2 cost about three times", () => {
    const aligned = gemm(2048, 50264, 768);
    expect(slower(gemm(2048, 50257, 768), aligned)).toBeGreaterThan(6.5);
    for (const n of [50260, 50258]) {
      expect(slower(gemm(2048, n, 768), aligned)).toBeGreaterThan(2.3);
      expect(slower(gemm(2048, n, 768), aligned)).toBeLessThan(3.8);
    }
  });
});

test("M need not be a multiple of 8: 4088 to 4104 is one time", () => {
  const times = [4088, 4092, 4094, 4095, 4096, 4097, 4098, 4100, 4104].map((m) => us(gemm(m, 4096, 4096)));
  expect(Math.max(...times) / Math.min(...times)).toBeLessThan(1.12);
});

describe("odd convolution channels are slow", () => {
  test.each([
    [64, 60, 56, 2.1],
    [256, 255, 28, 1.8],
    [48, 50, 56, 2.2],
  ])("3×3, %i to %i channels", (aligned, odd, side, measured) => {
    const ratio = slower(
      conv({ channels: odd, filters: odd, side }),
      conv({ channels: aligned, filters: aligned, side }),
    );
    expect(ratio).toBeGreaterThan(measured * 0.7);
    expect(ratio).toBeLessThan(measured * 1.35);
  });

  test("a 1×1 head of 255 filters: 102 µs, of 256: 45", () => {
    const head = (filters: number) => conv({ channels: 256, filters, side: 40, taps: 1 });
    expect(slower(head(255), head(256))).toBeGreaterThan(1.6);
  });

  test("multiples of 4 gain little over odd", () => {
    const body = (channels: number) => conv({ channels, filters: channels, side: 28 });
    const ratio = slower(body(251), body(252));
    expect(ratio).toBeGreaterThan(0.88);
    expect(ratio).toBeLessThan(1.12);
  });
});

test("RGB is padded to 4, not to 8: 152, 130, 235, 274 µs for 3, 4, 8, 16 channels", () => {
  const stem = (channels: number) => us(conv({ channels, filters: 64, side: 224, taps: 7, stride: 2 }));
  expect(stem(4)).toBeLessThan(stem(3));
  expect(stem(3)).toBeLessThan(stem(8));
  expect(stem(8)).toBeLessThan(stem(16));
  const saving = model.savingOf(
    [conv({ channels: 3, filters: 64, side: 224, taps: 7, stride: 2 })],
    [conv({ channels: 8, filters: 64, side: 224, taps: 7, stride: 2 })],
    h200,
  );
  expect(saving.microseconds).toBeLessThan(0);
});

test("NCHW costs: 68 against 38 µs at 64 channels, 240 against 180 at 464, a little for 1×1", () => {
  const ratio = (channels: number, side: number, taps: number) => {
    const shape = { channels, filters: channels, side, taps };
    return slower(conv({ ...shape, layout: "nchw" }), conv(shape));
  };
  expect(ratio(64, 56, 3)).toBeGreaterThan(1.4);
  expect(ratio(464, 28, 3)).toBeGreaterThan(1.15);
  expect(ratio(464, 28, 3)).toBeLessThan(1.6);
  expect(ratio(64, 56, 1)).toBeGreaterThan(1.02);
  expect(ratio(64, 56, 1)).toBeLessThan(1.35);
});

describe("head_dim", () => {
  test("need not be 64: within a step of the kernel it costs the same", () => {
    for (const step of [
      [40, 48, 64],
      [72, 80, 96, 128],
      [136, 160, 192],
    ]) {
      const times = step.map((headDim) => us(attention(headDim)));
      expect(Math.max(...times) / Math.min(...times), step.join()).toBeLessThan(1.18);
    }
    const saving = model.savingOf([attention(40)], [attention(64)], h200);
    expect(saving.microseconds / us(attention(40))).toBeLessThan(0.08);
  });

  test("gains where a step is crossed", () => {
    expect(slower(attention(72), attention(64))).toBeGreaterThan(1.2);
    expect(slower(attention(136), attention(128))).toBeGreaterThan(1.25);
    expect(slower(attention(256), attention(192))).toBeGreaterThan(1.1);
  });

  test.each([
    [36, 40, 2.1],
    [60, 56, 2.07],
    [100, 96, 2.7],
  ])("must be a multiple of 8: %i against %i", (odd, even, measured) => {
    expect(slower(attention(odd), attention(even))).toBeGreaterThan(measured * 0.8);
    expect(slower(attention(odd), attention(even))).toBeLessThan(measured * 1.25);
  });
});

test("depthwise convolutions need no alignment: 116, 120, 128 channels are one slope", () => {
  const depthwise = (channels: number) =>
    us(conv({ channels, filters: channels, side: 28, groups: channels }));
  expect(depthwise(116) / depthwise(120)).toBeLessThan(1.1);
  expect(depthwise(116) / depthwise(128)).toBeLessThan(1.1);
});

test("small outputs: alignment pays above 16 filters, not below", () => {
  const head = (filters: number) => us(conv({ channels: 64, filters, side: 64, taps: 1 }));
  expect(head(24) / head(21)).toBeLessThan(0.85);
  expect(head(32) / head(27)).toBeLessThan(0.85);
  expect(head(8) / head(1)).toBeGreaterThan(0.9);
  expect(head(16) / head(10)).toBeGreaterThan(0.85);
});
