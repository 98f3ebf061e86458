/**
 * @file Whole files at a batch of 32, predicted beside measured on three stacks: the zoo's exports that leave the batch open.
 *
 *     node scripts/run.mjs bench/truth-batch.ts > bench/results/truth-batch.md
 *
 * bench/results/truth-batch-rows.jsonl, one after another on one H200: ../shared/peers/onnx_torch.py (`--modes fp16,compile --dim batch=32`), and
 * `tc-lint bench --precision fp16 --no-fix --dim batch=32` as mode `tc-runtime`.
 */
import { readFileSync } from "node:fs";
import { join } from "node:path";
import { createCostModel } from "../src/cost/model.ts";
import { plannedTimeline } from "../src/gpu/planned-timeline.ts";
import { findGpu } from "../src/hardware/gpus.ts";
import { type StackId, stacks } from "../src/hardware/stacks.ts";
import { openModel } from "../src/onnx/open.ts";
import { priceModel } from "../src/workload/workload.ts";
import { type Judged, truthTable } from "./truth-table.ts";

interface Row {
  readonly model: string;
  readonly mode: "fp16" | "compile" | "tc-runtime";
  /** Null where the peer has no operator for it. */
  readonly us: number | null;
}

const stackOf = { fp16: "cudnn", compile: "inductor", "tc-runtime": "tc-runtime" } as const satisfies Record<
  Row["mode"],
  StackId
>;
const zoo = join(process.cwd(), "..", "shared", "zoo");
const gpu = findGpu("h200");
if (gpu === undefined) throw new Error("the H200's row is missing");
const cost = createCostModel({ inModels: true });
const rows = readFileSync(join("bench", "results", "truth-batch-rows.jsonl"), "utf8")
  .trim()
  .split("\n")
  .map((line) => JSON.parse(line) as Row);

function judgedOf(mode: Row["mode"]): Judged[] {
  return rows.flatMap(({ model, mode: own, us }) => {
    if (own !== mode || us === null || gpu === undefined) return [];
    using opened = openModel(join(zoo, `${model}.onnx`));
    const target = { gpu, stack: stacks[stackOf[mode]], precision: "fp16" } as const;
    const workload = priceModel(opened, { target, cost, dims: new Map([["batch", 32]]) });
    const { microseconds, low, high } = plannedTimeline(workload) ?? workload.timeline;
    return [{ model, us, microseconds, ratio: us / microseconds, isInside: us >= low && us <= high }];
  });
}

console.log(
  [
    "# Whole files at batch 32",
    "",
    "`node scripts/run.mjs bench/truth-batch.ts > bench/results/truth-batch.md`",
    "",
    "The zoo's exports that leave the batch open, in FP16 on an H200, one after another. Nothing was fitted to these rows. At this batch",
    "`--fix --dim batch=32` finds nothing that is sure to gain on the default stack, and writes none of them.",
    "",
    ...(["fp16", "compile", "tc-runtime"] as const).flatMap((mode) =>
      truthTable(stackOf[mode], judgedOf(mode)),
    ),
  ].join("\n"),
);
