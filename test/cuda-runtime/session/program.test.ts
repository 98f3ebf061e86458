/** @file Programs over a driver without a GPU, whose kernels do nothing: what goes where, and what is given back. */
import { rmSync } from "node:fs";
import { afterAll, describe, expect, it, onTestFinished, vi } from "vitest";
import { DeviceContext } from "../../../cuda-runtime/driver/context.ts";
import { Driver } from "../../../cuda-runtime/driver/driver.ts";
import { programOf } from "../../../cuda-runtime/plan/build.ts";
import { ProgramSession } from "../../../cuda-runtime/session/program-device.ts";
import { timeHost, timeProgram } from "../../../cuda-runtime/session/program-timing.ts";
import { KernelStore } from "../../../cuda-runtime/session/store.ts";
import { modelFromBytes } from "../../../src/onnx/open.ts";
import { weightsOf } from "../../gpu/node-tests-data.ts";
import { info, int64, modelBytes, node } from "../../onnx/build.ts";
import { buildFakeCuda } from "../fake-cuda.ts";

const fake = buildFakeCuda();
afterAll(() => {
  if (fake !== undefined) rmSync(fake.folder, { recursive: true, force: true });
});

describe.skipIf(fake === undefined)("A program's session", () => {
  const bytes = modelBytes({
    node: [
      node("NonZero", ["x"], ["at"]),
      node("Transpose", ["at"], ["rows"]),
      node("Cast", ["rows"], ["numbers"], { attribute: [{ name: "to", type: 2, i: 1 }] }),
      node("Exp", ["numbers"], ["y"]),
    ],
    input: [info("x", [2, 3])],
    output: [info("at", [2, "n"], int64), info("y", ["n", 2])],
  });
  const input = (...values: number[]) => new Map([["x", new Uint8Array(Float32Array.from(values).buffer)]]);

  it("runs, times and tells of the host, with outputs as large as data makes them", async () => {
    vi.stubEnv("FAKE_CUDA_ANY", "1");
    onTestFinished(() => {
      vi.unstubAllEnvs();
    });
    using model = modelFromBytes(bytes);
    using context = new DeviceContext(await Driver.open([fake?.library ?? ""]), 0);
    using store = new KernelStore(context, { kernels: fake?.kernels ?? new URL("file:///"), cache: null });
    const program = programOf({ model, precision: "fp32", weights: weightsOf(model) });
    using session = new ProgramSession(context, store, program, { poison: true });
    const found = session.run(input(0, 1, 0, 2, 0, 3));
    const at = found.get("at");
    expect(at?.shape).toEqual([2, 3]);
    expect(Array.from(new BigInt64Array(at?.bytes.slice().buffer ?? new ArrayBuffer(0)), Number)).toEqual([
      0, 1, 1, 1, 0, 2,
    ]);
    // The kernel does nothing: what it should have written is still what memory was filled with.
    expect(found.get("y")).toMatchObject({ shape: [3, 2], bytes: new Uint8Array(24).fill(0xff) });
    expect(session.run(input(0, 0, 0, 0, 0, 0)).get("y")?.shape).toEqual([0, 2]);
    expect(session.sessionsOfRun()).toHaveLength(1);
    expect(timeProgram(session, { warmup: 1, repeats: 3 }).repeats).toBe(3);
    expect(timeHost(session).map(({ node: { opType } }) => opType)).toEqual(["NonZero"]);
  });
});
