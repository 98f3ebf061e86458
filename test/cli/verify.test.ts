import { cpSync, mkdirSync, mkdtempSync, readFileSync, rmSync, symlinkSync, writeFileSync } from "node:fs";
import { createRequire } from "node:module";
import { tmpdir } from "node:os";
import path from "node:path";
import { fileURLToPath } from "node:url";
import { afterAll, beforeAll, describe, expect, it } from "vitest";
import { halfBits } from "../../src/ir/half.ts";
import { readNpz, writeNpz } from "../../src/verify/npz.ts";
import { type BuiltCli, buildCli, runCli } from "../cli-process.ts";
import { floats, info, modelBytes, node } from "../onnx/build.ts";

const root = path.resolve(path.dirname(fileURLToPath(import.meta.url)), "..", "..");
let cli: BuiltCli;
let folder: string;

beforeAll(() => {
  cli = buildCli();
  folder = mkdtempSync(path.join(tmpdir(), "tc-lint-verify-cli-"));
  writeModel("a.onnx", 1);
  writeModel("b.onnx", 1.5);
});
afterAll(() => {
  rmSync(folder, { recursive: true });
  cli[Symbol.dispose]();
});

/** y = tanh(scale x). */
function writeModel(name: string, scale: number): void {
  const bytes = modelBytes({
    node: [node("Mul", ["x", "scale"], ["scaled"], { name: "scale" }), node("Tanh", ["scaled"], ["y"])],
    initializer: [floats("scale", [], [scale])],
    input: [info("x", ["batch", 4])],
    output: [info("y", ["batch", 4])],
  });
  writeFileSync(path.join(folder, name), bytes);
}

function verify(...args: string[]) {
  return runCli(cli, ["verify", ...args], { cwd: folder });
}

