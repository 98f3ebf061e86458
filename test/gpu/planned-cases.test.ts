/**
 * @file The GPU cases of products and convolutions, planned for each kind of GPU without one: a case that would launch nothing there, or a
 * kernel that is not built for it, fails here.
 */
import { readFileSync } from "node:fs";
import { afterAll, beforeAll, describe, expect, test, vi } from "vitest";
import type { PlanTarget } from "../../cuda-runtime/ir/step.ts";
import { elementCount, stridesOf } from "../../cuda-runtime/ir/view.ts";
import { type Harness, HarnessEmitter, type KernelCase } from "../../cuda-runtime/session/harness.ts";
import { machineNamed } from "../../src/hardware/machine.ts";
import { cases as codes } from "./cases/codes.ts";
import { cases as tails } from "./cases/codes-tail.ts";
import { cases as conv } from "./cases/conv.ts";
import { cases as planes } from "./cases/conv-planes.ts";
import { cases as gemm } from "./cases/gemm.ts";
import { cases as ends } from "./cases/gemm-ends.ts";
import { cases as pairs } from "./cases/gemm-pair.ts";
import { cases as thin } from "./cases/gemm-thin.ts";

const families = {
  ...{ gemm, ends, pairs, thin, codes, "tails of codes": tails },
  ...{ "conv and depthwise": conv, planes },
} as const;
/** sm_90a twice, then sm_75, 80, 86, 89, 100 and 120. */
const gpus = ["h200", "h100", "t4", "a100", "a10", "l4", "b200", "rtx5090"] as const;

/** Nothing is computed: what is emitted is counted, and which families it is of. */
class PlannedHarness implements Harness {
  readonly emitter: Harness["emitter"];
  readonly #emitter: HarnessEmitter;
  readonly families = new Set<string>();
  launches = 0;

  constructor(target: PlanTarget) {
    this.#emitter = new HarnessEmitter(target, () => {});
    this.emitter = this.#emitter.plain();
  }

  tensor: Harness["tensor"] = (type, shape, { strides = stridesOf(shape), offset = 0 } = {}) => {
    const buffer = this.#emitter.draft.buffer("input", 16, "tensor");
    return { buffer, type, shape, strides, offset };
  };
  values: Harness["values"] = (view) => new Float64Array(elementCount(view.shape));
  output: Harness["output"] = (type, shape, order) =>
    this.#emitter.draft.allocate("output", type, shape, order);
  read: Harness["read"] = (view) => new Float64Array(elementCount(view.shape));
  expectClose(): void {}
  expectUnwritten(): void {}

  execute(): void {
    const steps = this.#emitter.pending.splice(0);
    if (steps.length === 0) throw new Error("nothing was emitted");
    this.launches += steps.length;
    for (const { action } of steps)
      if (action.kind === "launch" && action.launch.kernel.kind === "built")
        this.families.add(action.launch.kernel.family);
  }
}

/** Architectures that a family is built for alone; undefined: all. */
function onlyOf(family: string): string | undefined {
  const source = readFileSync(
    new URL(`../../cuda-runtime/kernels/${family}/${family}.cu`, import.meta.url),
    "utf8",
  );
  return /^\/\/ only:(.*)$/m.exec(source)?.[1]?.trim();
}

/** Of cases that are left out aloud. */
let said: string[] = [];
beforeAll(() => {
  vi.spyOn(console, "log").mockImplementation((line: string) => said.push(line));
});
afterAll(() => vi.restoreAllMocks());

async function problemOf(each: KernelCase, target: PlanTarget): Promise<string | undefined> {
  const harness = new PlannedHarness(target);
  said = [];
  try {
    await each.run(harness);
  } catch (error) {
    return `${each.name}: ${String(error)}`;
  }
  if (harness.launches === 0 && said.length === 0) return `${each.name}: nothing was emitted`;
  const foreign = [...harness.families].filter((family) => onlyOf(family) === "90a");
  if (!target.features.wgmma && foreign.length > 0) return `${each.name}: ${foreign.join(", ")}`;
  return undefined;
}

describe.each(gpus)("for %s", (id) => {
  test.each(Object.entries(families))("each case of %s launches something", async (_, cases) => {
    const target = machineNamed(id);
    const problems: string[] = [];
    for (const each of cases) {
      const problem = await problemOf(each, target);
      if (problem !== undefined) problems.push(problem);
    }
    expect(problems).toEqual([]);
  });
});
