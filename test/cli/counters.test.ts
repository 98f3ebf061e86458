/** @file `bench --ncu` with a driver that computes nothing and a profiler that prints what ncu prints. */
import { readFileSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import path from "node:path";
import { fileURLToPath } from "node:url";
import { afterAll, beforeAll, describe, expect, it } from "vitest";
import type { CountersReport } from "../../src/gpu/counters/report.ts";
import { type BuiltCli, runCli } from "../cli-process.ts";
import { buildFakeCuda } from "../cuda-runtime/fake-cuda.ts";
import { writeInline } from "../fix/models.ts";
import { copyCliWithFakeKernels } from "./fake-kernels.ts";

const here = path.dirname(fileURLToPath(import.meta.url));
const root = path.resolve(here, "..", "..");
const ncu = path.join(here, "fake-ncu.mjs");
const fake = buildFakeCuda();
// Two convolutions: on one of real sizes, what ONNX Runtime computes to compare with takes most of the time.
const large = path.join(root, "fixtures", "models", "misaligned-cnn.onnx");
const model = writeInline(fake?.folder ?? tmpdir());
const log = path.join(fake?.folder ?? root, "ncu.log");
const env = {
  LD_LIBRARY_PATH: fake?.folder ?? "",
  XDG_CACHE_HOME: fake?.folder ?? root,
  FAKE_CUDA_ANY: "1",
  FAKE_CUDA_NAME: "NVIDIA H200",
  FAKE_NCU_LOG: log,
};

describe.skipIf(fake === undefined)("bench --ncu", () => {
  let cli: BuiltCli;
  beforeAll(() => {
    cli = copyCliWithFakeKernels().cli;
  });
  afterAll(() => {
    cli[Symbol.dispose]();
    if (fake !== undefined) rmSync(fake.folder, { recursive: true, force: true });
  });
  const count = (mode: string, args: readonly string[] = ["--ncu-path", ncu], file = model) =>
    runCli(cli, ["bench", "--ncu", "--repeats", "3", "--no-color", ...args, file], {
      env: { ...env, FAKE_NCU: mode },
    });
  const counted = async (mode: string, file = model): Promise<CountersReport> => {
    const { stdout, stderr } = await count(mode, ["-f", "json", "--ncu-path", ncu], file);
    expect(stderr).toBe("");
    return JSON.parse(stdout);
  };

  it("matches counters to steps in the order of the run", async () => {
    rmSync(log, { force: true });
    const report = await counted("", large);
    expect(report).toMatchObject({ row: "h200", absent: [] });
    // Whether there is something to fix is for prices to say.
    expect(report.name).toMatch(/^FP16(?: fixed|, nothing to fix)$/);
    expect(report.tensorActive).toBeCloseTo(0.7325);
    const steps = report.steps.filter(({ entry }) => entry !== null);
    expect(steps.length).toBeGreaterThan(3);
    for (const { counters, times } of steps) {
      expect(counters).toMatchObject({ microseconds: 12, clocks: 20000.5, dramActive: 0.415 });
      expect(counters).toMatchObject({
        dramBytes: 2_048_000,
        instructions: 1000,
        mix: { fma: 0.1, gmma: 0.1 },
      });
      expect(times.repeats).toBeGreaterThan(0);
    }
    // One replay of the graph alone, and the machine's settings as they are.
    const [call = "[]", ...more] = readFileSync(log, "utf8").trim().split("\n");
    expect(more).toEqual([]);
    const args: readonly string[] = JSON.parse(call);
    for (const pair of ["--profile-from-start off", "--graph-profiling node", "--clock-control none"])
      expect(args.join(" ")).toContain(pair);
  });

  it("says it in the terminal", async () => {
    const { stdout, exitCode } = await count("");
    expect(exitCode).toBe(0);
    expect(stdout).toMatch(/^FP16, nothing to fix: .*model\.onnx/);
    expect(stdout).toMatch(/runs +in all +share +bench +Tensor +needed +DRAM +moved/);
    expect(stdout).toMatch(/73 %.*42 %.*2\.05 MB/);
    expect(stdout).toMatch(/Tensor Cores active 73 % of the time/);
  });

  it("leaves out a metric that ncu does not have, and says so", async () => {
    const { absent, steps } = await counted("metric");
    expect(absent).toEqual(["sm__inst_executed_pipe_uniform.sum"]);
    const mixes = steps.flatMap(({ counters }) => (counters === null ? [] : [Object.keys(counters.mix)]));
    for (const pipes of mixes) expect(pipes).toEqual(expect.not.arrayContaining(["uniform"]));
  });

  it("has nothing where ncu says nothing: not zero", async () => {
    const { steps, tensorActive } = await counted("hole");
    expect(tensorActive).toBeCloseTo(0.7325);
    for (const { counters } of steps)
      if (counters !== null) expect(counters).toMatchObject({ dramActive: null, dramBytes: null });
    expect((await count("hole")).stdout).toMatch(/–/);
  });

  it.each([
    ["permission", /may not read the GPU's counters \(ERR_NVGPUCTRPERM\): run as root/],
    ["driver", /this version of Nsight Compute and the driver do not go together/],
    ["busy", /something else has the GPU's counters, such as DCGM/],
    ["nothing", /ncu counted nothing: Failed to initialize the profiler: LibraryNotLoaded/],
    [
      "other",
      /ncu saw something else than the plan launches: launch 3 is "somebody_elses", where the plan has/,
    ],
    [
      "fewer",
      /ncu saw something else than the plan launches: launch \d+ is nothing more, where the plan has/,
    ],
  ])("%s is an error with a name", async (mode, message) => {
    const { exitCode, stdout, stderr } = await count(mode);
    expect({ exitCode, stdout }).toEqual({ exitCode: 2, stdout: "" });
    expect(stderr).toMatch(message);
  });

  it("says where it looked for ncu", async () => {
    const named = await count("", ["--ncu-path", path.join(here, "no-ncu")]);
    expect([named.exitCode, named.stderr]).toEqual([
      2,
      expect.stringMatching(/is not at .*no-ncu: it comes/),
    ]);
  });

  it.each([
    [["--ncu", "--plan"], "--plan: says nothing beside --ncu"],
    [["--ncu-path", "ncu"], "--ncu-path: says nothing without --ncu"],
  ])("refuses %j", async (args, message) => {
    const { exitCode, stderr } = await runCli(cli, ["bench", ...args, model], { env });
    expect([exitCode, stderr]).toEqual([2, expect.stringContaining(message)]);
  });
});
