/** @file `tc-lint bench <model>`: layer by layer on the GPU, or the plan alone. */
import type { Argv } from "yargs";
import type { LadderName, LadderReport } from "../../gpu/ladder/report.ts";
import { findGpu, gpus } from "../../hardware/gpus.ts";
import { InputError } from "../../ir/errors.ts";
import type { LintPlan } from "../../settings/lint-plan.ts";
import { type BenchFlags, benchOptions, readBenchFlags } from "../gpu-options.ts";

export function addBench(parser: Argv, done: (exitCode: number) => void): Argv {
  return parser.command(
    "bench [models..]",
    "Run a model on the GPU and time it, step by step, in four configurations; or print its plan (no GPU needed)",
    (command) =>
      command
        .positional("models", {
          type: "string",
          array: true,
          describe: "The model; two with --compare, none with --ladder or --case",
        })
        .options(benchOptions)
        .epilogue(
          "Exit codes: 0 measured, 1 a rung of a ladder or a case is wrong, 2 wrong usage, no GPU, or a model that does not run.",
        ),
    async (argv) => {
      done(await runBench(argv.models ?? [], readBenchFlags(argv)));
    },
  );
}

/** The exit code. Throws InputError. */
async function runBench(models: readonly string[], flags: BenchFlags): Promise<number> {
  if (flags.ladders !== undefined) return climb(models, flags.ladders, flags);
  if (flags.kernelCase !== undefined) return runCase(models, flags.kernelCase, flags);
  const wanted = flags.compare ? 2 : 1;
  if (models.length !== wanted) {
    const expected = flags.compare ? "two models with --compare" : "one model";
    throw new InputError("usage", `bench takes ${expected}, found ${models.length}`);
  }
  const { checkReportFiles } = await import("../../files/report-file.ts");
  const own = flags.config.kind === "file" ? flags.config.path : undefined;
  checkReportFiles([flags.output], { inputs: [...models, own], models });
  await (flags.plan ? printPlans(models, flags) : measure(models, flags));
  return 0;
}

/** 1 where a rung computes something else. */
async function climb(
  models: readonly string[],
  ladders: readonly LadderName[],
  flags: BenchFlags,
): Promise<number> {
  if (models.length > 0)
    throw new InputError("usage", `bench --ladder takes no model, found ${models.length}`);
  const { checkReportFiles, writeReportFile } = await import("../../files/report-file.ts");
  checkReportFiles([flags.output, flags.plot], {});
  const { isWhollyRight } = await import("../../gpu/ladder/report.ts");
  const { withProgress } = await import("../progress.ts");
  const { writeRun } = await import("../write-reports.ts");
  const report = await withProgress((say) => climbed(ladders, flags, (what) => say(`${what} …`)));
  if (flags.plot !== undefined) {
    const { renderLadderSvg } = await import("../../report/ladder-svg.ts");
    writeReportFile(flags.plot, renderLadderSvg(report));
  }
  await writeRun("ladder", report, flags);
  return isWhollyRight(report) ? 0 : 1;
}

/** 1 where a result is wrong. */
async function runCase(
  models: readonly string[],
  kernelCase: NonNullable<BenchFlags["kernelCase"]>,
  flags: BenchFlags,
): Promise<number> {
  if (models.length > 0) throw new InputError("usage", `bench --case takes no model, found ${models.length}`);
  if (kernelCase.name === "") return listFamilies();
  const { checkReportFiles } = await import("../../files/report-file.ts");
  checkReportFiles([flags.output], {});
  const { benchCase } = await import("../../api/kernel-case.ts");
  const { complain } = await import("../stderr.ts");
  const { withProgress } = await import("../progress.ts");
  const { writeRun } = await import("../write-reports.ts");
  const { device, timeoutSeconds, memoryBytes, ncuPath } = flags;
  const report = await withProgress((say) => {
    const onProgress = (what: string) => say(`${what} …`);
    const limits = { timeoutSeconds, memoryBytes, onProgress, onNotice: complain };
    return benchCase({ ...kernelCase, device, ncu: ncuPath }, limits);
  });
  await writeRun("case", report, flags);
  return report.isRight ? 0 : 1;
}

/** What `--case` without a value asks for. */
async function listFamilies(): Promise<number> {
  const { caseFamilyLines } = await import("../../api/kernel-case.ts");
  const { writeStdout } = await import("../stdout.ts");
  await writeStdout(`${(await caseFamilyLines()).join("\n")}\n`);
  return 0;
}

async function climbed(
  ladders: readonly LadderName[],
  { device, timeoutSeconds, memoryBytes, torch, python }: BenchFlags,
  onProgress: (what: string) => void,
): Promise<LadderReport> {
  const { askGpu, kernelsUrl } = await import("../../gpu/process.ts");
  const { checkPeers, withPeers } = await import("../../gpu/ladder/peers.ts");
  const { complain } = await import("../stderr.ts");
  const peers = { python, device, timeoutSeconds };
  if (torch) {
    onProgress("looking for PyTorch");
    await checkPeers(peers);
  }
  const task = { kind: "ladder", device, kernels: kernelsUrl, ladders } as const;
  const { report } = await askGpu(task, { timeoutSeconds, memoryBytes, onProgress, onNotice: complain });
  if (!torch) return report;
  onProgress("PyTorch");
  return withPeers(report, peers, complain);
}

async function measure(models: readonly string[], flags: BenchFlags): Promise<void> {
  const [model = ""] = models;
  const { complain } = await import("../stderr.ts");
  const { withProgress } = await import("../progress.ts");
  const { sayConfigurations, writeRun } = await import("../write-reports.ts");
  const { timeoutSeconds, memoryBytes } = flags;
  const listener = { onNotice: complain, onConfiguration: (plan: LintPlan) => sayConfigurations([plan], []) };
  const limitsOf = (say: (what: string) => void) => {
    const onProgress = (what: string) => say(`${what} …`);
    return { timeoutSeconds, memoryBytes, onProgress, ...listener };
  };
  if (flags.ncu) {
    const { countModel } = await import("../../api/counters.ts");
    const request = { ...flags, ncu: flags.ncuPath };
    await writeRun("counters", await withProgress((say) => countModel(model, request, limitsOf(say))), flags);
    return;
  }
  const { benchModels } = await import("../../api/runs.ts");
  const report = await withProgress((say) => benchModels(models, flags, limitsOf(say)));
  await writeRun("bench", report, flags);
}

async function printPlans(models: readonly string[], flags: BenchFlags): Promise<void> {
  const id = flags.gpu ?? "h200";
  const gpu = findGpu(id);
  if (gpu === undefined)
    throw new InputError("usage", `--gpu ${id} is none of ${[...gpus.keys()].join(", ")}`);
  const { planFile } = await import("../../api/runs.ts");
  const { complain } = await import("../stderr.ts");
  const { sayConfigurations, writeRun } = await import("../write-reports.ts");
  const { timeoutSeconds, memoryBytes } = flags;
  const listener = { onNotice: complain, onConfiguration: (plan: LintPlan) => sayConfigurations([plan], []) };
  const reports = [];
  for (const path of models) {
    reports.push(await planFile(path, gpu, flags, { timeoutSeconds, memoryBytes, ...listener }));
  }
  await writeRun("plan", reports, flags);
}
