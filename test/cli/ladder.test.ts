/** @file `bench --ladder` with a driver that computes nothing: every rung is wrong, and all the rest is as on a GPU. */
import { existsSync, readFileSync, rmSync } from "node:fs";
import path from "node:path";
import { fileURLToPath } from "node:url";
import { afterAll, beforeAll, describe, expect, it } from "vitest";
import type { LadderReport } from "../../src/gpu/ladder/report.ts";
import { type BuiltCli, runCli } from "../cli-process.ts";
import { buildFakeCuda } from "../cuda-runtime/fake-cuda.ts";
import { copyCliWithFakeKernels } from "./fake-kernels.ts";

const here = path.dirname(fileURLToPath(import.meta.url));
const root = path.resolve(here, "..", "..");
const python = path.join(here, "fake-torch.mjs");
const fake = buildFakeCuda();
const folder = fake?.folder ?? root;
const plot = path.join(folder, "ladder.svg");
const env = {
  LD_LIBRARY_PATH: folder,
  XDG_CACHE_HOME: folder,
  FAKE_CUDA_ANY: "1",
  FAKE_CUDA_NAME: "NVIDIA H200",
};

describe.skipIf(fake === undefined)("bench --ladder", () => {
  let cli: BuiltCli;
  let kernels = "";
  beforeAll(() => {
    ({ cli, folder: kernels } = copyCliWithFakeKernels());
  });
  afterAll(() => {
    cli[Symbol.dispose]();
    rmSync(folder, { recursive: true, force: true });
  });
  const climb = (args: readonly string[], mode = "") =>
    runCli(cli, ["bench", "--ladder", "conv", "--no-color", ...args], { env: { ...env, FAKE_TORCH: mode } });

  it("climbs every rung of every work, beside PyTorch, and plots it", async () => {
    const { stdout, stderr, exitCode } = await climb([
      "--torch",
      "--python",
      python,
      "--plot",
      plot,
      "-f",
      "json",
    ]);
    const report: LadderReport = JSON.parse(stdout);
    expect(exitCode).toBe(1);
    expect(stderr).toContain("PyTorch (cuDNN), FP16 N 2, C 320, 64 × 64, K 320, 3 × 3: no engine");
    expect(report).toMatchObject({ row: "h200", torch: "PyTorch 0.0 on 0" });
    expect(report.works.map(({ rungs }) => rungs.length)).toEqual([8, 3, 3, 3, 3]);
    expect(report.works.map(({ peer }) => peer.microseconds)).toEqual([100, 101, 102, 103, undefined]);
    const [first] = report.works;
    expect(first?.bounds.map(({ name }) => name)).toEqual(["FFT"]);
    expect(first?.rooflineMicroseconds).toBeGreaterThan(0);
    for (const rung of first?.rungs ?? []) {
      expect(rung.isRight).toBe(false);
      expect(rung.dramBytes).toBeGreaterThan(25e6);
    }
    expect(readFileSync(plot, "utf8")).toContain(">PyTorch (cuDNN)<");
  });

  it("keeps what was measured where PyTorch fails at last", async () => {
    const { stdout, stderr } = await climb(["--torch", "--python", python], "late");
    expect(stderr).toContain("fake-torch.mjs ended with 3: CUDA error: out of everything");
    expect(stdout).toMatch(/1 direct .*WRONG/);
    expect(stdout).toContain("Winograd F(2, 3): Four outputs by 16 multiplications");
    expect(stdout).not.toContain("cuDNN");
  });

  it("says where PyTorch is not, before anything runs", async () => {
    const without = await climb(["--torch", "--python", python], "missing");
    expect(without).toMatchObject({ exitCode: 2, stdout: "" });
    expect(without.stderr).toContain("has no PyTorch to compare with: No module named 'torch'");
    const nowhere = await climb(["--torch", "--python", path.join(folder, "nowhere")]);
    expect(nowhere).toMatchObject({ exitCode: 2, stdout: "" });
    expect(nowhere.stderr).toMatch(/there is no .*nowhere: --torch needs one that has PyTorch/);
  });

  it.each([
    [["--plot", "p.svg"], "--plot: says nothing without --ladder"],
    [["--torch"], "--torch: says nothing without --ladder"],
    [["--ladder", "conv", "--python", "python3"], "--python: says nothing without --torch"],
    [["--ladder", "conv,stairs"], '--ladder: found "stairs"'],
    [["--ladder", "conv", "--ncu"], "--ncu: says nothing beside --ladder"],
  ])("refuses %j", async (args, message) => {
    const { exitCode, stderr } = await runCli(cli, ["bench", ...args], { env });
    expect(stderr).toContain(message);
    expect(exitCode).toBe(2);
  });

  it("says what builds its kernels", async () => {
    rmSync(path.join(kernels, "ladder.fatbin"));
    const { exitCode, stderr } = await climb([]);
    expect(stderr).toContain("npm run build:cuda -- --family ladder");
    expect(exitCode).toBe(2);
    expect(existsSync(kernels)).toBe(true);
  });
});
