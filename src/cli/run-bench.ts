/** @file Layer by layer on the GPU, in several configurations; or the plan alone, without a GPU. */

import { PlanError } from "../../cuda-runtime/ir/step.ts";
import type { Precision } from "../../cuda-runtime/plan/precision.ts";
import { KernelManifest } from "../../cuda-runtime/session/store.ts";
import { inferFacts } from "../facts/infer.ts";
import { invalidNode } from "../facts/invalid-node.ts";
import { findGpu, gpus } from "../hardware/gpus.ts";
import { machineOf } from "../hardware/machine.ts";
import { InputError } from "../ir/errors.ts";
import { openModel } from "../onnx/open.ts";
import { jsonText } from "../report/json-text.ts";
import { benchReport } from "./bench-report.ts";
import { type PlanReport, renderBenchText, renderPlanText } from "./bench-text.ts";
import { colorLevel } from "./color.ts";
import { exitCodes } from "./exit-code.ts";
import { runtimeFix } from "./gpu-fix.ts";
import type { BenchFlags } from "./gpu-options.ts";
import { missingWeights, planSizes, prepareModel } from "./gpu-plan.ts";
import { askGpu, kernelsUrl } from "./gpu-process.ts";
import type { ModelRequest, ModelRun } from "./gpu-protocol.ts";
import { Guard } from "./guard.ts";
import { checkReportFiles, writeReportFile } from "./output.ts";
import { planReportOf } from "./plan-report.ts";
import { ProgressLine } from "./progress.ts";
import { writeStdout } from "./stdout.ts";
import { sayConfigurations } from "./write-reports.ts";

/** Returns the exit code. Throws InputError. */
export async function runBench(models: readonly string[], flags: BenchFlags): Promise<number> {
  const wanted = flags.compare ? 2 : 1;
  if (models.length !== wanted) {
    const expected = flags.compare ? "two models" : "one model";
    throw new InputError(
      "usage",
      `bench takes ${expected}${flags.compare ? " with --compare" : ""}, found ${models.length}`,
    );
  }
  const own = flags.config.kind === "file" ? flags.config.path : undefined;
  checkReportFiles([flags.output], { inputs: [...models, own], models });
  return flags.plan ? await printPlans(models, flags) : await measure(models, flags);
}

interface Configuration {
  readonly name: string;
  readonly precision: Precision;
  readonly fix: boolean;
  /** Whether its steps are timed one by one. */
  readonly steps: boolean;
}

const four: readonly Configuration[] = [
  { name: "FP32", precision: "fp32", fix: false, steps: false },
  { name: "FP16 as exported", precision: "fp16", fix: false, steps: false },
  { name: "FP16 fixed", precision: "fp16", fix: true, steps: true },
  { name: "BF16 fixed", precision: "bf16", fix: true, steps: false },
];

function configurationsOf({ precision, fix, compare }: BenchFlags): readonly Configuration[] {
  if (precision === undefined && !compare) return four;
  const own = precision ?? "fp16";
  const isFixed = fix && !compare && own !== "fp32" && own !== "model";
  return [
    {
      name: `${own.toUpperCase()}${isFixed ? " fixed" : " as exported"}`,
      precision: own,
      fix: isFixed,
      steps: true,
    },
  ];
}

