import { readFileSync } from "node:fs";
import { describe, expect, it } from "vitest";
import { h200 } from "../../../cuda-runtime/ir/step.ts";
import { chooseDepthwise, tileRows } from "../../../cuda-runtime/kernels/depthwise/choose.ts";
import type { DepthwiseProblem } from "../../../cuda-runtime/kernels/depthwise/problem.ts";

function choice(
  channels: number,
  size: number,
  taps: number,
  batch: number,
  changes: Partial<DepthwiseProblem> = {},
) {
  return chooseDepthwise(
    {
      ...{ type: "float16", channels, filters: channels, batch, size: [1, size, size] },
      ...{
        kernel: [1, taps, taps],
        stride: [1, 1, 1],
        dilation: [1, 1, 1],
        alignment: 16,
        width: 8,
        isPlain: false,
        isWalkable: true,
        activation: "none",
        bytes: 1e6,
      },
      ...changes,
    },
    h200,
  ).launch;
}

describe("depthwise kernels", () => {
  it("are those of the source", () => {
    const source = readFileSync(
      new URL("../../../cuda-runtime/kernels/depthwise/depthwise.cu", import.meta.url),
      "utf8",
    );
    const entries = [...source.matchAll(/^ {2}TILE\(NAME, E, ([\d, ]+\d)(?: - [^,]+)?, (\d+) - FEWER\)/gm)];
    expect(entries.map(([, numbers, blocks]) => `${numbers}, ${blocks}`)).toEqual(
      tileRows.map((row) => [row.taps, row.stride, row.wide, row.high, row.ahead, row.blocks].join(", ")),
    );
  });

  it("work in large tiles where there are positions enough, in small ones where not", () => {
    expect(choice(96, 56, 7, 32).suffix).toBe("k7s1_7x4");
    expect(choice(768, 7, 7, 32).suffix).toBe("k7s1_7x2");
    expect(choice(672, 14, 5, 1).suffix).toBe("k5s1_2x1");
  });

  it("have blocks of few idle lanes, and room for their weights", () => {
    expect(choice(96, 56, 7, 32).block).toEqual([48, 2]);
    expect(choice(32, 112, 3, 32).block).toEqual([16, 8]);
    const deep = choice(96, 56, 7, 32, { kernel: [7, 7, 7] });
    expect(deep.block?.[0]).toBeLessThan(32);
    expect(deep.sharedBytes).toBeLessThanOrEqual(49_152);
    expect(choice(96, 56, 7, 32, { kernel: [120, 7, 7] }).suffix).toBe("any");
  });

  it("take any window and any channels, one way or another", () => {
    expect(choice(96, 56, 3, 32, { dilation: [1, 2, 2] }).suffix).toBe("any");
    expect(choice(96, 56, 4, 32).suffix).toBe("any");
    expect(choice(37, 56, 3, 32).suffix).toBe("single");
    expect(choice(96, 56, 3, 32, { filters: 192 }).suffix).toBe("single");
    expect(choice(96, 56, 3, 32, { alignment: 2 }).suffix).toBe("single");
    expect(choice(6, 56, 3, 32, { alignment: 4, width: 2 }).vector).toBe(2);
  });
});
