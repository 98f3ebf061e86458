/** GELU as one node is one decision: lint, `--diff` and `--fix` say and do the same, once, and nothing where the stack joins it. */
import { mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import path from "node:path";
import { afterAll, beforeAll, describe, expect, it, vi } from "vitest";
import { type GraphBuilder, type ModelOptions, model } from "../../fixtures/builder.ts";
import { writtenGelu } from "../../fixtures/layers.ts";
import { fix } from "../../src/api/fix.ts";
import { lint } from "../../src/api/lint.ts";
import { decideSafe } from "../../src/fix/decide.ts";
import { unsolvedOf } from "../../src/fix/decide-stored.ts";
import { runPasses } from "../../src/fix/pipeline.ts";
import { stackIds, stacks } from "../../src/hardware/stacks.ts";
import { modelFromBytes, openModel } from "../../src/onnx/open.ts";
import { align } from "../../src/passes/align/align.ts";
import { channelsLast } from "../../src/passes/channels-last/channels-last.ts";
import { fold } from "../../src/passes/fold/fold.ts";
import { join } from "../../src/passes/join/join.ts";
import type { Pass } from "../../src/passes/pass.ts";
import { priceModel } from "../../src/workload/workload.ts";
import { bytesOfModel, difference, floats, noise, operators, run } from "../passes/folding.ts";
import { eachModel, zooModel } from "../zoo.ts";
import { settingsFor } from "./models.ts";

let folder = "";
beforeAll(() => {
  folder = mkdtempSync(path.join(tmpdir(), "tc-lint-join-"));
});
afterAll(() => rmSync(folder, { recursive: true }));

const stack = "cudnn";

function written(
  name: string,
  build: (graph: GraphBuilder) => void,
  more: Partial<ModelOptions> = {},
): string {
  const file = path.join(folder, `${name}.onnx`);
  writeFileSync(file, model({ name, opset: 17, ...more }, build));
  return file;
}

/** An MLP of a width that nothing has to be padded for, and what stands between its GELU and its second product. */
function mlp(
  between: (graph: GraphBuilder, x: string) => string = (_, x) => x,
  form: "erf" | "tanh" = "erf",
) {
  return (graph: GraphBuilder) => {
    const weights = (rows: number, columns: number) =>
      graph.weight([rows, columns], { values: noise(rows * columns, rows).map((each) => each / 8) });
    const x = graph.input("x", [256, 64]);
    const wide = graph.node("MatMul", [x, weights(64, 512)]);
    const y = between(graph, writtenGelu(graph, wide, form));
    graph.node("MatMul", [y, weights(512, 64)], {}, { outputs: ["y"] });
    graph.output("y", "float32", [256, 64]);
  };
}

describe("a whole file", () => {
  it.each(["erf", "tanh"] as const)("%s: is joined, verified, and is another opset", async (form) => {
    const file = written(`whole-${form}`, mlp(undefined, form), {
      domains: { "com.example": 3 },
      metadata: { author: "somebody" },
    });
    const before = await lint(file, { stack });
    const [group] = before.groups.filter(({ code }) => code === "TC409");
    expect(group).toMatchObject({ fix: "safe", fixCommand: "--fix", step: "safe" });
    const output = path.join(folder, `whole-${form}-fixed.onnx`);
    const report = await fix(file, { stack, output, verify: false });
    expect(report).toMatchObject({ changed: true, written: true });
    const feeds = { x: floats([256, 64]) };
    expect(difference(await run(file, feeds), await run(output, feeds))).toBeLessThan(1e-6);
    using result = openModel(output);
    expect([...result.opsets]).toEqual([
      ["com.example", 3],
      ["", 20],
    ]);
    expect([result.irVersion, result.metadata.get("author")]).toEqual([9, "somebody"]);
    expect(operators(result)).toEqual(["MatMul", "Gelu", "MatMul"]);
    expect([...result.graph.values.values()].filter(({ initializer }) => initializer)).toHaveLength(2);
    const after = await lint(output, { stack });
    expect(after.groups.filter(({ code }) => code === "TC409")).toEqual([]);
    const safe = before.account.find(({ step }) => step === "safe");
    expect(after.predicted.microseconds).toBeCloseTo(safe?.microseconds ?? 0, 6);
    expect(group?.saves?.microseconds).toBeCloseTo(safe?.saves?.microseconds ?? 0, 6);
    const again = await fix(output, { stack, output: path.join(folder, "again.onnx"), verify: false });
    expect(again.changed).toBe(false);
  });

  it("is left on stacks that join it, which find nothing in it", async () => {
    const file = written("stacks", mlp());
    for (const id of stackIds) {
      if (stacks[id].fuses.elementwise === "none") continue;
      const { groups } = await lint(file, { stack: id, verbose: true });
      expect(groups.filter(({ code }) => code === "TC409")).toEqual([]);
      const { notes } = await fix(file, { stack: id, dryRun: true });
      expect(notes.filter(({ pass }) => pass === "join")).toEqual([]);
    }
  });

  it("is its author's where a node of it has another meaning in opset 20, and the fix names that", async () => {
    const file = written(
      "held",
      mlp((graph, x) => {
        const image = graph.node("Reshape", [
          x,
          graph.weight([4], { dtype: "int64", values: [1, 1, 256, 512] }),
        ]);
        const pool = graph.node(
          "LpPool",
          [image],
          { kernel_shape: [3, 3], pads: [1, 1, 1, 1] },
          { name: "lp" },
        );
        return graph.node("Reshape", [pool, graph.weight([2], { dtype: "int64", values: [256, 512] })]);
      }),
    );
    const { groups } = await lint(file, { stack });
    expect(groups.find(({ code }) => code === "TC409")).toMatchObject({
      fix: "none",
      fixCommand: null,
      step: "author",
      message: expect.stringMatching(/export with opset 20 or later/),
      left: expect.stringMatching(/opset 17 is not raised: LpPool "lp"/),
    });
    const { changed, notes } = await fix(file, { stack, dryRun: true });
    expect(changed).toBe(false);
    expect(notes.find(({ pass }) => pass === "join")?.message).toBe(
      '1 Gelu stays written out: it needs opset 20, and this model\'s opset 17 is not raised: LpPool "lp" is not known to mean the same in both',
    );
  });

  it("is its author's within a body, whose nodes no pass joins", async () => {
    const file = written("body", (graph) => {
      const x = graph.input("x", [512, 3072]);
      const [yes, no] = [graph.inner("yes"), graph.inner("no")];
      yes.output(writtenGelu(yes, x, "erf"));
      no.output(no.node("Relu", [x]));
      const branches = { then_branch: { graph: yes }, else_branch: { graph: no } };
      graph.output(graph.node("If", [graph.input("if", [], "bool")], branches));
    });
    const { groups } = await lint(file, { stack });
    expect(groups.filter(({ code }) => code === "TC409").map(({ fix: how }) => how)).toEqual(["none"]);
  });

  it("is joined beside padding, half precision and another batch", async () => {
    const file = written("beside", (graph) => {
      const x = graph.input("x", [64, 60]);
      const weights = (rows: number, columns: number) =>
        graph.weight([rows, columns], { values: noise(rows * columns, rows).map((each) => each / 8) });
      const wide = graph.node("MatMul", [x, weights(60, 1021)]);
      graph.node("MatMul", [writtenGelu(graph, wide, "erf"), weights(1021, 64)], {}, { outputs: ["y"] });
      graph.output("y", "float32", [64, 64]);
    });
    for (const more of [{}, { half: "fp16" }, { batch: 128 }] as const) {
      const output = path.join(folder, "beside-fixed.onnx");
      const { notes } = await fix(file, { stack, output, verify: false, ...more });
      const passes = new Set(notes.filter(({ kind }) => kind === "changed").map(({ pass }) => pass));
      expect([...passes]).toEqual(expect.arrayContaining(["join", "align"]));
      using result = openModel(output);
      expect(operators(result).filter((type) => type === "Gelu" || type === "Erf")).toEqual(["Gelu"]);
    }
  });
});

it("is joined in a file in NHWC, whose bodies are padded", async () => {
  const width = 67;
  const bytes = model({ name: "nhwc", opset: 17 }, (graph) => {
    const filters = (count: number, channels: number) => {
      const dims = [count, channels, 3, 3];
      const values = noise(count * channels * 9, count).map((each) => each / 16);
      return graph.weight(dims, { values });
    };
    const pads = { pads: [1, 1, 1, 1] };
    const first = graph.node("Conv", [graph.input("x", [1, 32, 28, 28]), filters(width, 32)], pads);
    const y = writtenGelu(graph, first, "erf");
    graph.node("Conv", [y, filters(32, width)], pads, { outputs: ["y"] });
    graph.output("y", "float32", [1, 32, 28, 28]);
  });
  const options = { ...settingsFor().options, nhwcOnlyWhereFaster: false };
  const { model: laidOut } = runPasses(modelFromBytes(bytes), { ...settingsFor([channelsLast]), options });
  const { fixed } = decideSafe(laidOut, settingsFor([fold, join, align]));
  expect([...fixed.parts.keys()].sort()).toEqual(["align", "join"]);
  // Each is a change of its own, with a time of its own.
  expect(fixed.applied.map(({ notes }) => [...new Set(notes.map(({ pass }) => pass))])).toEqual([
    ["join"],
    ["align"],
  ]);
  const after = fixed.model;
  expect([after.opsets.get(""), [...after.functions.values()].map(({ opsets }) => opsets.get(""))]).toEqual([
    20,
    [...after.functions].map(() => 20),
  ]);
  expect(operators(after)).toContain("Gelu");
  const feeds = { x: floats([1, 32, 28, 28]) };
  expect(difference(await run(bytes, feeds), await run(bytesOfModel(after), feeds))).toBeLessThan(1e-5);
});

it("is joined where no padding is worth solving for, which is not solved for then", () => {
  const bytes = model({ name: "aligned", opset: 17 }, mlp());
  const asked: string[] = [];
  const counted: Pass = {
    ...align,
    run: (context) => {
      asked.push("align");
      return align.run(context);
    },
  };
  const remaining = () => [];
  const settings = {
    ...settingsFor([fold, join, counted]),
    onlyWhereFaster: true,
    minSaving: 0.005,
    remaining,
  };
  const opened = modelFromBytes(bytes);
  const safe = decideSafe(opened, settings);
  const { fixed } = safe;
  expect([[...fixed.parts.keys()].sort(), asked]).toEqual([["fold", "join"], []]);
  // Nothing is solved for who does not ask.
  const solve = vi.fn(safe.unsolved);
  for (const isAsStored of [false, true])
    unsolvedOf({ unsolved: solve }, priceModel(opened, settings), settings, isAsStored);
  expect(solve).not.toHaveBeenCalled();
  expect(unsolvedOf(safe, priceModel(opened, settings), settings, false)?.why()).toMatch(
    /^what it is sure to save/,
  );
  const again = decideSafe(fixed.model, settings);
  expect(again.fixed.changed).toBe(false);
});

describe("exports", () => {
  const models = [
    "vit_tiny",
    "swin_tiny",
    "convnext_tiny",
    "bert",
    "misaligned_mlp",
    "sd_unet",
    "whisper_encoder",
  ];
  eachModel(models)("%s: what lint claims of it is what the change saves", async (name) => {
    const { groups, account } = await lint(zooModel(name), { stack, verbose: true });
    const claimed = groups.filter(({ code }) => code === "TC409");
    const half = claimed.some(({ fix: how }) => how === "unsafe") ? ({ half: "fp16" } as const) : {};
    const { notes } = await fix(zooModel(name), { stack, dryRun: true, ...half }).catch(() => ({
      notes: [],
    }));
    const saved = notes.filter(({ pass, kind }) => pass === "join" && kind === "changed");
    const sum = claimed.reduce((all, { saves }) => all + (saves?.microseconds ?? 0), 0);
    expect(claimed.map(({ step }) => step)).toEqual(["safe"]);
    if (saved.length > 0) expect(saved[0]?.microseconds).toBeCloseTo(sum, 3);
    // What is joined is as unsure as what was measured of it.
    const safe = account.find(({ step }) => step === "safe")?.saves;
    expect(safe?.low).toBeLessThan((safe?.microseconds ?? 0) - sum / 4);
  });

  eachModel(["convnext_tiny", "sd_unet"])(
    "%s: files in NHWC of an older opset, with their functions",
    (name) => {
      const before = openModel(zooModel(name));
      const options = { ...settingsFor().options, nhwcOnlyWhereFaster: false };
      const { model: laidOut } = runPasses(before, { ...settingsFor([channelsLast]), options });
      expect(laidOut.functions.size).toBeGreaterThan(0);
      const { model: after, notes } = runPasses(laidOut, settingsFor([join]));
      expect(notes.map(({ kind }) => kind)).toEqual(["changed"]);
      expect(after.opsets.get("")).toBe(20);
      for (const { opsets } of after.functions.values()) expect(opsets.get("")).toBe(20);
      before[Symbol.dispose]();
    },
  );
});