describe("tc-lint verify", () => {
  it("exits with 0 where models are the same", async () => {
    const { exitCode, stdout, stderr } = await verify("a.onnx", "a.onnx", "--no-color");
    expect({ exitCode, stderr }).toEqual({ exitCode: 0, stderr: "" });
    expect(stdout).toMatch(
      /^a\.onnx and a\.onnx are the same function\n {2}✓ output y float32\[1,4\]: no difference/,
    );
    expect(stdout).toMatch(
      /11 sets of inputs: normal ×5, large, negative, zero, infinity, nan, huge; batch 1 and 3 and 0/,
    );
  });

  it("holds the first model in half to half precision's budget, and says so", async () => {
    const weights = Array.from({ length: 64 }, (_, index) => Math.sin(index + 1) / 3);
    const bits = Uint16Array.from(weights, halfBits);
    const stored = { name: "w", dims: [8, 8], dataType: 10, rawData: Buffer.from(bits.buffer) };
    const product = (inHalf: boolean) => {
      const cast = node("Cast", ["w"], ["w32"], { attribute: [{ name: "to", type: 2, i: 1 }] });
      return modelBytes({
        node: [...(inHalf ? [cast] : []), node("MatMul", ["x", inHalf ? "w32" : "w"], ["y"])],
        initializer: [inHalf ? stored : floats("w", [8, 8], weights)],
        input: [info("x", ["batch", 8])],
        output: [info("y", ["batch", 8])],
      });
    };
    writeFileSync(path.join(folder, "full.onnx"), product(false));
    writeFileSync(path.join(folder, "half.onnx"), product(true));
    const { exitCode, stdout } = await verify("full.onnx", "half.onnx", "--no-color");
    expect(stdout).toMatch(/errors to 8 times what rounding weights and inputs to float16 costs/);
    expect(stdout).toMatch(/note {3}held to the budget of float16: .*--tolerance holds it to another/);
    expect(exitCode).toBe(0);
    expect((await verify("full.onnx", "half.onnx", "--tolerance", "1e-5")).exitCode).toBe(1);
    // The other way round nothing was rounded, and of two in half neither is the other's.
    expect((await verify("half.onnx", "full.onnx")).exitCode).toBe(1);
    expect((await verify("half.onnx", "half.onnx")).stdout).not.toContain("float16");
  });

  it("exits with 1 where they differ, and says where they part", async () => {
    const { exitCode, stdout } = await verify("a.onnx", "b.onnx", "--no-color");
    expect(exitCode).toBe(1);
    expect(stdout).toMatch(/^b\.onnx and a\.onnx differ\n {2}✗ output y float32\[\d,4\]: largest error/);
    expect(stdout).toMatch(/worst at \[\d,\d\]: expected -?0\.\d+, found -?0\.\d+/);
    expect(stdout).toMatch(/They part at "scaled", made by Mul "scale"/);
  });

  it("writes JSON, and the inputs that show the difference, which are inputs again", async () => {
    const first = await verify(
      "a.onnx",
      "b.onnx",
      "-f",
      "json",
      "-o",
      "report.json",
      "--save-inputs",
      "x.npz",
    );
    expect(first).toMatchObject({ exitCode: 1, stdout: "" });
    const report = JSON.parse(readFileSync(path.join(folder, "report.json"), "utf8"));
    expect(report).toMatchObject({ same: false, firstDivergence: { value: "scaled" } });
    const inputs = readNpz(readFileSync(path.join(folder, "x.npz")), "x.npz");
    expect(inputs.get("x")).toMatchObject({ dtype: "float32", dims: [1, 4] });
    const again = await verify("a.onnx", "b.onnx", "--inputs", "x.npz", "-f", "json");
    expect(again.exitCode).toBe(1);
    expect(JSON.parse(again.stdout)).toMatchObject({
      draws: [{ name: "given" }, { name: "given, optimizations off" }, { name: "given, all optimizations" }],
    });
  });

  it("converts inputs of another float type, and takes them alone", async () => {
    const zeros = { dtype: "float64", dims: [2, 4], data: new Float64Array(8) } as const;
    writeFileSync(path.join(folder, "zeros.npz"), writeNpz(new Map([["x", zeros]])));
    // At 0 the two agree.
    expect(await verify("a.onnx", "b.onnx", "--inputs", "zeros.npz")).toMatchObject({ exitCode: 0 });
  });

  it("does not call models the same of which nothing was compared", async () => {
    const { exitCode, stdout, stderr } = await verify("a.onnx", "b.onnx", "--dim", "batch=0");
    expect([exitCode, stdout]).toEqual([2, ""]);
    expect(stderr).toMatch(/a\.onnx: every output is empty at these sizes, .*--dim gives others/);
  });

  it("takes a tolerance, and sizes", async () => {
    const { exitCode, stdout } = await verify("a.onnx", "b.onnx", "--tolerance", "0.9", "--dim", "batch=2,5");
    expect(exitCode).toBe(0);
    expect(stdout).toContain("batch 2 and 5");
  });

  it.each([
    [["a.onnx"], /verify: expected 2 arguments, found 1; tc-lint verify --help names each/],
    [["a.onnx", "absent.onnx"], /absent\.onnx: no such file/],
    [["a.onnx", "a.onnx", "--inputs", "absent.npz"], /absent\.npz: no such file/],
    [["a.onnx", "a.onnx", "--inputs", "a.onnx"], /a\.onnx: is no ZIP archive/],
    [["a.onnx", "a.onnx", "--seeds", "none"], /--seeds: found "none", expected a whole number/],
    [["a.onnx", "a.onnx", "--tolerance", "1e-3", "--half", "fp16"], /--tolerance: says nothing with --half/],
    [
      ["a.onnx", "a.onnx", "--dim", "width=3"],
      /no input has the symbolic dimension "width"; there are batch/,
    ],
    [["a.onnx", "a.onnx", "--toleranc", "1"], /did you mean --tolerance\?/],
  ])("exits with 2 and says why: %j", async (args, message) => {
    const { exitCode, stderr, stdout } = await verify(...args);
    expect({ exitCode, stdout }).toEqual({ exitCode: 2, stdout: "" });
    expect(stderr).toMatch(message);
  });

  it("names the command that installs ONNX Runtime where it is absent", async () => {
    const elsewhere = path.join(folder, "elsewhere");
    const packages = path.join(elsewhere, "node_modules");
    mkdirSync(packages, { recursive: true });
    cpSync(path.dirname(path.dirname(cli.script)), path.join(elsewhere, "dist"), { recursive: true });
    const require = createRequire(path.join(root, "package.json"));
    for (const name of ["protobufjs", "onnx-proto"]) {
      symlinkSync(path.dirname(require.resolve(`${name}/package.json`)), path.join(packages, name));
    }
    const script = path.join(elsewhere, "dist", "bin", "tc-lint.js");
    writeFileSync(path.join(elsewhere, "package.json"), '{"type":"module"}');
    const run = await runCli({ script, [Symbol.dispose]: () => {} }, ["verify", "a.onnx", "b.onnx"], {
      cwd: folder,
    });
    expect(run.exitCode).toBe(2);
    expect(run.stderr).toContain("onnxruntime-node is not installed");
    expect(run.stderr).toContain("ONNXRUNTIME_NODE_INSTALL=skip npm i onnxruntime-node");
  });
});