async function measure(models: readonly string[], flags: BenchFlags): Promise<number> {
  const { device, dims, warmup, repeats, timeoutSeconds, memoryBytes } = flags;
  const runs: ModelRun[] = [];
  const names: { name: string; model: string }[] = [];
  for (const path of models) {
    const fix = await runtimeFix(path, dims, undefined, flags.config);
    const configurations = configurationsOf(flags);
    if (fix !== undefined && configurations.some((each) => each.fix)) sayConfigurations([fix.plan], []);
    for (const { name, precision, fix: isFixed, steps } of configurations) {
      const model: ModelRequest = { path, precision, fix: isFixed ? fix : undefined };
      runs.push({
        label: `${path}, ${name}`,
        model,
        inputs: { kind: "drawn", sizes: listed(dims) },
        time: { warmup, repeats },
        steps,
      });
      names.push({ name, model: path });
    }
  }
  const progress = new ProgressLine({
    isTerminal: process.stderr.isTTY === true,
    columns: process.stderr.columns,
  });
  const onProgress = (what: string) => progress.show(`${what} …`);
  const result = await askGpu(
    { kind: "run", device, kernels: kernelsUrl, runs },
    { timeoutSeconds, memoryBytes, onProgress },
  ).finally(() => progress.erase());
  const report = benchReport(result, names);
  await write(flags, () => renderBenchText(report, colorOf(flags)), report);
  return exitCodes.clean;
}

async function printPlans(models: readonly string[], flags: BenchFlags): Promise<number> {
  const id = flags.gpu ?? "h200";
  const gpu = findGpu(id);
  if (gpu === undefined)
    throw new InputError("usage", `--gpu ${id} is none of ${[...gpus.keys()].join(", ")}`);
  const target = machineOf(gpu);
  const manifest = new KernelManifest(new URL(kernelsUrl), target.computeCapability);
  const reports: PlanReport[] = [];
  for (const path of models) {
    const precision = flags.precision ?? "fp16";
    const isFixed = flags.fix && !flags.compare && precision !== "fp32" && precision !== "model";
    const { timeoutSeconds, memoryBytes } = flags;
    const guard = new Guard({ path, doing: "planning", timeoutSeconds, memoryBytes });
    const isRepaired = guard.run(() => hasWeights(path, flags)) && isFixed;
    const fix = isRepaired ? await runtimeFix(path, flags.dims, gpu.id, flags.config) : undefined;
    if (fix !== undefined) sayConfigurations([fix.plan], []);
    using prepared = guard.run(() => prepareModel({ path, precision, fix }, { isRun: false }));
    const found = planned(path, () =>
      guard.run(() =>
        planSizes(prepared.model, listed(flags.dims), { precision, target }, { memoryBytes: undefined }),
      ),
    );
    const stated = `${precision}${isRepaired ? " fixed" : " as exported"}`;
    reports.push(planReportOf(found, { model: path, gpu: gpu.id, precision: stated, target, manifest }));
  }
  await write(
    flags,
    () => reports.map((report) => renderPlanText(report, colorOf(flags))).join("\n"),
    reports,
  );
  return exitCodes.clean;
}

/**
 * Without them a plan can be made, but nothing repaired. Throws InputError of a model that linting calls broken, be it in a part
 * that a plan leaves out.
 */
function hasWeights(path: string, { dims }: BenchFlags): boolean {
  using model = openModel(path);
  const broken = invalidNode(inferFacts(model, { dims: new Map(Object.entries(dims)) }));
  if (broken !== null) throw new InputError(broken.code, broken.message);
  return missingWeights(model) === undefined;
}

/** What the runtime cannot do is the model's affair here. */
function planned<Result>(path: string, plan: () => Result): Result {
  try {
    return plan();
  } catch (error) {
    if (!(error instanceof PlanError)) throw error;
    throw new InputError("gpu-unsupported", `${path}: ${error.message}`, { cause: error });
  }
}

export function listed(dims: Readonly<Record<string, number>>): Record<string, readonly number[]> {
  return Object.fromEntries(Object.entries(dims).map(([name, size]) => [name, [size]]));
}

async function write({ format, output }: BenchFlags, text: () => string, report: unknown): Promise<void> {
  const whole = format === "json" ? jsonText(report) : text();
  if (output === undefined) await writeStdout(whole);
  else writeReportFile(output, whole);
}

function colorOf({ color, output }: BenchFlags) {
  const isTerminal = output === undefined && process.stdout.isTTY === true;
  return colorLevel({ flag: color, env: output === undefined ? process.env : {}, isTerminal });
}
