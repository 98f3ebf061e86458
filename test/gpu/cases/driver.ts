/** @file The driver and the harness themselves: memory, copies, zeroing. */

import { type StorageType, storageTypes } from "../../../cuda-runtime/ir/storage.ts";
import type { Harness, KernelCase } from "../../../cuda-runtime/session/harness.ts";

const exact = { relative: 0, absolute: 0 };

function isStorage(name: string): name is StorageType {
  return Object.hasOwn(storageTypes, name);
}

const types = Object.keys(storageTypes).filter(isStorage);

export const cases: readonly KernelCase[] = [
  ...types.map((type) => ({
    name: `round trip of ${type}`,
    run(harness: Harness) {
      const view = harness.tensor(type, [3, 5, 7], { seed: 3 });
      harness.expectClose(view, harness.values(view), exact, "uploaded and read back");
    },
  })),
  {
    name: "views with strides and offset",
    run(harness) {
      const view = harness.tensor("float16", [2, 3], {
        strides: [1, 4],
        offset: 5,
        values: [1, 2, 3, 4, 5, 6],
      });
      harness.expectClose(view, [1, 2, 3, 4, 5, 6], exact, "uploaded and read back");
    },
  },
  {
    name: "clear",
    run(harness) {
      const view = harness.output("float32", [1000]);
      harness.emitter.clear(view);
      harness.execute();
      harness.expectClose(view, new Float64Array(1000), exact, "zeroes");
    },
  },
];
