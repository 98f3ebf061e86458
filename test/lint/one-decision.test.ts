/** What `--fix` decides is what lint claims: padding that it declines is nobody's, and what its step saves has a finding. */
import { describe, expect, it } from "vitest";
import { type GraphBuilder, model } from "../../fixtures/builder.ts";
import { attention, linear } from "../../fixtures/layers.ts";
import { rules } from "../../rules/index.ts";
import { fix } from "../../src/api/fix.ts";
import { type LintOptions, lint } from "../../src/api/lint.ts";

import { groupBy } from "../../src/ir/group.ts";
import { modelFromBytes } from "../../src/onnx/open.ts";
import { lint as lintOpen } from "../rules/lint.ts";
import { eachModel, zooModel } from "../zoo.ts";

const safe = new Set(rules.filter(({ fix }) => fix === "safe").map(({ code }) => code));

describe("heads off the multiple in attention that is written out", () => {
  const width = 512;
  const projected = (headDim: number) =>
    model({ name: "heads", opset: 17 }, (graph) => {
      const x = graph.input("x", [1, 1024, width]);
      const shape = graph.weight([4], { dtype: "int64", values: [1, 1024, 8, headDim] });
      const [q = "", k = "", v = ""] = ["q", "k", "v"].map((name) => {
        const flat = linear(graph, x, width, 8 * headDim, { name });
        return graph.node("Transpose", [graph.node("Reshape", [flat, shape])], { perm: [0, 2, 1, 3] });
      });
      const mixed = graph.node("Transpose", [attention(graph, q, k, v, headDim)], { perm: [0, 2, 1, 3] });
      const merged = graph.weight([3], { dtype: "int64", values: [1, 1024, 8 * headDim] });
      const joined = graph.node("Reshape", [mixed, merged]);
      graph.output(linear(graph, joined, 8 * headDim, width, { name: "out" }));
    });

  it.each([20, 33, 36, 44])("of %i are padded by --fix, and claimed, be all else aligned", (headDim) => {
    const { account, groups } = lintOpen(modelFromBytes(projected(headDim)), {
      stack: "cudnn",
      decided: true,
      minSaving: 0.005,
    });
    const safe = account.find(({ step }) => step === "safe")?.saves?.microseconds ?? 0;
    const claimed = groups.filter(({ step }) => step === "safe");
    expect(safe).toBeGreaterThan(5);
    expect(claimed.map(({ code }) => code)).toContain("TC103");
    const sum = claimed.reduce((total, { saves }) => total + (saves?.microseconds ?? 0), 0);
    expect(sum / safe).toBeGreaterThan(0.9);
    expect(sum).toBeLessThanOrEqual(safe + 1e-6);
  });
});

describe("what is predicted to gain nothing", () => {
  eachModel<LintOptions>([
    ["convnext_tiny", { stack: "cudnn" }],
    ["sd_unet", {}],
  ])("in %s is no finding", async (name, options) => {
    const { findings, unlisted } = await lint(zooModel(name), { ...options, verbose: true });
    const all = [...findings, ...(unlisted?.findings ?? [])];
    expect(all.length).toBeGreaterThan(0);
    expect(all.filter(({ saves }) => saves !== null && saves.microseconds <= 0)).toEqual([]);
  });
});

