import { mkdirSync, rmSync, writeFileSync } from "node:fs";
import path from "node:path";
import { describe, expect, it } from "vitest";
import type { FixReport } from "../../src/api/fix-report.ts";
import { openModel } from "../../src/onnx/open.ts";
import { writeNpz } from "../../src/verify/index.ts";
import { fixJson } from "../cli/fixing.ts";
import { useWorkbench } from "../cli/workbench.ts";
import { floats, info, node, type types } from "../onnx/build.ts";
import { noise } from "../passes/folding.ts";
import { contentsOf, convolutions, oddWidth, writeExternal, writeInline } from "./models.ts";

const bench = useWorkbench();

/** x [64,64] → MatMul by w, whose product grows with x → Relu → MatMul → y. */
function growing(): types.IGraphProto {
  const weights = Array.from({ length: 64 * 64 }, (_, index) => (index % 7) - 3);
  return {
    node: [
      node("MatMul", ["x", "w1"], ["h"], { name: "grows" }),
      node("Relu", ["h"], ["r"], { name: "relu" }),
      node("MatMul", ["r", "w2"], ["y"], { name: "reads" }),
    ],
    input: [info("x", [64, 64])],
    output: [info("y", [64, 64])],
    initializer: [
      floats("w1", [64, 64], weights),
      floats(
        "w2",
        [64, 64],
        weights.map((w) => w / 4096),
      ),
    ],
  };
}

describe("half precision", () => {
  const halve = ["--fix-only", "--precision", "fp16", "model.onnx"];

  it("says on what inputs it saw ranges: drawn ones", async () => {
    writeInline(bench.folder.path, growing());
    const { report } = await fixJson(bench, ...halve);
    expect(report.fixes).toMatchObject([
      { changed: true, ranges: expect.stringMatching(/^drawn inputs/), proof: { kind: "verified" } },
    ]);
    expect(kept(report)).toEqual([]);
  });

  it("scales what leaves the range of FP16 on the samples of the user", async () => {
    writeInline(bench.folder.path, growing());
    mkdirSync(path.join(bench.folder.path, "samples"));
    for (const [name, size] of [
      ["small", 1],
      ["large", 1e4],
    ] as const) {
      const x = { dtype: "float32", dims: [64, 64], data: new Float32Array(64 * 64).fill(size) } as const;
      bench.folder.write(`samples/${name}.npz`, writeNpz(new Map([["x", x]])));
    }
    const { report } = await fixJson(bench, ...halve, "--samples", "samples");
    expect(report.fixes[0]?.ranges).toBe("2 sets of sample inputs (samples)");
    expect(scaled(report)).toEqual(["grows"]);
    rmSync(path.join(bench.folder.path, "model.onnx"));
    writeInline(bench.folder.path, growing());
    const small = await fixJson(bench, ...halve, "--samples", path.join("samples", "small.npz"));
    expect(kept(small.report)).toEqual([]);
    expect(scaled(small.report)).toEqual([]);
  });

  it("judges by constants alone where nothing is run", async () => {
    writeInline(bench.folder.path, growing());
    const { report } = await fixJson(bench, ...halve, "--no-verify");
    expect(report.fixes[0]?.ranges).toBe("constants alone (--no-verify)");
  });

  it("is compared on samples where no inputs can be drawn, and says what else would do", async () => {
    writeInline(bench.folder.path, { ...growing(), input: [info("x")], output: [info("y")] });
    const before = contentsOf(bench.folder.path);
    const refused = await bench.tcLint(halve);
    expect(refused.exitCode).toBe(2);
    expect(refused.stderr).toMatch(
      /no input "x" can be drawn: its shape is not declared; give inputs with --samples; so no result can be compared with it; --no-verify writes one unverified/,
    );
    expect(contentsOf(bench.folder.path)).toEqual(before);
    mkdirSync(path.join(bench.folder.path, "samples"));
    for (const rows of [64, 32]) {
      const data = Float32Array.from({ length: rows * 64 }, (_, index) => Math.sin(index));
      const x = { dtype: "float32", dims: [rows, 64], data } as const;
      bench.folder.write(`samples/${rows}.npz`, writeNpz(new Map([["x", x]])));
    }
    const { report } = await fixJson(bench, ...halve, "--samples", "samples");
    expect(report.fixes).toMatchObject([
      { changed: true, proof: { kind: "verified", summary: expect.stringMatching(/ on 6 input sets/) } },
    ]);
  });

  it("names no flag for an input that no archive holds", async () => {
    const type = { sequenceType: { elemType: { tensorType: { elemType: 1 } } } };
    const graph = growing();
    graph.input?.push({ name: "s", type });
    graph.node?.push(node("SequenceLength", ["s"], ["n"]));
    graph.output?.push(info("n", [], 7));
    writeInline(bench.folder.path, graph);
    const { exitCode, stderr } = await bench.tcLint(halve);
    expect(exitCode).toBe(2);
    expect(stderr).toMatch(/no input "s" can be drawn: it is not a tensor; so no result/);
  });

  it("refuses samples that the model does not take", async () => {
    writeInline(bench.folder.path, growing());
    const other = { dtype: "float32", dims: [1], data: Float32Array.of(1) } as const;
    bench.folder.write("s.npz", writeNpz(new Map([["other", other]])));
    const before = contentsOf(bench.folder.path);
    const { exitCode, stderr } = await bench.tcLint([...halve, "--samples", "s.npz"]);
    expect(exitCode).toBe(2);
    expect(stderr).toMatch(/"x"|"other"/);
    expect(contentsOf(bench.folder.path)).toEqual(before);
  });
});

