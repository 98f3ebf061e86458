/** @file `bench --case` with a driver that computes nothing and a profiler that prints what ncu prints. */
import { mkdirSync, rmSync, writeFileSync } from "node:fs";
import path from "node:path";
import { fileURLToPath } from "node:url";
import { afterAll, beforeAll, describe, expect, it } from "vitest";
import type { CaseReport } from "../../src/gpu/case/report.ts";
import { type BuiltCli, type CliRun, runCli } from "../cli-process.ts";
import { buildFakeCuda } from "../cuda-runtime/fake-cuda.ts";
import { copyCliWithFakeKernels } from "./fake-kernels.ts";

const here = path.dirname(fileURLToPath(import.meta.url));
const root = path.resolve(here, "..", "..");
const ncu = path.join(here, "fake-ncu.mjs");
const fake = buildFakeCuda();
const env = {
  LD_LIBRARY_PATH: fake?.folder ?? "",
  XDG_CACHE_HOME: fake?.folder ?? root,
  FAKE_CUDA_ANY: "1",
  FAKE_CUDA_NAME: "NVIDIA H200",
};

/** As `npm run pack:gpu` leaves them. */
const sampleCases = `
const copy = (h) => {
  const x = h.tensor("float32", [64, 32]);
  h.emitter.copy(x, h.output("float32", [64, 32], [1, 0]));
  h.execute();
};
export const cases = [
  { name: "copies twice", run: (h) => (copy(h), copy(h)) },
  { name: "copies wrongly", run: (h) => { copy(h); throw new Error("element 3 is 7, not 4"); } },
];
`;

const otherCases = `export const cases = [0, 1, 2, 3, 4, 5].map((each) => ({ name: String(each), run: () => {} }));`;

