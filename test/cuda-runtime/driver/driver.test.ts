/** @file The driver layer over a driver without a GPU: what goes over to C, what comes back, what is given back. */

import { rmSync } from "node:fs";
import koffi from "koffi";
import { afterAll, describe, expect, it } from "vitest";
import { DeviceContext } from "../../../cuda-runtime/driver/context.ts";
import { Driver } from "../../../cuda-runtime/driver/driver.ts";
import { CudaError, DriverMissingError, PtxError } from "../../../cuda-runtime/driver/errors.ts";
import { Launcher, Library } from "../../../cuda-runtime/driver/kernel.ts";
import { compilePtx, ptxVersionOf } from "../../../cuda-runtime/driver/link.ts";
import { Stream, TimingEvent } from "../../../cuda-runtime/driver/stream.ts";
import { Transfer } from "../../../cuda-runtime/session/transfer.ts";
import { buildFakeCuda } from "../fake-cuda.ts";

const fake = buildFakeCuda();
afterAll(() => {
  if (fake !== undefined) rmSync(fake.folder, { recursive: true, force: true });
});

describe.skipIf(fake === undefined)("The driver", () => {
  const library = fake?.library ?? "";
  const open = () => Driver.open([library]);
  const c = fake === undefined ? undefined : koffi.load(library);
  const live = () => Number(c?.func("int64_t fakeLive()")());
  const lastLaunch = () => String(c?.func("const char *fakeLastLaunch()")());
  const largeClusters = () => Number(c?.func("int fakeLargeClusters()")());

  it("says what devices there are", async () => {
    const driver = await open();
    expect(driver.version).toBe(13_000);
    expect(driver.devices()).toMatchObject([
      {
        index: 0,
        name: "Fake GPU 0",
        computeCapability: 90,
        multiprocessors: 132,
        sharedBytesPerBlock: 232_448,
      },
    ]);
  });

  it("names the error, the call and what was being done", async () => {
    const driver = await open();
    using context = new DeviceContext(driver, 0);
    const total = context.memory().totalBytes;
    const error = caught(() => context.allocate(total + 1));
    expect(error).toBeInstanceOf(CudaError);
    expect(error).toMatchObject({ code: 2, result: "CUDA_ERROR_OUT_OF_MEMORY", call: "cuMemAlloc_v2" });
    const during = error instanceof CudaError ? error.during("loading") : undefined;
    expect(during?.message).toBe("loading: CUDA_ERROR_OUT_OF_MEMORY from cuMemAlloc_v2 (what it means)");
  });

  it("says that there is no driver", async () => {
    await expect(Driver.open(["libcuda-nowhere.so"])).rejects.toThrow(DriverMissingError);
  });

  it("moves bytes through pinned memory, in chunks and small pieces", async () => {
    const before = live();
    const driver = await open();
    {
      using context = new DeviceContext(driver, 0);
      using stream = new Stream(driver);
      using transfer = new Transfer(driver, stream);
      const bytes = new Uint8Array(40 * 2 ** 20 + 3).map((_, index) => (index * 7) & 255);
      using memory = context.allocate(bytes.length);
      transfer.uploadBytes(memory.address, bytes.subarray(0, 5));
      transfer.uploadBytes(memory.address + 5, bytes.subarray(5));
      expect(Buffer.compare(transfer.download(memory.address, bytes.length), bytes)).toBe(0);
      stream.fill(memory.address, 0xff, 3);
      expect([...transfer.download(memory.address, 5)]).toEqual([255, 255, 255, 21, 28]);
    }
    expect(live()).toBe(before);
  });

  it("packs launches as the driver's structures, eagerly and in a graph", async () => {
    const before = live();
    const driver = await open();
    {
      using context = new DeviceContext(driver, 0);
      using stream = new Stream(driver);
      using transfer = new Transfer(driver, stream);
      using code = new Library(driver, Buffer.from("FAKE fatbin"));
      using launcher = new Launcher(driver, true);
      using memory = context.allocate(12);
      const kernel = code.kernel("fake_add");
      const parameters = new Uint8Array(32);
      const data = new DataView(parameters.buffer);
      for (const [index, offset] of [0, 4, 8].entries())
        data.setBigUint64(8 * index, BigInt(memory.address + offset), true);
      data.setInt32(24, 1, true);
      transfer.uploadBytes(memory.address, new Uint8Array(Float32Array.of(1, 2, 0).buffer));
      const shape = { grid: [4, 2, 1], block: [128, 1, 1], sharedBytes: 64 } as const;
      for (const blocks of [8, 16, 16]) kernel.prepare({ sharedBytes: 64, cluster: [blocks, 1, 1] });
      expect(largeClusters()).toBe(1);
      const read = () => new Float32Array(transfer.download(memory.address, 12).buffer)[2];

      using graph = stream.capture(() => launcher.launch(kernel, shape, parameters, stream));
      expect(lastLaunch()).toBe("grid 4 2 1 block 128 1 1 shared 64 stream 77 attribute 6 1");
      expect(read()).toBe(0);
      graph.launch(stream);
      expect(read()).toBe(3);

      transfer.uploadBytes(memory.address, new Uint8Array(Float32Array.of(5, 6, 0).buffer));
      launcher.launch(kernel, shape, parameters, stream);
      expect(lastLaunch()).toBe("grid 4 2 1 block 128 1 1 shared 64 stream 77 attribute 6 1");
      expect(read()).toBe(11);
      launcher.launch(kernel, { ...shape, cluster: [4, 2, 1] }, parameters, stream);
      expect(lastLaunch()).toBe(
        "grid 4 2 1 block 128 1 1 shared 64 stream 77 attribute 6 1 attribute 4 4 2 1",
      );
      expect(caught(() => code.kernel("nonesuch"))).toMatchObject({ result: "CUDA_ERROR_NOT_FOUND" });
    }
    expect(live()).toBe(before);
  });

  it("ends a capture that fails, and times between events", async () => {
    const before = live();
    const driver = await open();
    {
      using _context = new DeviceContext(driver, 0);
      using stream = new Stream(driver);
      const fail = () =>
        stream.capture(() => {
          throw new RangeError("no such step");
        });
      expect(fail).toThrow("no such step");
      using start = new TimingEvent(driver);
      using end = new TimingEvent(driver);
      stream.record(start);
      stream.record(end);
      expect(end.microsecondsSince(start)).toBe(250);
    }
    // The fake gives a graph for a capture that failed, too.
    expect(live()).toBe(before);
  });

  it("compiles PTX, or throws what the compiler says", async () => {
    const driver = await open();
    expect(Buffer.from(compilePtx(driver, ".entry x", "x")).toString()).toBe("FAKE cubin\0");
    const error = caught(() => compilePtx(driver, "nothing", "chain"));
    expect(error).toBeInstanceOf(PtxError);
    expect(error).toMatchObject({ message: "chain does not compile: chain has no entry" });
  });
});

describe("PTX", () => {
  it("is written for what the driver takes", () => {
    expect(ptxVersionOf(13_000)).toBe("9.0");
    expect(ptxVersionOf(12_060)).toBe("8.5");
    expect(ptxVersionOf(11_000)).toBeUndefined();
  });
});

function caught(work: () => unknown): unknown {
  try {
    work();
  } catch (error) {
    return error;
  }
  return undefined;
}
