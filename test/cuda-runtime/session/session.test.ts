/** @file Sessions over a driver without a GPU, whose one useful kernel adds. */
import { mkdtempSync, readdirSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import path from "node:path";
import fc from "fast-check";
import { afterAll, describe, expect, it } from "vitest";
import { DeviceContext } from "../../../cuda-runtime/driver/context.ts";
import { Driver } from "../../../cuda-runtime/driver/driver.ts";
import type { KernelRef } from "../../../cuda-runtime/ir/step.ts";
import type { View } from "../../../cuda-runtime/ir/view.ts";
import { placesOf } from "../../../cuda-runtime/plan/lanes.ts";
import { needsOf } from "../../../cuda-runtime/plan/needs.ts";
import { DeviceSession, type SessionOptions } from "../../../cuda-runtime/session/session.ts";
import { KernelStore } from "../../../cuda-runtime/session/store.ts";
import { timeRuns, timeSteps } from "../../../cuda-runtime/session/timing.ts";
import { buildFakeCuda } from "../fake-cuda.ts";
import { add, built, count, planOf, view } from "../fake-plan.ts";

const fake = buildFakeCuda();
afterAll(() => {
  if (fake !== undefined) rmSync(fake.folder, { recursive: true, force: true });
});

function changeLast(bytes: Buffer): Buffer {
  bytes[bytes.length - 1] = (bytes.at(-1) ?? 0) ^ 1;
  return bytes;
}

/** Each writes one of eight tensors, the sum of two that are there. */
const sums = fc.array(fc.record({ a: fc.nat(7), b: fc.nat(7), to: fc.nat(7) }), {
  minLength: 2,
  maxLength: 24,
});

/** From x to y by way of tensors that are written again and again, and what y is where they run in order. */
function stepsOfSums(
  rows: readonly { readonly a: number; readonly b: number; readonly to: number }[],
  x: Float32Array,
) {
  const plan = planOf();
  const [input = view(0, "input")] = plan.inputs.map((port) => port.view);
  const [output = view(1, "output")] = plan.outputs.map((port) => port.view);
  const tensors = Array.from({ length: 8 }, (_, id) => view(20 + id, "temporary"));
  const values = new Map<View, Float32Array>([[input, x]]);
  const sum = (a: View, b: View, to: View) => {
    const [first, second] = [values.get(a), values.get(b)];
    values.set(
      to,
      x.map((_, index) => (first?.[index] ?? 0) + (second?.[index] ?? 0)),
    );
    return add(a, b, to);
  };
  const there = (id: number) => {
    const tensor = tensors[id] ?? input;
    return values.has(tensor) ? tensor : input;
  };
  const steps = rows.map(({ a, b, to }) => sum(there(a), there(b), tensors[to] ?? output));
  const last = tensors.filter((tensor) => values.has(tensor));
  const ends = last.map((tensor, index) => sum(tensor, index === 0 ? input : output, output));
  return { plan, steps: [...steps, ...ends], y: values.get(output) };
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

  it("computes the same with steps on lanes, whichever of those that wait for nothing comes first", async () => {
    using context = await start();
    using store = new KernelStore(context, { kernels, cache: null });
    fc.assert(
      fc.property(sums, fc.integer({ min: 1, max: 4 }), (rows, most) => {
        const { plan, steps, y: expected } = stepsOfSums(rows, x);
        const places = placesOf(needsOf(steps), most);
        const onLanes = steps.map((step, index) => ({ ...step, ...places[index] }));
        using session = DeviceSession.load(context, store, { ...plan, steps: onLanes });
        const [y] = session.run(new Map([["x", new Uint8Array(x.buffer)]])).values();
        expect(new Float32Array(y?.buffer ?? new ArrayBuffer(0))).toEqual(expected);
      }),
      { numRuns: 60 },
    );
  });

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
    for (let round = 0; round < 4; round++) {
      using store = new KernelStore(context, { kernels, cache: path.join(folder, "new") });
      using _session = DeviceSession.load(context, store, planOf(...steps));
      counts.push(store.compiled);
      // One of the two is damaged before the third round, in a byte that the driver would not miss; then both are empty.
      const [kept = "", other = ""] = readdirSync(path.join(folder, "new")).map((name) =>
        path.join(folder, "new", name),
      );
      if (round === 1) writeFileSync(kept, changeLast(readFileSync(kept)));
      if (round === 2) for (const file of [kept, other]) writeFileSync(file, "");
    }
    expect(counts).toEqual([2, 0, 1, 2]);
    expect(readdirSync(path.join(folder, "new")).every((name) => /^[0-9a-f]{64}\.cubin$/.test(name))).toBe(
      true,
    );
  });

  it("times runs and steps", async () => {
    using context = await start();
    using store = new KernelStore(context, { kernels, cache: null });
    using session = DeviceSession.load(context, store, planOf());
    session.writeInputs(new Map([["x", new Uint8Array(4 * count)]]));
    // Everything takes the fake 250 µs; steps this long are not grouped.
    expect(timeRuns(session, { warmup: 1, repeats: 7 })).toEqual({
      median: 250,
      low: 250,
      high: 250,
      repeats: 7,
    });
    expect(timeSteps(session).map(({ median }) => median)).toEqual([250, 250, 250]);
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
