/** @file What becomes of the process that uses the GPU, and what its parent says: over a driver that can be made to fail. */
import { rmSync } from "node:fs";
import { pathToFileURL } from "node:url";
import { afterAll, beforeAll, describe, expect, it } from "vitest";
import { runOnGpu } from "../../../cuda-runtime/session/process.ts";
import { type Bundle, bundle } from "../../bundle.ts";
import type { FakeTask } from "../fake-child.ts";
import { buildFakeCuda } from "../fake-cuda.ts";

const fake = buildFakeCuda();

describe.skipIf(fake === undefined)("The GPU's process", () => {
  let child: Bundle | undefined;
  beforeAll(async () => {
    child = await bundle("test/cuda-runtime/fake-child.ts");
  });
  afterAll(() => {
    child?.[Symbol.dispose]();
    if (fake !== undefined) rmSync(fake.folder, { recursive: true, force: true });
  });

  const run = (
    entry: string,
    env: Record<string, string> = {},
    timeoutSeconds = 30,
    bytes = 1,
    host = { bytes: 0, limit: 2 ** 32 },
  ) =>
    runOnGpu<FakeTask, { outputs: Map<string, Uint8Array> }>(
      { entry, kernels: fake?.kernels.href ?? "", bytes, hostBytes: host.bytes },
      {
        childUrl: pathToFileURL(child?.path ?? ""),
        timeoutSeconds,
        memoryBytes: host.limit,
        env: { LD_LIBRARY_PATH: fake?.folder ?? "", ...env },
      },
    );

  it("answers with what it computed", async () => {
    const { outputs } = await run("fake_add");
    expect(new Float32Array(outputs.get("y")?.slice().buffer ?? new ArrayBuffer(0))[0]).toBe(11);
  });

  it.each([
    ["gpu-fault", "fake_fault", {}, /a kernel went wrong: one of 4 steps: CUDA_ERROR_ILLEGAL_ADDRESS/],
    ["gpu-crashed", "fake_crash", {}, /ended by SIGABRT, while at: running fake_crash/],
    ["gpu-driver-too-old", "fake_add", { FAKE_CUDA_VERSION: "12040" }, /runs CUDA 12\.4, .* need CUDA 13\.0/],
    ["gpu-missing", "fake_add", { FAKE_CUDA_DEVICES: "0" }, /CUDA finds no GPU/],
    ["gpu-missing", "fake_add", { LD_LIBRARY_PATH: "" }, /no NVIDIA driver .* nothing else/],
    ["gpu-out-of-memory", "fake_add", { FAKE_CUDA_BYTES: "2000" }, /too little free memory/],
  ])("says %s", async (code, entry, env, text) => {
    await expect(run(entry, env)).rejects.toMatchObject({
      name: "InputError",
      code,
      message: expect.stringMatching(text),
    });
  });

  it("is stopped where it hangs", async () => {
    const error = run("fake_hang", {}, 2);
    await expect(error).rejects.toMatchObject({
      code: "gpu-hang",
      message: expect.stringMatching(/stopped after 2 s, while at: running fake_hang/),
    });
  });

  it("is stopped where it takes more of the machine's memory than it may, though its main thread hangs", async () => {
    const error = run("fake_hang", {}, 60, 1, { bytes: 2 ** 29, limit: 2 ** 29 });
    await expect(error).rejects.toMatchObject({
      name: "InputError",
      code: "gpu-host-memory",
      message: expect.stringMatching(
        /while at: running fake_hang; it takes more than 512 MiB of this machine/,
      ),
    });
  });

  it("shows a mistake of ours with its stack", async () => {
    await expect(run("fake_nonesuch")).rejects.toThrow(/CUDA_ERROR_NOT_FOUND[\s\S]*at .*StepRunner/);
  });
});
