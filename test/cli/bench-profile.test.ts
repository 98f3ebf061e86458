/** What a GPU (the fake driver's) measured, as a user takes it on: `bench -f json`, then `--profile`. */
import { mkdtempSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { createRequire } from "node:module";
import { tmpdir } from "node:os";
import path from "node:path";
import { fileURLToPath } from "node:url";
import { Ajv } from "ajv";
import { afterAll, beforeAll, describe, expect, it } from "vitest";
import type { BenchReport } from "../../src/gpu/bench-report.ts";
import { duration } from "../../src/ir/format.ts";
import type { LintReport } from "../../src/lint/result.ts";
import { type BuiltCli, runCli } from "../cli-process.ts";
import { buildFakeCuda } from "../cuda-runtime/fake-cuda.ts";
import { writeInline } from "../fix/models.ts";
import { parsePage } from "../report/html/parse.ts";
import { copyCliWithFakeKernels } from "./fake-kernels.ts";

const require = createRequire(import.meta.url);
const root = path.resolve(path.dirname(fileURLToPath(import.meta.url)), "..", "..");
const fake = buildFakeCuda();
// Two convolutions: on one of real sizes, what ONNX Runtime computes to compare with takes most of the time.
const model = writeInline(fake?.folder ?? tmpdir());
const env = {
  LD_LIBRARY_PATH: fake?.folder ?? "",
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

  it("what bench measured is the account of --profile, in every format", async () => {
    const folder = mkdtempSync(path.join(fake?.folder ?? root, "profile-"));
    const at = (name: string) => path.join(folder, name);
    const benched = await run(["bench", "--repeats", "3", "-f", "json", "-o", at("bench.json"), model]);
    expect([benched.exitCode, benched.stderr]).toEqual([0, ""]);
    const bench: BenchReport = JSON.parse(readFileSync(at("bench.json"), "utf8"));
    const [, asIs] = bench.configurations;
    const total = asIs?.steps.reduce((sum, { times }) => sum + times.median, 0) ?? 0;
    const lint = [model, "--profile", at("bench.json"), "--stack", "tc-runtime", "--exit-zero", "--no-color"];
    const formats = ["json", "html", "markdown", "csv"].flatMap((each) => ["-f", `${each}=${at(each)}`]);
    const written = await run([...lint, ...formats]);
    expect([written.exitCode, written.stderr]).toEqual([0, ""]);
    const report: LintReport = JSON.parse(readFileSync(at("json"), "utf8"));
    const ofReport = new Ajv({ allowUnionTypes: true }).compile(require("../../schemas/report.schema.json"));
    ofReport(report);
    expect(ofReport.errors).toBeNull();
    const [own] = report.models;
    expect(own?.predicted.microseconds).toBeCloseTo(total, 6);
    expect(own).toMatchObject({
      target: { stack: "tc-runtime", precision: "fp16" },
      profile: { tool: "tc-lint", gpu: "NVIDIA H200 0", wholeMicroseconds: 250, untimed: { nodes: 0 } },
    });
    const { text: page } = parsePage(readFileSync(at("html"), "utf8"));
    expect(page).toContain("Measured, one run");
    expect(page).toContain(`by tc-lint's own runtime on NVIDIA H200 0: ${at("bench.json")}`);
    expect(page).toContain(
      `a whole run took 250 µs; its steps were timed one by one, and add up to ${duration(total)}`,
    );
    expect(page).toMatch(/Bound by\s*Measured\s*Predicted\s*Share/);
    const text = await run([...lint, "--table"]);
    for (const each of [text.stdout, readFileSync(at("markdown"), "utf8"), page])
      expect(each).toContain(duration(total));
    expect(text.stdout).toMatch(/bound +measured +predicted +share/);

    // A bench of the repaired model alone, as of one whose repair changes something.
    const repaired = { ...bench, configurations: [{ ...asIs, name: "FP16 fixed", fixed: true }] };
    writeFileSync(at("bench.json"), JSON.stringify(repaired));
    const refused = await run(lint);
    expect([refused.exitCode, refused.stdout + refused.stderr]).toEqual([
      2,
      expect.stringContaining("tc-lint bench --no-fix --precision fp16 -f json"),
    ]);
  });

  it("what validate measured is one, too", async () => {
    const folder = mkdtempSync(path.join(fake?.folder ?? root, "profile-"));
    const out = path.join(folder, "validate.json");
    const args = ["validate", "--repeats", "3", "-f", "json", "-o", out];
    expect((await run([...args, model])).exitCode).toBe(1);
    const lint = [model, "--profile", out, "--stack", "tc-runtime", "--exit-zero", "-f", "json"];
    const { stdout } = await run(lint);
    const report: LintReport = JSON.parse(stdout);
    expect(report.models[0]).toMatchObject({
      target: { precision: "fp16" },
      profile: { tool: "tc-lint", wholeMicroseconds: 250 },
    });
  });
});
