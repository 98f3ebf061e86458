/** @file Sessions over a driver without a GPU, whose one useful kernel adds. */
import { mkdtempSync, readdirSync, rmSync } from "node:fs";
import path from "node:path";
import { afterAll, describe, expect, it } from "vitest";
import { DeviceContext } from "../../cuda-runtime/driver/context.ts";
import { Driver } from "../../cuda-runtime/driver/driver.ts";
import { ParamWriter } from "../../cuda-runtime/plan/params.ts";
import type { KernelRef, Plan, Step, Upload } from "../../cuda-runtime/plan/step.ts";
import type { BufferKind, View } from "../../cuda-runtime/plan/view.ts";
import { DeviceSession, type SessionOptions } from "../../cuda-runtime/session/session.ts";
import { KernelStore } from "../../cuda-runtime/session/store.ts";
import { buildFakeCuda } from "./fake-cuda.ts";

const fake = buildFakeCuda();
afterAll(() => {
  if (fake !== undefined) rmSync(fake.folder, { recursive: true, force: true });
});

const count = 300;

function view(id: number, kind: BufferKind): View {
  const buffer = { id, kind, bytes: 4 * count, name: `b${id}` };
  return { buffer, type: "float32", shape: [count], strides: [1], offset: 0 };
}

function add(a: View, b: View, to: View, kernel: KernelRef = built("fake_add")): Step {
  const params = new ParamWriter().pointer(a).pointer(b).pointer(to).i32(count).done();
  const launch = { kernel, grid: [1, 1, 1], block: [32, 1, 1], sharedBytes: 0, params } as const;
  return {
    action: { kind: "launch", launch: { ...launch, reads: [a, b], writes: [to] } },
    label: "here",
    operator: "Add",
  };
}

function built(entry: string): KernelRef {
  return { kind: "built", family: "fake", entry };
}

function upload({ buffer }: View, value: number): Upload {
  const bytes = new Uint8Array(new Float32Array(count).fill(value).buffer);
  return {
    buffer,
    offsetBytes: 0,
    sizeBytes: bytes.length,
    readInto: (offset, target) => target.set(bytes.subarray(offset, offset + target.length)),
  };
}

/** y = x + (1 + 2 + 4 + 4) + x, the bracket once. */
function planOf(...extra: readonly Step[]): Plan {
  const [x, y] = [view(0, "input"), view(1, "output")];
  const weights = [view(2, "constant"), view(3, "constant"), view(4, "constant")] as const;
  const [sum, total] = [view(5, "temporary"), view(6, "constant")];
  const [twice, between, last] = [view(7, "temporary"), view(8, "temporary"), view(9, "temporary")];
  const steps = [add(x, total, between), add(between, weights[2], last), add(last, x, y)];
  return {
    buffers: [x, y, ...weights, sum, total, twice, between, last].map(({ buffer }) => buffer),
    uploads: weights.map((weight, index) => upload(weight, 2 ** index)),
    prepare: [add(weights[0], weights[1], sum), add(sum, weights[2], total)],
    steps: [...steps, ...extra],
    inputs: [{ name: "x", view: x }],
    outputs: [{ name: "y", view: y }],
  };
}

describe.skipIf(fake === undefined)("A session", () => {
  const kernels = fake?.kernels ?? new URL("file:///");
  const start = async () => new DeviceContext(await Driver.open([fake?.library ?? ""]), 0);
  const x = Float32Array.from({ length: count }, (_, index) => index);

  it.each<SessionOptions>([{}, { stepwise: true }, { separate: true, poison: true }, { poison: true }])(
    "computes what the plan says, with %o",
    async (options) => {
      using context = await start();
      using store = new KernelStore(context, { kernels, cache: null });
      using session = DeviceSession.load(context, store, planOf(), options);
      for (const scale of [1, 3]) {
        const input = x.map((value) => scale * value);
        const [y] = session.run(new Map([["x", new Uint8Array(input.buffer)]])).values();
        const expected = input.map((value) => 2 * value + 11);
        expect(new Float32Array(y?.buffer ?? new ArrayBuffer(0))).toEqual(expected);
      }
      expect(session.memory).toMatchObject({ inputBytes: 1280, arenaBytes: 2 * 1280 });
      expect(session.memory).toMatchObject({ constantBytes: 2 * 1280, loadBytes: 3 * 1280 });
    },
  );

  it("compiles the texts of PTX kernels once, and keeps them", async () => {
    const folder = mkdtempSync(path.join(fake?.folder ?? "", "cache-"));
    const ptx = (entry: string, text: string): KernelRef => ({ kind: "ptx", text, entry });
    const [a, b] = [view(10, "temporary"), view(11, "temporary")];
    const steps = [
      add(a, a, b, ptx("fake_add", ".entry one")),
      add(b, b, a, ptx("fake_add", ".entry one")),
      add(b, b, a, ptx("fake_add", ".entry two")),
    ];
    using context = await start();
    const counts: number[] = [];
    for (let round = 0; round < 2; round++) {
      using store = new KernelStore(context, { kernels, cache: path.join(folder, "new") });
      using _session = DeviceSession.load(context, store, planOf(...steps));
      counts.push(store.compiled);
    }
    expect(counts).toEqual([2, 0]);
    expect(readdirSync(path.join(folder, "new")).every((name) => /^[0-9a-f]{64}\.cubin$/.test(name))).toBe(
      true,
    );
  });

  it("says which file of kernels is missing, and how to get it", async () => {
    using context = await start();
    using store = new KernelStore(context, { kernels: new URL("none/", kernels), cache: null });
    expect(() => DeviceSession.load(context, store, planOf())).toThrow(/fake\.fatbin .* npm run build:cuda/);
  });

  it("says which step faults, where it runs them one by one", async () => {
    // The fault stays with the process of the driver: this test is the last.
    const [a, b] = [view(10, "temporary"), view(11, "temporary")];
    const plan = planOf(add(a, a, b, built("fake_fault")));
    using context = await start();
    using store = new KernelStore(context, { kernels, cache: null });
    using session = DeviceSession.load(context, store, plan, { stepwise: true });
    const run = () => session.run(new Map([["x", new Uint8Array(4 * count)]]));
    expect(run).toThrow("fake_fault (Add here): CUDA_ERROR_ILLEGAL_ADDRESS from cuStreamSynchronize");
  });
});
