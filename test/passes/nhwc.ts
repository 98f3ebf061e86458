/** @file The layout pass over models in memory; ONNX Runtime compares. */
import { expect } from "vitest";
import type { Estimate } from "../../src/cost/model.ts";
import { patched } from "../../src/fix/edits.ts";
import { type FixSettings, runPasses } from "../../src/fix/pipeline.ts";
import { findGpu } from "../../src/hardware/gpus.ts";
import { type StackId, stacks } from "../../src/hardware/stacks.ts";
import type { Patch } from "../../src/ir/patch.ts";
import { modelFromBytes, type OpenModel } from "../../src/onnx/open.ts";
import type { Work } from "../../src/ops/work.ts";
import { channelsLast } from "../../src/passes/channels-last/channels-last.ts";
import type { Pass, PassNote, PassOptions } from "../../src/passes/pass.ts";
import { bytesOfModel, difference, type Feeds, run } from "./folding.ts";

export interface Moved {
  readonly after: OpenModel;
  readonly patch: Patch;
  readonly notes: readonly PassNote[];
  readonly permutations: ReadonlyMap<string, readonly number[]>;
}

type Options = Partial<Pick<PassOptions, "nhwcIo" | "nhwcForm" | "nhwcOnlyWhereFaster">> & {
  readonly stack?: StackId;
};

/** Prices that are easy to foresee: 10 µs for an NCHW convolution, 4 for NHWC or 12 if it is depthwise, 1 for anything else. */
function priceOf(work: Work<number>): number {
  if (work.kind !== "conv") return 1;
  if (work.layout === "nchw") return 10;
  return work.groups === work.channels ? 12 : 4;
}

function estimate(work: Work<number>): Estimate {
  const microseconds = priceOf(work);
  const sure = { microseconds, low: microseconds, high: microseconds, biasMicroseconds: 0 };
  return { ...sure, bound: "dram", tensorCore: true, flops: 1, bytes: 1 };
}

/** The pass on its own, and on its own result, which must change nothing. */
export function moveModel(before: OpenModel, options: Options = {}): Moved {
  const first = once(before, options);
  const after = first.patch.isEmpty ? before : patched(before, first.patch, "nhwc.data");
  const again = once(after, options);
  expect(again.patch.isEmpty).toBe(true);
  expect(again.notes.filter(({ kind }) => kind === "changed")).toEqual([]);
  return { after, ...first };
}

function once(model: OpenModel, { stack = "cudnn", ...options }: Options): Omit<Moved, "after"> {
  const gpu = findGpu("h200");
  if (gpu === undefined) throw new Error("the hardware table has no H200");
  let result: ReturnType<Pass["run"]> | undefined;
  const recorded: Pass = {
    ...channelsLast,
    run: (context) => {
      result = channelsLast.run(context);
      return result;
    },
  };
  const settings: FixSettings = {
    target: { gpu, stack: stacks[stack], precision: "fp16" },
    cost: {
      kinship: () => "measured",
      estimate,
      savingOf: () => ({ microseconds: 0, low: 0, high: 0 }),
      savingOfRuns: () => ({ microseconds: 0, low: 0, high: 0 }),
    },
    passes: [recorded],
    minSaving: 0,
    options: {
      halfType: "float16",
      halfIo: false,
      ranges: undefined,
      nhwcIo: false,
      nhwcForm: "portable",
      ...options,
    },
  };
  runPasses(model, settings);
  if (result === undefined) throw new Error("the pass did not run");
  return { patch: result.patch, notes: result.notes, permutations: result.permutations ?? new Map() };
}

/** What ONNX Runtime makes of the moved model is what it makes of the model. */
export async function expectSameMoved(
  bytes: Uint8Array,
  feeds: Feeds,
  options: Options = {},
): Promise<Moved> {
  const moved = moveModel(modelFromBytes(bytes), options);
  const expected = await run(bytes, feeds);
  const actual = await run(bytesOfModel(moved.after), feeds);
  expect(difference(expected, actual)).toBeLessThanOrEqual(1e-6);
  return moved;
}

/** Operators of the main graph in order, `nhwc::Conv` for calls. */
export function operatorsOf({ after }: Moved): string[] {
  return after.graph.nodes
    .map(({ domain, opType }) => (domain === "" ? opType : `${domain.replace("tc_lint.", "")}::${opType}`))
    .filter((operator) => operator !== "Constant");
}
