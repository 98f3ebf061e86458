/** An axis that several products have is told to be padded to one size, whoever tells it and whether or not it is claimed. */
import { describe, expect, test } from "vitest";
import { model } from "../../fixtures/builder.ts";
import { conv } from "../../fixtures/layers.ts";
import type { StackId } from "../../src/hardware/stacks.ts";
import type { Finding } from "../../src/lint/result.ts";
import { modelFromBytes } from "../../src/onnx/open.ts";
import { lint } from "./lint.ts";

interface Layer {
  readonly filters: number;
  readonly groups?: number;
  readonly kernel?: number;
}

/** Convolutions one behind the other, an activation between them. */
function chain(channels: number, layers: readonly Layer[], side = 28): Uint8Array {
  return model({ name: "chain" }, (graph) => {
    let [x, width] = [graph.input("x", [4, channels, side, side]), channels];
    for (const [index, layer] of layers.entries()) {
      x = graph.node("Relu", [conv(graph, x, { channels: width, ...layer, name: `layer${index}` })]);
      width = layer.filters;
    }
    graph.output(x);
  });
}

const paddings = (findings: readonly Finding[]) =>
  new Map(
    findings
      .flatMap(({ node, code, data }) => {
        if (code !== "TC101" && code !== "TC106") return [];
        const groups = Number(data["groups"] ?? 1);
        const whole = (key: string) => Number(data[key]) * groups;
        const inputs = { from: whole("channels"), to: whole("paddedChannels") };
        const outputs = { from: whole("filters"), to: whole("paddedFilters") };
        return [[node, { inputs, outputs }] as const];
      })
      // What is left of a product that is padded comes behind, and is of its size then.
      .reverse(),
  );

/** Axes that two findings pad, to two sizes. */
function contradictions(bytes: Uint8Array, stack: StackId, decided: boolean, layers: number): string[] {
  const { findings, unlisted } = lint(modelFromBytes(bytes), { stack, decided, verbose: true });
  const padded = paddings([...findings, ...(unlisted?.findings ?? [])]);
  return Array.from({ length: layers - 1 }, (_, index) => {
    const [writes, reads] = [padded.get(`layer${index}`)?.outputs, padded.get(`layer${index + 1}`)?.inputs];
    const isBoth =
      writes !== undefined && reads !== undefined && writes.to > writes.from && reads.to > reads.from;
    return isBoth && writes.to !== reads.to ? `${writes.from}: ${writes.to} and ${reads.to}` : "";
  }).filter((text) => text !== "");
}

const stacks = ["ort-cuda", "cudnn", "tc-runtime", "inductor", "tensorrt"] as const;
const networks: readonly (readonly [string, number, readonly Layer[]])[] = [
  ["whole groups", 7, [{ filters: 51 }, { filters: 99, groups: 3 }, { filters: 13 }]],
  [
    "groups of several numbers",
    20,
    [
      { filters: 30, groups: 2 },
      { filters: 45, groups: 3 },
      { filters: 50, groups: 5 },
    ],
  ],
  [
    "a bottleneck",
    208,
    [
      { filters: 52, kernel: 1 },
      { filters: 208, kernel: 1 },
      { filters: 52, kernel: 1 },
    ],
  ],
  ["odd widths", 67, [{ filters: 129 }, { filters: 251 }, { filters: 33 }, { filters: 100 }]],
  ["a depthwise convolution between", 24, [{ filters: 75 }, { filters: 75, groups: 75 }, { filters: 35 }]],
];

describe("one target size an axis", () => {
  test.each(
    networks.flatMap(([name, width, layers]) => stacks.map((stack) => [name, stack, width, layers] as const)),
  )("%s on %s", (_, stack, width, layers) => {
    for (const side of [7, 28, 64])
      for (const decided of [false, true])
        expect(contradictions(chain(width, layers, side), stack, decided, layers.length)).toEqual([]);
  });

  test("a depthwise convolution passes it on", () => {
    const layers = [{ filters: 75 }, { filters: 75, groups: 75 }, { filters: 35 }];
    for (const side of [7, 28, 64]) {
      const { findings } = lint(modelFromBytes(chain(24, layers, side)), { verbose: true });
      const padded = paddings(findings);
      const [writes, reads] = [padded.get("layer0")?.outputs.to, padded.get("layer2")?.inputs.to];
      if ((writes ?? 75) > 75 && (reads ?? 75) > 75) expect(writes).toBe(reads);
    }
  });
});
