import { afterAll, describe, expect, it } from "vitest";
import type { Finding, ModelReport } from "../../src/lint/result.ts";
import { openModel } from "../../src/onnx/open.ts";
import { eachModel, zooNames as names, zooModel } from "../zoo.ts";
import { type LintOptions, lint } from "./lint.ts";

const reports = new Map<string, ModelReport>();

/** Every finding, however small. */
function reportOf(name: string, options: LintOptions = {}): ModelReport {
  const key = JSON.stringify([name, options]);
  const known = reports.get(key);
  if (known !== undefined) return known;
  using model = openModel(zooModel(name));
  const report = lint(model, options);
  reports.set(key, report);
  return report;
}

const alignment = new Set(["TC101", "TC102", "TC103", "TC106", "TC204"]);

function aligning(name: string, options?: LintOptions): Finding[] {
  return reportOf(name, options).findings.filter(({ code }) => alignment.has(code));
}

/** Sizes that the alignment findings of a model name as wrong: what they would have padded. */
function wrongSizes(findings: readonly Finding[]): Set<number> {
  const pairs = [
    ["channels", "paddedChannels"],
    ["filters", "paddedFilters"],
    ["m", "paddedM"],
    ["n", "paddedN"],
    ["k", "paddedK"],
    ["headDim", "padded"],
  ] as const;
  const wrong = findings.flatMap(({ data }) =>
    pairs.flatMap(([size, padded]) => (data[padded] === data[size] ? [] : [Number(data[size])])),
  );
  return new Set(wrong.filter((size) => !Number.isNaN(size)));
}

describe("zoo", () => {
  it.each(names)("%s: nothing skipped, nothing unresolved, no error", (name) => {
    const { skipped, error, findings, predicted } = reportOf(name);
    expect({ skipped, error }).toEqual({ skipped: [], error: null });
    expect(findings.filter(({ code }) => code === "TC901")).toEqual([]);
    expect(predicted.microseconds).toBeGreaterThan(0);
  });

  it.each(names)("%s: no finding claims a loss, or more than there is", (name) => {
    for (const { code, saves, message } of reportOf(name).findings) {
      expect(message, code).not.toMatch(/[{}]|undefined/);
      if (saves === null) continue;
      expect(saves.microseconds, code).toBeGreaterThan(0);
      expect(saves.share, code).toBeGreaterThan(0);
    }
  });

  eachModel([
    ["misaligned_cnn", [67, 129]],
    ["misaligned_cnn_dynamo", [67, 129]],
    ["gpt2_dynamo", [50257]],
    ["shufflenet_v2", [58, 116]],
    ["shufflenet_v2_dynamo", [58, 116]],
    ["llama", [766]],
    ["llama_dynamo", [766]],
    ["dlrm", [415]],
    ["yolo", [255]],
    ["yolo_dynamo", [255]],
    ["bert", [30522]],
    ["bert_dynamo", [30522]],
  ])("%s yields %j", (name, sizes) => {
    expect([...wrongSizes(aligning(name))]).toEqual(expect.arrayContaining(sizes));
  });

  eachModel(["siglip_so400m_d2", "siglip_so400m_d2_dynamo"])("%s: head_dim 72 costs a step", (name) => {
    const found = reportOf(name, { stack: "tensorrt" }).findings.filter(({ code }) => code === "TC104");
    expect(new Set(found.map(({ data }) => data["headDim"]))).toEqual(new Set([72]));
    expect(found.every(({ saves }) => saves !== null)).toBe(true);
  });

  // 4304 = 16 · 269: sixteen bytes hold whole halves and whole INT8, but not the 32 that TensorRT packs.
  eachModel(["siglip_so400m_d2", "siglip_so400m_d2_dynamo"])(
    "%s: an MLP of 4304 is no wrong size, nor in INT8 on TensorRT, where nothing measured says what it would gain",
    (name) => {
      expect([...wrongSizes(aligning(name))]).not.toContain(4304);
      expect([...wrongSizes(aligning(name, { stack: "tensorrt", precision: "int8" }))]).not.toContain(4304);
    },
  );

  eachModel(["sd_unet", "sd_unet_dynamo"])("%s: head_dim 40 is named, and no gain claimed", (name) => {
    const { findings } = reportOf(name, { stack: "tc-runtime" });
    const found = findings.filter(({ data }) => data["headDim"] === 40);
    const onHeadDim = found.filter(({ code }) => code === "TC103" || code === "TC104");
    expect(onHeadDim.map(({ code, saves }) => [code, saves])).toEqual([["TC104", null]]);
  });

  eachModel(["resnet50", "resnet50_dynamo"])("%s: nothing misaligned but its stem", (name) => {
    expect(aligning(name)).toEqual([]);
    expect(reportOf(name).findings.filter(({ code }) => code === "TC105")).toHaveLength(1);
  });

  eachModel(["gpt2_dynamo"])("%s: where an exporter left a source, findings point at it", (name) => {
    const found = reportOf(name).findings.filter(({ code }) => code === "TC102");
    expect(found.length).toBeGreaterThan(0);
    expect(found.every(({ source }) => source !== null)).toBe(true);
  });

  afterAll(() => console.log(tableOf([...names].map((name) => [name, reportOf(name)]))));
});

/** Findings by rule for every model, at the default threshold. */
function tableOf(rows: readonly (readonly [string, ModelReport])[]): string {
  return rows
    .map(([name, { predicted, findings }]) => {
      const counts = new Map<string, number>();
      for (const { code, saves } of findings) {
        if (saves === null || saves.share >= 0.005) counts.set(code, (counts.get(code) ?? 0) + 1);
      }
      const text = [...counts].map(([code, count]) => (count === 1 ? code : `${code}×${count}`)).join(" ");
      return `${name.padEnd(26)} ${predicted.microseconds.toFixed(0).padStart(6)} µs  ${text}`;
    })
    .join("\n");
}

describe("--fix", () => {
  eachModel(["crnn"])(
    "leaves sizes that are multiples already, where more saves nothing beyond doubt: %s",
    (name) => {
      const padded = reportOf(name, { stack: "ort-cuda", decided: true }).findings.filter(
        ({ code }) => code === "TC101",
      );
      expect(padded.length).toBeGreaterThan(0);
      for (const { data } of padded) {
        if (Number(data["channels"]) % 8 === 0) expect(data["paddedChannels"]).toBe(data["channels"]);
        if (Number(data["filters"]) % 8 === 0) expect(data["paddedFilters"]).toBe(data["filters"]);
      }
    },
  );
});