/** Nodes from which on values are held at another scale. */
function scaled(report: FixReport) {
  return report.fixes.flatMap(({ notes }) =>
    notes
      .filter(({ message }) => / on sample inputs, beyond FP16: scaled down/.test(message))
      .map(({ node }) => node),
  );
}

function kept(report: FixReport) {
  return report.fixes.flatMap(({ notes }) =>
    notes.filter(({ pass, kind }) => pass === "half" && kind === "kept"),
  );
}

describe("the proof of half precision", () => {
  it("runs an FP16 result, and the same with every value rounded", async () => {
    writeInline(bench.folder.path, growing());
    const { report } = await fixJson(bench, "--fix-only", "--precision", "fp16", "model.onnx");
    expect(report.fixes[0]?.proof).toMatchObject({
      kind: "verified",
      summary: expect.stringMatching(
        /float16 costs \(the largest error .*\); in FP16, and in FP32 with every value rounded to FP16$/,
      ),
    });
  });

  it("allows no rounding to half where half precision was asked for and left", async () => {
    const file = writeInline(bench.folder.path, convolutions(), {
      opsetImport: [{ domain: "", version: 17 }],
    });
    const { report } = await fixJson(bench, "--fix-only", "--unsafe-fixes", "model.onnx");
    expect(report.fixes[0]?.notes.map(({ message }) => message)).toContainEqual(
      expect.stringMatching(/^left FP32/),
    );
    using fixed = openModel(file);
    expect(fixed.graph.values.get("w2")?.initializer?.dtype).toBe("float32");
    expect(report.fixes[0]).toMatchObject({
      changed: true,
      proof: {
        kind: "verified",
        summary: expect.stringMatching(/within 0\.00005 of each output's largest value$/),
      },
    });
  });

  it("is of the model that was written: scaled where samples say so", async () => {
    const graph = growing();
    graph.node?.push(node("MatMul", ["u", "w1"], ["v"], { name: "small" }));
    graph.input?.push(info("u", [64, 64]));
    graph.output?.push(info("v", [64, 64]));
    writeInline(bench.folder.path, graph);
    const filled = (size: number) =>
      ({ dtype: "float32", dims: [64, 64], data: new Float32Array(64 * 64).fill(size) }) as const;
    const inputs = new Map(Object.entries({ x: filled(1e4), u: filled(1) }));
    writeFileSync(path.join(bench.folder.path, "large.npz"), writeNpz(inputs));
    const flags = ["--fix-only", "--precision", "fp16", "--samples", "large.npz", "model.onnx"];
    const { report } = await fixJson(bench, ...flags);
    expect(scaled(report)).toEqual(["grows"]);
    expect(report.fixes[0]?.proof?.kind).toBe("verified");
  });
});

describe("half precision and layouts at once", () => {
  it("are planned by sizes alone where the weights are not there", async () => {
    // What stands at an output is cut and turned back.
    const graph = convolutions(7);
    graph.node?.push(node("Mul", ["y", "gain"], ["z"], { name: "scale" }));
    graph.output = [info("z", [1, 32, 7, 7]), info("c", [1, oddWidth, 7, 7])];
    graph.initializer?.push(floats("gain", [32, 1, 1], noise(32, 5)));
    writeExternal(bench.folder.path, graph);
    const diff = ["--diff", "--precision", "fp16", "--layout", "nhwc", "model.onnx"];
    rmSync(path.join(bench.folder.path, "model.weights"));
    const { exitCode, report, stderr } = await fixJson(bench, ...diff);
    expect(exitCode).toBe(1);
    // On ONNX Runtime NHWC gains nothing.
    expect(stderr).toMatch(/^tc-lint: model\.onnx: predicted to be slower, [^\n]*\n$/);
    expect(report.fixes[0]?.diff?.tensors).toContainEqual(
      expect.objectContaining({ after: "float16[1,1,1,32]" }),
    );
  });

  it.each(["fp16", "bf16"])("%s with --half-io and --nhwc-io is verified", async (precision) => {
    writeInline(bench.folder.path, convolutions(), { opsetImport: [{ domain: "", version: 17 }] });
    const flags = ["--half-io", "--layout", "nhwc", "--nhwc-io"];
    const fix = ["--fix-only", "--precision", precision, "model.onnx"];
    const { exitCode, report, stderr } = await fixJson(bench, ...fix, ...flags);
    expect({ exitCode, stderr }).toEqual({ exitCode: 0, stderr: "" });
    expect(report.fixes[0]?.proof?.kind).toBe("verified");
  });
});

describe("--precision bf16 below opset 22", () => {
  const raise = ["--fix-only", "--precision", "bf16", "model.onnx"];
  const opset = (version: number) => ({ opsetImport: [{ domain: "", version }] });

  it("raises the opset for convolutions, and is verified", async () => {
    const file = writeInline(bench.folder.path, convolutions(), opset(17));
    const { exitCode, report } = await fixJson(bench, ...raise);
    expect(exitCode).toBe(0);
    expect(report.fixes[0]?.notes.map(({ message }) => message)).toContainEqual(
      expect.stringMatching(/^opset 17 → 22, where every operator of the model means the same/),
    );
    expect(report.fixes[0]?.proof?.summary).toMatch(/; BF16 computed in FP32 with every value rounded$/);
    using fixed = openModel(file);
    expect(fixed.opsets.get("")).toBe(22);
    const weights = fixed.graph.nodes
      .filter(({ opType }) => opType === "Conv")
      .map(({ inputs }) => inputs[1]);
    expect(weights.map((value) => value?.initializer?.dtype)).toEqual(["bfloat16", "bfloat16"]);
  });

  it("names the operator that forbids it", async () => {
    const graph = convolutions();
    const window = { name: "kernel_shape", type: 7, ints: [28, 28] };
    graph.node?.push(node("LpPool", ["y"], ["z"], { name: "pooled", attribute: [window] }));
    graph.output?.push(info("z", [1, 32, 1, 1]));
    const file = writeInline(bench.folder.path, graph, opset(17));
    const { exitCode, report } = await fixJson(bench, ...raise);
    expect(exitCode).toBe(0);
    expect(report.fixes[0]?.error).toBeNull();
    using fixed = openModel(file);
    expect(fixed.opsets.get("")).toBe(17);
    const types = [...fixed.graph.values.values()].map(({ initializer }) => initializer?.dtype);
    expect(types).not.toContain("bfloat16");
    expect(report.fixes[0]?.notes.map(({ message }) => message).join("\n")).toMatch(
      /BF16 Conv needs opset 22.*LpPool "pooled" is not known to mean the same in both; nothing is stored in BF16/,
    );
  });
});

/** x [1024,32] → MatMul → Relu → MatMul, and in which of 21 columns each row is largest. */
function deciding(opType: "ArgMax" | "TopK", behind: "Gather" | "NonZero" | undefined = undefined) {
  const graph = decision(opType);
  if (behind === "Gather") {
    graph.node?.push(node("Gather", ["table", "d"], ["e"]));
    graph.initializer?.push(floats("table", [21, 8], noise(21 * 8, 3)));
    graph.output = [info("e")];
  } else if (behind === "NonZero") {
    graph.node?.pop();
    graph.node?.push(
      node("Greater", ["l", "zero"], ["d"], { name: "decides" }),
      node("NonZero", ["d"], ["e"]),
    );
    graph.initializer?.push(floats("zero", [], [0]));
    graph.output = [info("e", undefined, 7)];
  }
  return graph;
}

function decision(opType: "ArgMax" | "TopK"): types.IGraphProto {
  const k = { name: "k", dims: [1], dataType: 7, int64Data: [3] };
  const axis = { name: "axis", type: 2, i: 1 };
  const decision =
    opType === "ArgMax"
      ? node("ArgMax", ["l"], ["d"], { name: "decides", attribute: [axis] })
      : node("TopK", ["l", "k"], ["v", "d"], { name: "decides", attribute: [axis] });
  return {
    node: [
      node("MatMul", ["x", "w1"], ["h"], { name: "first" }),
      node("Relu", ["h"], ["r"]),
      node("MatMul", ["r", "w2"], ["l"], { name: "second" }),
      decision,
    ],
    input: [info("x", [1024, 32])],
    output: [info("d", undefined, 7)],
    initializer: [
      floats("w1", [32, 64], noise(32 * 64, 1)),
      floats("w2", [64, 21], noise(64 * 21, 2)),
      ...(opType === "TopK" ? [k] : []),
    ],
  };
}

describe("decisions that half precision turns", () => {
  it.each(["ArgMax", "TopK"] as const)("are counted wherever %s is called verified", async (opType) => {
    const file = writeInline(bench.folder.path, deciding(opType));
    const fixed = path.join(bench.folder.path, "fixed.onnx");
    const flags = ["--fix-only", "--precision", "fp16", "model.onnx", "--fix-output", fixed];
    const { report } = await fixJson(bench, ...flags);
    const proof = report.fixes[0]?.proof;
    if (proof?.kind !== "verified") throw new Error("not verified");
    const [found] = proof.otherwise;
    expect(found).toMatchObject({ output: "d", elements: opType === "ArgMax" ? 1024 : 3072 });
    expect(found?.differing).toBeGreaterThan(0);
    expect(found?.differing).toBeLessThanOrEqual(found?.allowed ?? 0);
    expect(proof.summary).toContain(
      ` but for ${found?.differing} of ${found?.elements} elements of "d", within`,
    );
    const { stdout, exitCode } = await bench.tcLint(["verify", file, fixed, "--half", "fp16", "--no-color"]);
    expect(exitCode).toBe(0);
    expect(stdout).toMatch(/ are the same function but for \d+ of \d+ elements of "d"\n/);
    expect(stdout).toMatch(
      /✓ output d int64\[.*\]: \d+ of \d+ elements stands? otherwise, allowed \d+: ties of "l", within [\d.]+ \(/,
    );
    expect(stdout).not.toContain("no difference");
  });

  it.each(["Gather", "NonZero"] as const)("prove nothing of what %s makes of them", async (behind) => {
    const file = writeInline(bench.folder.path, deciding("ArgMax", behind));
    const fixed = path.join(bench.folder.path, "fixed.onnx");
    const flags = ["--fix-only", "--precision", "fp16", "model.onnx"];
    const { report, stderr } = await fixJson(bench, ...flags);
    expect(report.fixes[0]).toMatchObject({ changed: false, proof: null });
    const failed = report.fixes[0]?.notes.filter(({ kind }) => kind === "failed") ?? [];
    expect(failed.length).toBeGreaterThan(0);
    for (const { message } of failed)
      expect(message).toMatch(
        /output "e" (is not proven: [^;]+|differs); (ArgMax|Greater) "decides" decides "d" otherwise, between values that half precision does not tell apart/,
      );
    expect(stderr).toMatch(/it is no defect; --no-verify writes it/);
    expect(stderr).not.toContain("please report it");
    // The same of a file that was written all the same.
    await bench.tcLint([...flags, "--no-verify", "--fix-output", fixed]);
    const { stdout, exitCode } = await bench.tcLint(["verify", file, fixed, "--half", "fp16", "--no-color"]);
    expect(exitCode).toBe(1);
    expect(stdout).toMatch(/They part at "d", made by \w+ "decides": .* half precision does not tell apart/);
    if (behind === "Gather") expect(stdout).toMatch(/ are not proven to be the same function\n/);
  });
});
