/** @file The GPUs there are rows for, checked on load. */

import { type Gpu, problemsOf } from "./gpu.ts";
import { gpuRows } from "./gpu-rows.ts";

export type { Gpu, TensorCoreType } from "./gpu.ts";

/** Throws on a row that cannot be true, so that a typing slip shows at the first run. */
export function checkedGpus(rows: readonly Gpu[]): ReadonlyMap<string, Gpu> {
  const byId = new Map<string, Gpu>();
  for (const gpu of rows) {
    if (byId.has(gpu.id)) throw new Error(`GPU row '${gpu.id}' appears twice`);
    for (const problem of problemsOf(gpu)) throw new Error(`GPU row '${gpu.id}': ${problem}`);
    byId.set(gpu.id, Object.freeze(gpu));
  }
  return byId;
}

export const gpus: ReadonlyMap<string, Gpu> = checkedGpus(gpuRows);

const aliases: ReadonlyMap<string, string> = new Map([
  ["h100-sxm", "h100"],
  ["a100-80gb", "a100"],
  ["agx-orin", "orin"],
]);

/** Whether a GPU runs the machine code of another that has a row, with the same units. */
export function sharesCapability({ computeCapability }: Pick<Gpu, "computeCapability">, id: string): boolean {
  return findGpu(id)?.computeCapability === computeCapability;
}

/** The row of an id such as "h200", whatever its case; undefined where there is none. */
export function findGpu(id: string): Gpu | undefined {
  const key = id.toLowerCase();
  return gpus.get(aliases.get(key) ?? key);
}
