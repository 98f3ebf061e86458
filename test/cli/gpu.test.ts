/** @file The GPU commands where there is no GPU, or one that cannot be used: a driver of the tests' own says so. */
import { rmSync } from "node:fs";
import path from "node:path";
import { fileURLToPath } from "node:url";
import { afterAll, beforeAll, describe, expect, it } from "vitest";
import { type BuiltCli, buildCli, runCli } from "../cli-process.ts";
import { buildFakeCuda } from "../cuda-runtime/fake-cuda.ts";
import { bytesOf, headModel, temporaryFolder } from "./models.ts";

const root = path.resolve(path.dirname(fileURLToPath(import.meta.url)), "..", "..");
const model = path.join(root, "fixtures", "models", "aligned-mlp.onnx");
const fake = buildFakeCuda();

describe("The GPU commands", () => {
  let cli: BuiltCli;
  beforeAll(() => {
    cli = buildCli();
  });
  afterAll(() => {
    cli[Symbol.dispose]();
    if (fake !== undefined) rmSync(fake.folder, { recursive: true, force: true });
  });
  const run = (args: readonly string[], env: Record<string, string> = {}) =>
    runCli(cli, args, {
      // Nor may what the fake driver "compiles" reach this machine's cache.
      env: { LD_LIBRARY_PATH: fake?.folder ?? "", XDG_CACHE_HOME: fake?.folder ?? root, ...env },
    });

  describe.skipIf(fake === undefined)("over a driver that refuses", () => {
    it("doctor says what is missing, and exits with 1", async () => {
      const { exitCode, stdout } = await run(["doctor", "--no-color"], { FAKE_CUDA_DEVICES: "0" });
      expect(stdout).toMatch(/✗ NVIDIA driver: CUDA finds no GPU: CUDA_ERROR_NO_DEVICE/);
      expect(stdout).toMatch(/✗ kernels: none are there: .* npm run build:cuda/);
      expect(stdout).toMatch(/cannot run here; everything else works\.\n$/);
      expect(exitCode).toBe(1);
    });

    it("doctor writes JSON", async () => {
      const { stdout } = await run(["doctor", "-f", "json"], { FAKE_CUDA_VERSION: "12040" });
      const report: { ready: boolean; checks: { what: string; ok: boolean; detail: string }[] } =
        JSON.parse(stdout);
      expect(report.ready).toBe(false);
      expect(report.checks[0]).toMatchObject({ what: "NVIDIA driver", ok: false });
      expect(report.checks[0]?.detail).toMatch(/runs CUDA 12\.4, the kernels need CUDA 13\.0/);
      expect(report.checks[1]).toMatchObject({ what: "GPU 0", ok: true });
    });

    it.each([
      ["bench", { FAKE_CUDA_VERSION: "12040" }, /the NVIDIA driver is too old/],
      ["validate", { FAKE_CUDA_DEVICES: "0" }, /CUDA finds no GPU/],
      ["bench", {}, /\.fatbin is not there: the GPU kernels are not built .*npm run build:cuda/],
    ])("%s exits with 2 and says why", async (command, env, text) => {
      const { exitCode, stderr, stdout } = await run([command, model], env);
      expect(stderr).toMatch(text);
      expect(stdout).toBe("");
      expect(exitCode).toBe(2);
    });
  });

  // A GPU is asked for once there is something to run: no driver is loaded here for them.
  it.each([
    ["bench", "missing.onnx"],
    ["bench", "--ncu", "missing.onnx"],
    ["bench", "--compare", model, "missing.onnx"],
    ["validate", "missing.onnx"],
    ["validate", "--precision", "fp16", "missing.onnx"],
    ["validate", model, "--against", "missing.onnx"],
  ])("%s says of %s that it is missing, before it asks for a GPU", async (...args) => {
    const { exitCode, stderr, stdout } = await run(args, { FAKE_CUDA_DEVICES: "0" });
    expect([exitCode, stdout]).toEqual([2, ""]);
    expect(stderr).toMatch(/^tc-lint: missing\.onnx: no such file$/m);
  });

  describe
    .skipIf(fake === undefined)
    .each([
      ["bench"],
      ["bench", "--ncu"],
      ["bench", "--compare", model],
      ["validate"],
      ["validate", model, "--against"],
    ])("%s %s %s of weights that are missing", (...args) => {
    it.each([
      ["says first that there is no GPU", { FAKE_CUDA_DEVICES: "0" }, /CUDA finds no GPU/],
      [
        "says so where there is one",
        {},
        /its weights are in ".*", which is not there; running it needs them/,
      ],
    ])("%s", async (_, env, text) => {
      using folder = temporaryFolder();
      const weightless = folder.write("weightless.onnx", bytesOf(headModel()));
      const { exitCode, stderr, stdout } = await run([...args, weightless], env);
      expect(stderr).toMatch(text);
      expect([exitCode, stdout]).toEqual([2, ""]);
    });
  });

  it("bench --plan prints what would run, without a GPU", async () => {
    const { exitCode, stdout } = await run(["bench", "--plan", "--no-color", model]);
    expect(exitCode).toBe(0);
    expect(stdout).toMatch(
      /aligned-mlp\.onnx for h200, fp16, nothing to fix.*\npredicted .* µs in \d+ launches, \d+ % on Tensor Cores; weights/,
    );
    expect(stdout).toMatch(/^every run, worst first \(--verbose: in order\)$/m);
    expect(stdout).toMatch(/gemm/);
    const ordered = await run(["bench", "--plan", "--verbose", "--no-color", model]);
    expect(ordered.stdout).toMatch(/^every run$/m);
    expect(ordered.stdout).toMatch(/^0 +[\d.]+ µs/m);
  });

  it("bench --plan as JSON holds every step", async () => {
    const { stdout } = await run([
      "bench",
      "--plan",
      "-f",
      "json",
      "--gpu",
      "l4",
      "--precision",
      "fp32",
      model,
    ]);
    const [plan]: { gpu: string; steps: { kernel: string; bytes: number }[] }[] = JSON.parse(stdout);
    expect(plan?.gpu).toBe("l4");
    expect(plan?.steps.length).toBeGreaterThan(0);
    expect(plan?.steps.every(({ bytes }) => bytes > 0)).toBe(true);
  });

  it("bench --plan predicts for the GPU that is asked for", async () => {
    const [large = 0, small = 0] = await Promise.all(
      ["h200", "l4"].map(async (gpu) => {
        const { stdout } = await run(["bench", "--plan", "-f", "json", "--gpu", gpu, model]);
        const [plan]: { predictedMicroseconds: number }[] = JSON.parse(stdout);
        return plan?.predictedMicroseconds;
      }),
    );
    expect(small).toBeGreaterThan(large);
  });

  it.each([
    [["bench", "--gpu", "l4", model], /--gpu: says nothing without --plan/],
    [["bench", "--compare", model], /bench takes two models with --compare, found 1/],
    [["bench", "--plan", "--gpu", "l5", model], /--gpu l5 is none of/],
    [["validate", "--precision", "fp8", model], /--precision/],
    [["validate", "--against"], /./],
  ])("%j is refused", async (args, text) => {
    const { exitCode, stderr } = await run(args);
    expect(stderr).toMatch(text);
    expect(exitCode).toBe(2);
  });
});
