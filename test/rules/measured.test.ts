/** What an H200 took for layers as exporters write them and as rules would have them, against what the rules claim. */
import { readFileSync } from "node:fs";
import path from "node:path";
import { describe, expect, it } from "vitest";
import { type GraphBuilder, model } from "../../fixtures/builder.ts";
import { linear, patches, writtenGroupNorm, writtenNorm } from "../../fixtures/layers.ts";
import { blockedWidth } from "../../src/lint/group-width.ts";
import type { SavingReport } from "../../src/lint/result.ts";
import { findingsIn } from "./lint.ts";

type Key = readonly [family: string, ...sizes: (number | readonly number[])[]];
type Times = Readonly<Record<string, number>>;

const file = path.join(import.meta.dirname, "../../bench/results/rewrites.jsonl");
const lines = readFileSync(file, "utf8").trim().split("\n");
const rows = lines.map((line): [Key, Times] => JSON.parse(line));
const known = new Map(rows.map(([key, times]) => [JSON.stringify(key), times]));

function ofFamily(...families: readonly string[]): [string, number[], Times][] {
  return rows.flatMap(([[family, ...sizes], times]): [string, number[], Times][] =>
    families.includes(family) ? [[family, sizes.map(Number), times]] : [],
  );
}

interface Claim {
  readonly what: string;
  readonly claimed: SavingReport;
  /** Microseconds; negative for a loss. */
  readonly saved: number;
}

/** What a rule would list, where what is saved was measured. */
function claims(
  code: string,
  cases: Iterable<{ what: string; build: (graph: GraphBuilder) => void; saved: number }>,
): Claim[] {
  const options = { name: "test", opset: 23, irVersion: 10, domains: { "com.microsoft": 1 } };
  return [...cases].flatMap(({ what, build, saved }) => {
    const saves = findingsIn(model(options, build)).find((finding) => finding.code === code)?.saves;
    return saves == null || saves.low <= 0 ? [] : [{ what, claimed: saves, saved }];
  });
}

/** No claim is a loss, and all but one or a tenth gain at least the low end of their interval. */
function expectTrue(all: readonly Claim[], atLeast: number): void {
  expect(all.length).toBeGreaterThanOrEqual(atLeast);
  expect(all.filter(({ saved }) => saved <= 0)).toEqual([]);
  const short = all.filter(({ saved, claimed }) => saved < claimed.low);
  expect(short.length).toBeLessThanOrEqual(Math.max(1, all.length / 10));
}

function* patchCases(layout: "tokens" | "channels second") {
  for (const [, [b = 0, channels = 0, side = 0, patch = 0, filters = 0], times] of ofFamily("patch")) {
    const build = (graph: GraphBuilder) => {
      const image = graph.input("image", [b, channels, side, side]);
      if (layout === "tokens") return graph.output(patches(graph, image, { channels, filters, patch }));
      const inputs = [image, graph.weight([filters, channels, patch, patch]), graph.weight([filters])];
      graph.output(graph.node("Conv", inputs, { strides: [patch, patch] }));
    };
    const { nchw = Number.NaN, mm = Number.NaN, back = Number.NaN } = times;
    // A copy brings what the convolution writes to tokens, the same that turns the product's result back.
    const saved = layout === "tokens" ? nchw + (back - mm) - mm : nchw - back;
    yield { what: `${layout} ${b}×${channels}×${side}², ${patch}, ${filters}`, build, saved };
  }
}

function groupedConv(graph: GraphBuilder, sizes: readonly number[], is1d: boolean, last: boolean): void {
  const [b = 0, side = 0, kernel = 0, groups = 0, width = 0] = sizes;
  const channels = groups * width;
  const spatial = is1d && !last ? [side] : is1d ? [1, side] : [side, side];
  const taps = is1d && !last ? [kernel] : is1d ? [1, kernel] : [kernel, kernel];
  const pads = [...taps, ...taps].map((size) => Math.floor(size / 2));
  const attributes = { group: groups, pads, kernel_shape: taps };
  const x = graph.input("x", last ? [b, ...spatial, channels] : [b, channels, ...spatial]);
  const w = graph.weight(last ? [channels, ...taps, width] : [channels, width, ...taps]);
  const inputs = [x, w, graph.weight([channels])];
  graph.output(
    last
      ? graph.node("NhwcConv", inputs, attributes, { domain: "com.microsoft" })
      : graph.node("Conv", inputs, attributes),
  );
}

