/** @file The GPU cases of decoding without a GPU: what they expect is what launches mean. */
import { describe, expect, test } from "vitest";
import type { View } from "../../cuda-runtime/ir/view.ts";
import { elementCount } from "../../cuda-runtime/ir/view.ts";
import { type Harness, type KernelCase, wantedOf } from "../../cuda-runtime/session/harness.ts";
import { randomValues } from "../../cuda-runtime/session/random.ts";
import { writtenIn } from "../../cuda-runtime/session/view-bytes.ts";
import { runCacheAppend } from "../cuda-runtime/lower/cache-machine.ts";
import {
  attributesOf,
  Machine,
  MachineContext,
  nodeOf,
  type Runner,
} from "../cuda-runtime/lower/movement-machine.ts";
import { runNBits } from "../cuda-runtime/lower/nbits-machine.ts";
import { cases as cacheCases } from "./cases/cache.ts";
import { cases as productCases } from "./cases/gemm-nbits.ts";

function harnessOf(run: (machine: Machine) => Runner): Harness {
  const machine: Machine = new Machine({ run: (launch, memory) => run(machine)(launch, memory) });
  const spec = { opset: 1, attributes: attributesOf({}), inputs: [], outputs: [], node: nodeOf("case") };
  return {
    emitter: new MachineContext(machine, spec),
    tensor(type, shape, { seed = 1, scale = 1, values } = {}) {
      return machine.tensor(type, shape, values ?? randomValues(type, elementCount(shape), seed, scale));
    },
    values: (view) => machine.read(view),
    output: (type, shape, order) => machine.allocate(type, shape, order),
    execute() {},
    read: (view) => machine.read(view),
    expectClose(view: View, expected, { relative, absolute }, what) {
      const actual = machine.read(view);
      const wanted = wantedOf(expected);
      expect([what, actual.length]).toEqual([what, wanted.length]);
      const off = actual.findIndex((value, at) => {
        const own = wanted[at] ?? Number.NaN;
        return !(Math.abs(value - own) <= absolute + relative * Math.abs(own));
      });
      expect(off === -1 ? undefined : [what, off, actual[off], wanted[off]]).toBeUndefined();
    },
    expectUnwritten(view, what) {
      expect([what, writtenIn(view, machine.bytesOf(view.buffer), 0xff)]).toEqual([what, 0]);
    },
  };
}

const isSmall = ({ name }: KernelCase) => !/x(3584|4096|14336) /.test(name);

describe("cases of caches", () => {
  test.each(cacheCases.map((each) => [each.name, each] as const))("%s", (_, each) =>
    each.run(harnessOf((machine) => (launch) => runCacheAppend(launch, machine))),
  );
});

describe("cases of 4-bit products", () => {
  test.each(productCases.filter(isSmall).map((each) => [each.name, each] as const))("%s", (_, each) =>
    each.run(harnessOf((machine) => (launch) => runNBits(launch, machine))),
  );
});
