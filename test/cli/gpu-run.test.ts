/**
 * @file The GPU commands over kernels that do nothing and leave what memory was filled with: they have to notice, and to
 * report all the rest.
 */
import { mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import path from "node:path";
import { fileURLToPath } from "node:url";
import { afterAll, beforeAll, describe, expect, it } from "vitest";
import { genaiDecoder } from "../../fixtures/decoder/genai.ts";
import { decoderSizes, plainForm } from "../../fixtures/decoder/sizes.ts";
import type { FixReport } from "../../src/api/fix-report.ts";
import type { BenchReport } from "../../src/gpu/bench-report.ts";
import type { DecodeReport } from "../../src/gpu/decode/report.ts";
import type { ValidateReport } from "../../src/gpu/validate/report.ts";
import { type BuiltCli, runCli } from "../cli-process.ts";
import { buildFakeCuda } from "../cuda-runtime/fake-cuda.ts";
import { convolutions, writeInline } from "../fix/models.ts";
import { copyCliWithFakeKernels } from "./fake-kernels.ts";
import { validate } from "./fixing.ts";

const root = path.resolve(path.dirname(fileURLToPath(import.meta.url)), "..", "..");
const fake = buildFakeCuda();
// Two convolutions: on one of real sizes, what ONNX Runtime computes to compare with takes most of the time.
// Of images of 40 x 40, some contenders have fewer blocks than what is predicted to be best: they are faster by the fake driver's clock.
const model = writeInline(fake?.folder ?? tmpdir(), convolutions(40));
const env = {
  LD_LIBRARY_PATH: fake?.folder ?? "",
  // What the fake driver "compiles" may not reach this machine's cache.
  XDG_CACHE_HOME: fake?.folder ?? root,
  FAKE_CUDA_ANY: "1",
  FAKE_CUDA_NAME: "NVIDIA H200",
};

describe.skipIf(fake === undefined)("Over kernels that do nothing", () => {
  let cli: BuiltCli;
  beforeAll(() => {
    cli = copyCliWithFakeKernels().cli;
  });
  afterAll(() => {
    cli[Symbol.dispose]();
    if (fake !== undefined) rmSync(fake.folder, { recursive: true, force: true });
  });
  const run = (args: readonly string[]) => runCli(cli, args, { env });

  it("doctor says that a product is wrong", async () => {
    const { exitCode, stdout } = await run(["doctor", "--no-color"]);
    expect(stdout).toMatch(/✗ running on GPU 0: a product is wrong: element 0,0 is NaN/);
    expect(exitCode).toBe(1);
  });

  it("validate says that the outputs differ, with times and the first inner value", async () => {
    const args = ["validate", "--layers", "--repeats", "3", "-f", "json", model];
    const { exitCode, stdout, stderr } = await run(args);
    expect(stderr).toBe("");
    const report: ValidateReport = JSON.parse(stdout);
    expect(report).toMatchObject({ same: false, speedup: 1, gpu: { name: "NVIDIA H200 0" } });
    expect(report.reference).toMatch(/^ONNX Runtime/);
    expect(report.outputs[0]?.difference?.mismatches).toBeGreaterThan(0);
    expect(report.runs.map(({ name }) => name)).toEqual(["before, fp32", "after, fp16"]);
    expect(report.layers?.first?.value).toMatch(/./);
    expect(exitCode).toBe(1);
  });

  it("validate --decode says that every token is another one, and what a token takes", async () => {
    const form = { ...plainForm, dtype: "float16", block: 32 } as const;
    const { bytes } = genaiDecoder({ name: "decoder", sizes: decoderSizes["llama-small"], form });
    const file = path.join(path.dirname(cli.script), "decoder.onnx");
    writeFileSync(file, bytes);
    const args = ["validate", "--decode", "4", "--prompt", "6", "--repeats", "3", "-f", "json", file];
    const { exitCode, stdout, stderr } = await run(args);
    expect(stderr).toBe("");
    const report: DecodeReport = JSON.parse(stdout);
    expect(report).toMatchObject({ same: false, isInPlace: true, largestError: null, precision: "model" });
    expect([report.prompt.length, report.tokens.length, report.others.length]).toEqual([6, 4, 4]);
    expect(report.step).toMatchObject({ times: { median: 250, repeats: 3 } });
    // Codes and scales of 4 bits, norms, and the rows of a table that are looked up.
    expect(report.step.weightBytes).toBeLessThan(120_000);
    expect(exitCode).toBe(1);
    const text = await run(args.toSpliced(-3, 2));
    expect(text.stdout).toMatch(/says something else.*\n {2}0 of 4 tokens equal; scores are no numbers/);
    expect(text.stdout).toMatch(/caches stay where they are/);
  });

  it("validate refuses what says nothing beside --decode, and models without caches", async () => {
    for (const [args, message] of [
      [["--decode", "4", "--seeds", "2", model], "--seeds: says nothing beside --decode"],
      [["--prompt", "4", model], "--prompt: says nothing without --decode"],
      [["--decode", "4", model], "has no input that comes back as an output"],
    ] as const) {
      const { exitCode, stderr } = await run(["validate", ...args]);
      expect([exitCode, stderr]).toEqual([2, expect.stringContaining(message)]);
    }
  });

  it("says once that compiled kernels cannot be kept, and goes on", async () => {
    const elsewhere = { ...env, XDG_CACHE_HOME: cli.script };
    const { exitCode, stderr } = await runCli(cli, ["bench", "--repeats", "3", model], { env: elsewhere });
    expect(stderr.match(/compiled kernels are not kept for the next time: ENOTDIR/g)).toHaveLength(1);
    expect(exitCode).toBe(0);
  });

  it("takes no size of the cache that is none", async () => {
    const { exitCode, stderr } = await runCli(cli, ["bench", model], {
      env: { ...env, TC_LINT_CACHE_MB: "big" },
    });
    expect([exitCode, stderr]).toEqual([2, expect.stringContaining('TC_LINT_CACHE_MB: found "big"')]);
  });

  it("bench times four configurations, and the steps of both in FP16; without repairs two", async () => {
    const { exitCode, stdout } = await run(["bench", "--repeats", "3", "-f", "json", model]);
    const report: BenchReport = JSON.parse(stdout);
    const { configurations } = report;
    expect(configurations.map(({ name }) => name)).toEqual([
      "FP32",
      "FP16 as exported",
      "FP16, nothing to fix",
      "BF16, nothing to fix",
    ]);
    expect(configurations.map(({ steps }) => steps.length > 0)).toEqual([false, true, true, false]);
    expect(configurations.map(({ precision, fixed }) => `${precision} ${fixed}`)).toEqual([
      "fp32 false",
      "fp16 false",
      "fp16 false",
      "bf16 false",
    ]);
    expect(configurations[0]?.times).toMatchObject({ median: 250, repeats: 3 });
    expect(exitCode).toBe(0);
    const text = await run(["bench", "--repeats", "3", "--no-color", model]);
    expect(text.stdout.match(/^FP16 .*: /gm)).toEqual(["FP16 as exported: "]);
    const asIs = await run(["bench", "--no-fix", "--repeats", "3", "--no-color", model]);
    expect(asIs.stdout.match(/^FP16 .*: /gm)).toEqual(["FP16 as exported: "]);
    expect(asIs.stdout).not.toContain("fixed");
  });

  it("--fix --prove measures each change, keeps what gains and says so; a second run knows all times", async () => {
    const folder = mkdtempSync(path.join(fake?.folder ?? root, "prove-"));
    const fixed = path.join(folder, "fixed.onnx");
    const args = ["--fix-only", "--prove", "--fix-output", fixed, "-f", "json", model];
    const first = await run(args);
    const report: FixReport = JSON.parse(first.stdout);
    expect(validate(report), JSON.stringify(validate.errors)).toBe(true);
    const measurement = report.fixes[0]?.measurement;
    expect(measurement).toMatchObject({ gpu: "NVIDIA H200 0", precision: "fp16", slowerAsWhole: null });
    expect(measurement?.changes.length).toBeGreaterThan(0);
    for (const { verdict, microseconds } of measurement?.changes ?? []) {
      const { before, after, noise } = microseconds;
      expect(verdict).toBe(before - after > noise ? "kept" : "reverted");
    }
    expect(measurement?.steps.measured).toBeGreaterThan(0);
    expect(first.exitCode).toBe(0);

    const second = await run(["--diff", "--prove", "-f", "json", model]);
    const again: FixReport = JSON.parse(second.stdout);
    expect(again.fixes[0]?.measurement?.steps).toEqual({
      measured: 0,
      known: measurement?.steps.measured,
    });
    expect(again.fixes[0]?.measurement?.changes).toEqual(measurement?.changes);
    const text = await run(["--diff", "--prove", "--no-color", model]);
    expect(text.stdout).toMatch(
      /measured with tc-lint's own kernels \(NVIDIA H200 0, CUDA 13\.\d, fp16.*\), whole runs in turns:/,
    );
    expect(text.stdout).toMatch(/^ {4}(kept|reverted) +(fold|align) /m);
  });

  it("bench --autotune takes the kernels that are measured to be fastest; a second run measures none", async () => {
    const clock = { ...env, FAKE_CUDA_CLOCK: "100" };
    const args = ["bench", "--autotune", "--precision", "fp16", "--repeats", "3", "-f", "json", model];
    const tuned = async () => {
      const { exitCode, stdout, stderr } = await runCli(cli, args, { env: clock });
      expect([exitCode, stderr]).toEqual([0, ""]);
      const report: BenchReport = JSON.parse(stdout);
      return report.configurations[0];
    };
    const first = await tuned();
    expect(first?.autotune).toMatchObject({ known: 0, left: 0, kept: true, refused: null });
    const { measured = 0, changed = [], microseconds } = first?.autotune ?? {};
    expect(measured).toBeGreaterThan(0);
    expect(changed.length).toBeGreaterThan(0);
    for (const { predicted, chosen } of changed) {
      expect(chosen.measuredMicroseconds).toBeLessThan(predicted.measuredMicroseconds);
      expect(chosen.predictedMicroseconds).toBeGreaterThanOrEqual(predicted.predictedMicroseconds);
    }
    expect(microseconds?.after).toBeLessThan(microseconds?.before ?? 0);
    expect(first?.steps.some(({ chosenBy }) => chosenBy === "measured")).toBe(true);
    const second = await tuned();
    expect(second?.autotune).toMatchObject({ known: measured, measured: 0, changed });
    const text = await runCli(cli, args.toSpliced(-3, 2).concat("--no-color"), { env: clock });
    expect(text.stdout).toMatch(
      /autotune: \d+ kinds of steps with a choice, 0 timed in .*, \d+ known from before/,
    );
    expect(text.stdout).toMatch(/whole runs in turns: .* -> .*% less/);
    // Three plans, of which the first times some hundred kernels of a GPU that is JavaScript.
  });

  it("bench --autotune keeps the predicted plan where the whole is not faster, and believes no other GPU's times", async () => {
    const args = ["bench", "--autotune", "--precision", "fp16", "--repeats", "3", "-f", "json", model];
    const tuned = async (more: Record<string, string>) => {
      const { stdout } = await runCli(cli, args, { env: { ...env, ...more } });
      const report: BenchReport = JSON.parse(stdout);
      return report.configurations[0];
    };
    // Steps are known to be faster from the test above, whole runs all take the same here.
    const same = await tuned({});
    expect(same?.autotune).toMatchObject({
      measured: 0,
      kept: false,
      microseconds: { before: 250, after: 250 },
    });
    expect(same?.steps.some(({ chosenBy }) => chosenBy === "measured")).toBe(false);
    const other = await tuned({ FAKE_CUDA_NAME: "NVIDIA H100" });
    expect(other?.autotune).toMatchObject({ known: 0, changed: [], microseconds: null });
    expect(other?.autotune?.measured).toBeGreaterThan(0);
  });

  it("--autotune says nothing beside --plan, and --autotune-seconds nothing without it", async () => {
    for (const [args, message] of [
      [["bench", "--plan", "--autotune", model], "--autotune: says nothing beside --plan"],
      [["bench", "--autotune-seconds", "5", model], "--autotune-seconds: says nothing without --autotune"],
      [["validate", "--autotune", "--decode", "4", model], "--autotune: says nothing beside --decode"],
    ] as const) {
      const { exitCode, stderr } = await run(args);
      expect([exitCode, stderr]).toEqual([2, expect.stringContaining(message)]);
    }
  });

  it("--prove says nothing without a fix, and --device nothing without --prove", async () => {
    const alone = await run(["--prove", model]);
    expect([alone.exitCode, alone.stderr]).toEqual([
      2,
      expect.stringContaining("--prove: says nothing without --fix or --diff"),
    ]);
    const device = await run(["--fix", "--device", "1", model]);
    expect([device.exitCode, device.stderr]).toEqual([
      2,
      expect.stringContaining("--device: says nothing without --prove"),
    ]);
  });
});