function* groupCases(layout: "n" | "l") {
  for (const [family, sizes, times] of ofFamily("g1", "g2")) {
    const width = sizes[4] ?? 0;
    const wider = known.get(JSON.stringify([family, ...sizes.slice(0, 4), blockedWidth(width)]));
    const [before, after] = [times[layout], wider?.[layout]];
    if (width % 8 !== 0 || before === undefined || after === undefined) continue;
    const build = (graph: GraphBuilder) => groupedConv(graph, sizes, family === "g1", layout === "l");
    yield { what: `${layout} ${family} ${sizes.join(" ")}`, build, saved: before - after };
  }
}

function* depthwiseCases(layout: "n" | "l") {
  for (const [, sizes, times] of ofFamily("dw")) {
    const [b, side, , channels] = sizes;
    const seven = known.get(JSON.stringify(["dw", b, side, 7, channels, 1]));
    const build = (graph: GraphBuilder) => groupedConv(graph, sizes, false, layout === "l");
    const saved = (times[layout] ?? Number.NaN) - (seven?.[layout] ?? Number.NaN);
    yield { what: `${layout} dw ${sizes.join(" ")}`, build, saved };
  }
}

function* writtenCases(family: "gn" | "ln" | "rms") {
  for (const [, sizes, times] of ofFamily(family)) {
    const [rowCount = 0, columns = 0, side = 0, groups = 0] = sizes;
    const build = (graph: GraphBuilder) => {
      const shape = family === "gn" ? [rowCount, columns, side, side] : [rowCount, columns];
      const x = graph.input("x", shape);
      if (family === "gn") graph.output(writtenGroupNorm(graph, x, shape, groups));
      else graph.output(writtenNorm(graph, x, columns, family === "ln" ? "layer" : "rms"));
    };
    yield {
      what: `${family} ${sizes.join(" ")}`,
      build,
      saved: (times["written"] ?? 0) - (times["op"] ?? 0),
    };
  }
}

function* mergeCases() {
  for (const [[family, m, k, outputs], times] of rows) {
    if (family !== "merge" || !Array.isArray(outputs)) continue;
    const widths: readonly number[] = outputs;
    const build = (graph: GraphBuilder) => {
      const x = graph.input("x", [1, Number(m), Number(k)]);
      const [q = "", key = "", v] = widths.map((width) => linear(graph, x, Number(k), width));
      if (v === undefined) return graph.output(graph.node("Mul", [graph.node("Sigmoid", [q]), key]));
      const [heads, kvHeads] = widths.map((width) => width / 32);
      const attributes = { q_num_heads: heads ?? 1, kv_num_heads: kvHeads ?? 1 };
      graph.output(graph.node("Attention", [q, key, v], attributes));
    };
    yield { what: `merge ${m} ${k} ${widths}`, build, saved: (times["apart"] ?? 0) - (times["one"] ?? 0) };
  }
}

describe("what rules claim, against an H200", () => {
  it("TC406: patches as a product", () => {
    expectTrue(claims("TC406", patchCases("tokens")), 15);
    expectTrue(claims("TC406", patchCases("channels second")), 10);
  });

  it("TC108: groups as wide as a block", () => {
    expectTrue(claims("TC108", groupCases("n")), 20);
    expectTrue(claims("TC108", groupCases("l")), 30);
  });

  it("TC109: depthwise kernels above 7×7", () => {
    expectTrue([...claims("TC109", depthwiseCases("n")), ...claims("TC109", depthwiseCases("l"))], 6);
  });

  it.each([
    ["TC407", "gn", 5],
    ["TC408", "ln", 5],
    ["TC408", "rms", 4],
  ] as const)("%s: %s written out", (code, family, atLeast) => {
    expectTrue(claims(code, writtenCases(family)), atLeast);
  });

  it("TC402: projections side by side", () => {
    expectTrue(claims("TC402", mergeCases()), 15);
  });
});
