/**
 * @file Whole files on two stacks, predicted beside measured, and what `--fix` made of some of them.
 *
 *     node scripts/run.mjs bench/truth-stacks.ts > bench/results/truth-stacks.md
 *
 * bench/results/truth-rows.jsonl: ../shared/peers/onnx_torch.py over the zoo on one H200 (`--modes fp16,fp16_nhwc,compile`, ten processes at
 * once, timed one at a time). The first rows are files that `tc-lint --fix --no-verify` had written, up to `fixedRows`; the rest originals.
 */
import { readFileSync } from "node:fs";
import { join } from "node:path";
import { createCostModel } from "../src/cost/model.ts";
import { findGpu } from "../src/hardware/gpus.ts";
import { type StackId, stacks } from "../src/hardware/stacks.ts";
import { push } from "../src/ir/group.ts";
import { openModel } from "../src/onnx/open.ts";
import type { Timeline } from "../src/workload/timeline.ts";
import { priceModel } from "../src/workload/workload.ts";
import { type Judged, truthTable } from "./truth-table.ts";

interface Row {
  readonly model: string;
  readonly mode: string;
  /** Null where the peer has no operator for it. */
  readonly us: number | null;
}

const fixedRows = 33;
const zoo = join(process.cwd(), "..", "shared", "zoo");
const modes = [
  ["fp16", "cudnn"],
  ["compile", "inductor"],
] as const;
const cost = createCostModel({ inModels: true });

function timelineOf(model: string, stack: StackId): Timeline {
  const gpu = findGpu("h200");
  if (gpu === undefined) throw new Error("the H200's row is missing");
  using opened = openModel(join(zoo, `${model}.onnx`));
  return priceModel(opened, { target: { gpu, stack: stacks[stack], precision: "fp16" }, cost }).timeline;
}

function judgedOf(rows: readonly Row[], mode: string, stack: StackId): Judged[] {
  return rows.flatMap(({ model, mode: own, us }) => {
    if (own !== mode || us === null) return [];
    const { microseconds, low, high } = timelineOf(model, stack);
    return [{ model, us, microseconds, ratio: us / microseconds, isInside: us >= low && us <= high }];
  });
}

/** Exports of one network by two exporters: what the TorchScript file takes of what the dynamo file does. */
function twins(judged: readonly Judged[], stack: StackId): string[] {
  const byModel = new Map(judged.map((each) => [each.model, each]));
  const rows = judged.flatMap((script) => {
    const dynamo = byModel.get(`${script.model}_dynamo`);
    if (dynamo === undefined) return [];
    const [measured, predicted] = [script.us / dynamo.us, script.microseconds / dynamo.microseconds];
    return [`| ${script.model} | ${measured.toFixed(2)} | ${predicted.toFixed(2)} |`];
  });
  return [
    `Twins on ${stack}: the time of the TorchScript export over that of the dynamo export.`,
    "",
    "| model | measured | predicted |",
    "|---|--:|--:|",
    ...rows.toSorted(),
    "",
  ];
}

function table(judged: readonly Judged[], stack: StackId): string[] {
  return [...truthTable(stack, judged), ...twins(judged, stack)];
}

function fixes(originals: readonly Row[], fixed: readonly Row[]): string[] {
  const before = new Map(originals.map(({ model, mode, us }) => [`${model} ${mode}`, us]));
  const logs = new Map<string, number[]>();
  const rows = fixed.flatMap(({ model, mode, us }) => {
    const was = before.get(`${model} ${mode}`);
    if (us === null || was === null || was === undefined) return [];
    push(logs, mode, Math.log(was / us));
    return [`| ${model} | ${mode} | ${was} | ${us} | ${(100 * (us / was - 1)).toFixed(1)} % |`];
  });
  return [
    "## After --fix",
    "",
    "| model | mode | before µs | after µs | |",
    "|---|---|--:|--:|--:|",
    ...rows,
    "",
    ...[...logs].map(([mode, gains]) => {
      const mean = gains.reduce((sum, gain) => sum + gain, 0) / gains.length;
      return `${mode}: ${gains.length} changed files, ${Math.exp(mean).toFixed(2)} times as fast (geometric mean).`;
    }),
    "",
  ];
}

const rows = readFileSync(join("bench", "results", "truth-rows.jsonl"), "utf8")
  .trim()
  .split("\n")
  .map((line) => JSON.parse(line) as Row);
const [fixed, originals] = [rows.slice(0, fixedRows), rows.slice(fixedRows)];
const lines = [
  "# Whole files on two stacks",
  "",
  "`node scripts/run.mjs bench/truth-stacks.ts > bench/results/truth-stacks.md`",
  "",
  "Zoo exports in FP16 on an H200, batch as exported. Nothing was fitted to these rows. In a second run of swin_tiny_dynamo through",
  "torch.compile the original took 548 µs, as the fixed file does: the 491 µs of this run were one compilation's luck.",
  "",
  ...modes.flatMap(([mode, stack]) => table(judgedOf(originals, mode, stack), stack)),
  ...fixes(originals, fixed),
];
console.log(lines.join("\n"));