describe.skipIf(fake === undefined)("bench --case", () => {
  let cli: BuiltCli;
  beforeAll(() => {
    cli = copyCliWithFakeKernels().cli;
    const dist = path.join(path.dirname(cli.script), "..");
    mkdirSync(path.join(dist, "gpu", "cases"), { recursive: true });
    writeFileSync(path.join(dist, "gpu", "cases", "sample.js"), sampleCases);
    writeFileSync(path.join(dist, "gpu", "cases", "other.js"), otherCases);
  });
  afterAll(() => {
    cli[Symbol.dispose]();
    if (fake !== undefined) rmSync(fake.folder, { recursive: true, force: true });
  });
  const bench = (args: readonly string[], mode = "", own: CliRun["stdout"] | undefined = undefined) =>
    runCli(cli, ["bench", ...args], {
      env: { ...env, FAKE_NCU: mode, ...(own === undefined ? {} : { LD_LIBRARY_PATH: own }) },
    });
  const reported = async (args: readonly string[]): Promise<CaseReport> => {
    const { stdout, stderr } = await bench([...args, "-f", "json"]);
    expect(stderr).toBe("");
    return JSON.parse(stdout);
  };

  it("checks a case and times the launches that it makes at once", async () => {
    const report = await reported(["--case", "sample/copies twice"]);
    expect(report).toMatchObject({ mode: "time", isRight: true, row: "h200", absent: [] });
    expect(report.groups).toHaveLength(2);
    for (const { kernels, bytes, times } of report.groups) {
      expect(kernels).toHaveLength(1);
      expect(bytes).toBe(2 * 4 * 64 * 32);
      expect(times?.repeats).toBeGreaterThan(0);
    }
    expect(await reported(["--case", "sample/copies twice", "--time"])).toMatchObject({ mode: "time" });
  });

  it("checks and nothing else", async () => {
    const report = await reported(["--case", "sample/copies twice", "--check"]);
    expect(report).toMatchObject({ mode: "check", isRight: true });
    for (const group of report.groups) expect(group).not.toHaveProperty("times");
    const { stdout, exitCode } = await bench(["--case", "sample/copies twice", "--check", "--no-color"]);
    expect(exitCode).toBe(0);
    expect(stdout).toMatch(/^sample\/copies twice: right, and the same over memory with other contents/);
  });

  it("says what is wrong, with exit code 1", async () => {
    for (const mode of [[], ["--check"], ["--ncu", "--ncu-path", ncu]]) {
      const { stdout, exitCode } = await bench(["--case", "sample/copies wrongly", "--no-color", ...mode]);
      expect(exitCode).toBe(1);
      expect(stdout).toMatch(/^sample\/copies wrongly: WRONG\n {2}element 3 is 7, not 4/);
    }
  });

  it("has Nsight Compute count each launch", async () => {
    const args = ["--case", "sample/copies twice", "--ncu", "--ncu-path", ncu];
    const report = await reported(args);
    expect(report.mode).toBe("ncu");
    expect(report.groups[0]?.times?.repeats).toBeGreaterThan(0);
    expect(report.counted?.map(({ kernel }) => kernel)).toEqual(
      report.groups.flatMap(({ kernels }) => kernels),
    );
    for (const { counters } of report.counted ?? [])
      expect(counters).toMatchObject({ microseconds: 12, dramActive: 0.415, mix: { fma: 0.1 } });
    const { stdout } = await bench([...args, "--no-color"]);
    expect(stdout).toMatch(/launch +time +Tensor +DRAM +moved +instructions by pipe/);
    expect(stdout).toMatch(/73 % +42 % +2\.05 MB/);
  });

  it.each([
    ["permission", /may not read the GPU's counters \(ERR_NVGPUCTRPERM\)/],
    ["fewer", /ncu saw something else than the plan launches/],
  ])("%s is an error with a name", async (mode, message) => {
    const { exitCode, stderr } = await bench(
      ["--case", "sample/copies twice", "--ncu", "--ncu-path", ncu],
      mode,
    );
    expect([exitCode, stderr]).toEqual([2, expect.stringMatching(message)]);
  });

  it.each([
    [
      ["--case", "sample/copy twice"],
      'there is no case "sample/copy twice"; did you mean "sample/copies twice"?',
    ],
    [["--case", "copies"], 'no case "copies"; its name is in sample/copies twice, sample/copies wrongly'],
    [["--case", "elsewhere/entirely"], 'no case "elsewhere/entirely"; families are other, sample'],
    [["--case", "sampel/nothing of it"], 'no case "sampel/nothing of it"; sample has sample/copies twice, '],
    [
      ["--case", "other"],
      'no case "other"; other has other/0, other/1, other/2, other/3, other/4 and 1 more',
    ],
    [["--case", "--plan"], "--plan: says nothing beside --case"],
    [["--case", "sample/nothing of it"], 'no case "sample/nothing of it"; sample has sample/copies twice, '],
    [["--check"], "--check: says nothing without --case"],
    [["--time"], "--time: says nothing without --case"],
    [["--case", "a/b", "--check", "--ncu"], "--ncu: says nothing beside --check"],
    [["--case", "a/b", "--dim", "batch=2"], "--dim: says nothing beside --case"],
    [["--case", "a/b", "--plan"], "--plan: says nothing beside --case"],
    [["--case", "a/b", "--ladder", "conv"], "--case: says nothing beside --ladder"],
    [["--case", "a/b", "model.onnx"], "bench --case takes no model, found 1"],
  ])("refuses %j", async (args, message) => {
    const { exitCode, stderr, stdout } = await bench(args);
    expect([exitCode, stdout, stderr]).toEqual([2, "", expect.stringContaining(message)]);
  });

  it("lists families where it is given no value", async () => {
    for (const args of [["--case"], ["--case", "--check"], ["--case="]])
      expect(await bench(args)).toMatchObject({
        exitCode: 0,
        stdout: "other: 6 cases, as other/0\nsample: 2 cases, as sample/copies twice\n",
        stderr: "",
      });
  });

  it("says that there is no GPU", async () => {
    const { exitCode, stderr } = await runCli(cli, ["bench", "--case", "sample/copies twice"], {
      env: { LD_LIBRARY_PATH: "" },
    });
    expect([exitCode, stderr]).toEqual([
      2,
      expect.stringMatching(/there is no NVIDIA driver|CUDA finds no GPU/),
    ]);
  });

  it("offers the cases behind the flag, and says where there are none", async () => {
    const offered = await runCli(cli, ["--get-yargs-completions", "tc-lint", "bench", "--case", ""], { env });
    expect(offered.stdout).toContain("sample/copies twice");
    rmSync(path.join(path.dirname(cli.script), "..", "gpu"), { recursive: true });
    const { exitCode, stderr } = await bench(["--case", "sample/copies twice"]);
    expect([exitCode, stderr]).toEqual([2, expect.stringMatching(/cases are bundled on demand.*pack:gpu/)]);
    const none = await runCli(cli, ["--get-yargs-completions", "tc-lint", "bench", "--case", ""], { env });
    expect([none.exitCode, none.stdout.trim()]).toEqual([0, ""]);
  });
});
