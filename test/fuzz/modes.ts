/** @file Everything that a model goes through, in this process and without running it: what may come out of each is an answer or an InputError. */
import { rmSync, statSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { KernelManifest } from "../../cuda-runtime/session/store.ts";
import { ruleDocs } from "../../rules/docs.ts";
import { rules } from "../../rules/index.ts";
import { safeFixSettings } from "../../src/api/plan-fix.ts";
import { createCostModel } from "../../src/cost/model.ts";
import { fixModel } from "../../src/fix/fix.ts";
import type { FixSettings } from "../../src/fix/pipeline.ts";
import { planSizes } from "../../src/gpu/plan.ts";
import { planReportOf } from "../../src/gpu/plan-report.ts";
import { prepareModel } from "../../src/gpu/prepare.ts";
import type { Gpu } from "../../src/hardware/gpu.ts";
import { findGpu } from "../../src/hardware/gpus.ts";
import { machineOf } from "../../src/hardware/machine.ts";
import { stacks } from "../../src/hardware/stacks.ts";
import { lint } from "../../src/index.ts";
import { InputError } from "../../src/ir/errors.ts";
import { fixableProducts } from "../../src/lint/fixable.ts";
import { openModel } from "../../src/onnx/open.ts";
import { renderPlanText } from "../../src/report/bench-text.ts";
import { renderFixText } from "../../src/report/fix-text.ts";
import { lintFormats } from "../../src/report/registry.ts";
import { reportOf } from "../../src/report/summary.ts";
import { type Mode as FixMode, modes as fixModes } from "../fix/drawn.ts";

export const modes = ["lint", "plan", "diff", "safe", "fp16", "bf16", "nhwc", "all"] as const;
export type Mode = (typeof modes)[number];

/** The code it was refused with, or "done". Whatever else is thrown is a crash. */
export async function runMode(mode: Mode, bytes: Uint8Array, folder: string): Promise<string> {
  const path = join(folder, "model.onnx");
  writeFileSync(path, bytes);
  try {
    if (mode === "lint") return await lintAndReport(path);
    if (mode === "plan") return plan(path);
    return mode === "diff" ? await fix(path, "safe", true) : await fix(path, mode, false);
  } catch (error) {
    if (error instanceof InputError) return error.code;
    throw error;
  }
}

async function lintAndReport(path: string): Promise<string> {
  const model = await lint(path, { layers: true, drawings: true });
  const report = reportOf([model], "0.0.0");
  for (const render of Object.values(lintFormats)) {
    const text = await render(report, {
      color: 0,
      columns: 100,
      verbose: true,
      stats: true,
      docs: ruleDocs,
      script: "",
      localPath: () => undefined,
      repositoryPath: (path) => path,
      pages: { home: "https://example.com", rule: (code) => `https://example.com/${code}.md` },
      bytesOf: (file) => statSync(file, { throwIfNoEntry: false })?.size,
      describeTarget: ({ gpu, stack }) => `${gpu} with ${stack}`,
    });
    refuseControl(text, "a report");
  }
  return model.error?.code ?? "done";
}

function plan(path: string): string {
  using prepared = prepareModel(
    { path, precision: "fp16" },
    { fixSettingsOf: safeFixSettings, isRun: false },
  );
  const planned = planSizes(prepared.model, {}, { precision: "fp16", target }, { memoryBytes: undefined });
  const report = planReportOf(planned, { model: path, gpu: "h200", precision: "fp16", target, manifest });
  for (const verbose of [false, true]) refuseControl(renderPlanText(report, { color: 0, verbose }), "a plan");
  return "planned";
}

/** Line ends and tabs apart. */
function refuseControl(text: string, what: string): void {
  // biome-ignore lint/suspicious/noControlCharactersInRegex: they are what is looked for
  const found = /[\u0000-\u0008\u000b\u000c\u000e-\u001f\u007f-\u009f\u202a-\u202e\u2066-\u2069]/.exec(text);
  if (found !== null) throw new Error(`${what} has the control character ${JSON.stringify(found[0])} in it`);
}

async function fix(path: string, mode: FixMode, dryRun: boolean): Promise<string> {
  const destination = `${path.slice(0, -".onnx".length)}.fixed.onnx`;
  try {
    const outcome = await fixModel({
      path,
      destination,
      settings: settingsOf(mode),
      verify: async () => ({ kind: "unverified", summary: "not run" }),
      promise: "unverified",
      dryRun,
    });
    const text = renderFixText(outcome, { color: 0, diff: true, verbose: true, ranges: undefined });
    refuseControl(text, "the report of a fix");
    // What is written can be read.
    if (outcome.written) openModel(destination)[Symbol.dispose]();
    return outcome.changed ? "fixed" : "unchanged";
  } finally {
    rmSync(destination, { force: true });
  }
}

const cost = createCostModel();

const gpu = h200();
const target = machineOf(gpu);
function h200(): Gpu {
  const found = findGpu("h200");
  if (found === undefined) throw new Error("there is an H200 among the GPUs");
  return found;
}

/** Nothing is built where this runs. */
const manifest = new KernelManifest(new URL("file:///nothing/"), target.computeCapability);

function settingsOf(mode: FixMode): FixSettings {
  return {
    target: { gpu, stack: stacks.cudnn, precision: "fp16" },
    cost,
    passes: fixModes[mode].passes,
    minSaving: 0,
    remaining: (workload) => fixableProducts(rules, workload, cost),
    options: {
      halfType: fixModes[mode].half === "bf16" ? "bfloat16" : "float16",
      halfIo: false,
      ranges: undefined,
      nhwcIo: false,
      nhwcForm: "portable",
    },
  };
}