describe("what the decision declines", () => {
  eachModel<LintOptions>([
    ["misaligned_cnn", { dims: { batch: 32 } }],
    ["gpt2_dynamo", { stack: "tc-runtime" }],
    ["yolo", {}],
    ["seg_unet", { gpu: "h100" }],
  ])("%s: is counted as what may save nothing, and in no step", async (name, options) => {
    const report = await lint(zooModel(name), { ...options, verbose: true });
    const declined = /may save nothing|may be no faster|below --min-saving|costs more/;
    // What a graph's own Pad eats up, whoever prepares the input has for nothing: the step of its author.
    const claimed = report.groups.filter(
      ({ code, left, step }) => safe.has(code) && step !== "author" && declined.test(left ?? ""),
    );
    expect(claimed).toEqual([]);
    const counted = report.unlisted?.groups.filter(({ code }) => safe.has(code)) ?? [];
    expect(counted.length).toBeGreaterThan(0);
    expect(counted.filter(({ severity }) => severity === "error")).toEqual([]);
    expect(report.uncertain.count).toBeGreaterThan(0);
  });

  eachModel<LintOptions>([
    ["misaligned_cnn", { stack: "tc-runtime" }],
    ["c3d", { gpu: "h100" }],
  ])("%s: parts of what is declined as a whole add up to no more than it", async (name, options) => {
    const report = await lint(zooModel(name), { ...options, verbose: true });
    const whole = /predicted (\S+) µs → (\S+) µs \(/;
    const parts = (report.unlisted?.groups ?? []).filter(({ left }) => whole.test(left ?? ""));
    const [, before, after] = whole.exec(parts[0]?.left ?? "") ?? [];
    const sum = parts.reduce((total, { saves }) => total + (saves?.microseconds ?? 0), 0);
    expect(parts.length).toBeGreaterThan(0);
    // Of the figures that are shown, each is as exact as its last digit.
    expect(sum).toBeLessThanOrEqual(Number(before) - Number(after) + 1);
    const { notes } = await fix(zooModel(name), { ...options, dryRun: true });
    const left = notes.filter(({ rule, message }) => rule !== null && whole.test(message));
    const total = left.reduce((all, { microseconds }) => all + (microseconds ?? 0), 0);
    expect(total).toBeLessThanOrEqual(Number(before) - Number(after) + 1);
  });

  eachModel<LintOptions>([
    ["seg_unet", { gpu: "t4", stack: "inductor" }],
    ["seg_unet", { gpu: "t4", stack: "tc-runtime" }],
    ["deeplabv3", { gpu: "t4", stack: "inductor" }],
  ])(
    "%s: what may be saved together is no less than its parts, be none of them sure",
    async (name, options) => {
      const report = await lint(zooModel(name), { ...options, verbose: true });
      const whole = /predicted to save (\S+) µs, and may save nothing/;
      const parts = (report.unlisted?.groups ?? []).filter(({ left }) => whole.test(left ?? ""));
      const sums = groupBy(parts, ({ left }) => Number(whole.exec(left ?? "")?.[1]));
      expect(sums.size).toBeGreaterThan(0);
      // Figures are shown to three digits.
      for (const [together, own] of sums)
        expect(own.reduce((sum, { saves }) => sum + (saves?.microseconds ?? 0), 0)).toBeLessThan(
          together * 1.005,
        );
      // Counted alike, be they listed or not; and said alike of the same by --diff.
      expect((await lint(zooModel(name), options)).uncertain).toEqual(report.uncertain);
      const { notes } = await fix(zooModel(name), { ...options, dryRun: true });
      const said = notes.filter(({ message }) => whole.test(message));
      const ofNotes = said.reduce((sum, { microseconds }) => sum + (microseconds ?? 0), 0);
      const ofRows = parts.reduce((sum, { saves }) => sum + (saves?.microseconds ?? 0), 0);
      expect(ofNotes).toBeCloseTo(ofRows, 6);
    },
  );

  eachModel<LintOptions>([
    ["tcn", {}],
    ["yolo", {}],
    ["seg_unet", {}],
    ["c3d", { gpu: "h100" }],
    ["misaligned_cnn", { stack: "tc-runtime" }],
    ["seg_unet", { gpu: "t4", stack: "inductor" }],
  ])(
    "%s: a declined row has the sizes that --fix would give, and the figures of --diff",
    async (name, options) => {
      const { predicted, unlisted } = await lint(zooModel(name), { ...options, verbose: true });
      const { notes } = await fix(zooModel(name), { ...options, dryRun: true });
      const padding = new Set(["TC101", "TC102"]);
      const rows = (unlisted?.findings ?? []).filter(({ code, fix }) => padding.has(code) && fix === "none");
      const left = notes.filter(({ rule }) => rule !== null && padding.has(rule ?? ""));
      expect(rows.length).toBeGreaterThan(0);
      const figures = (list: readonly (readonly [string, number])[]) =>
        list.map(([at, saved]) => `${at} ${saved.toFixed(6)}`).sort();
      expect(figures(rows.map(({ node, saves }) => [node, saves?.microseconds ?? 0]))).toEqual(
        figures(left.map(({ node, microseconds }) => [node ?? "", microseconds ?? 0])),
      );
      // Padding is decided for the half that a model is meant to run in, be it told as it is stored.
      for (const { data } of rows)
        for (const [padded, own] of [
          [data["paddedChannels"], data["channels"]],
          [data["paddedFilters"], data["filters"]],
          [data["paddedN"], data["n"]],
          [data["paddedK"], data["k"]],
        ])
          if (padded !== own && Number(own) > 4) expect(Number(padded) % 8, JSON.stringify(data)).toBe(0);
      // Figures of a reason are in what its row is told in.
      if (predicted.half !== undefined)
        for (const { message } of left)
          expect(message).not.toMatch(/in FP16 .* (?:saves? [\d.]+ %|save [\d.]+ µs),/);
    },
  );

  eachModel(["c3d", "crnn", "misaligned_cnn", "resnext50", "seg_unet", "yolo_w0375"])(
    "%s, as it is stored: nothing is left for the sake of padding that nobody does",
    async (name) => {
      const options = { precision: "as-is", verbose: true } as const;
      const { account, unlisted, groups } = await lint(zooModel(name), options);
      const { notes } = await fix(zooModel(name), { precision: "as-is", dryRun: true });
      const isPadded = notes.some(({ kind, pass }) => kind === "changed" && pass === "align");
      expect(account.some(({ step }) => step === "safe")).toBe(notes.some(({ kind }) => kind === "changed"));
      const lefts = [...groups, ...(unlisted?.groups ?? [])].map(({ left }) => left ?? "");
      const reasons = [...lefts, ...notes.map(({ message }) => message)];
      if (!isPadded) expect(reasons.filter((reason) => /are padded/.test(reason))).toEqual([]);
    },
  );

  it("is no size that something else forbids: that is its author's", () => {
    const blocked = (graph: GraphBuilder) => {
      const logits = linear(graph, graph.input("x", [512, 1024]), 1024, 30521);
      graph.output(graph.node("Trilu", [logits]));
    };
    using opened = modelFromBytes(model({ name: "blocked" }, blocked));
    const { groups } = lintOpen(opened, { decided: true, minSaving: 0.005 });
    const found = groups.find(({ code }) => code === "TC102");
    expect(found).toMatchObject({ step: "author", fix: "none" });
    expect(found?.left).toMatch(/^blocked: .*Trilu/);
  });
});

describe("a step that is decided", () => {
  eachModel(["mobilevit_xs"])("%s: has findings for most of what it saves on the runtime", async (name) => {
    const { groups, account } = await lint(zooModel(name), { stack: "tc-runtime" });
    const step = account.find((each) => each.step === "safe")?.saves?.microseconds ?? 0;
    const claimed = groups.filter((group) => group.step === "safe");
    const sum = claimed.reduce((total, { saves }) => total + (saves?.microseconds ?? 0), 0);
    expect(step).toBeGreaterThan(0);
    expect(sum).toBeGreaterThan(step / 2);
    expect(sum).toBeLessThanOrEqual(step + 1e-6);
  });
});
