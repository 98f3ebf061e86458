/** @file Flags that the GPU commands share, and those of `tc-lint bench`. */
import type { InferredOptionTypes } from "yargs";
import type { Precision } from "../../cuda-runtime/plan/precision.ts";
import type { ConfigChoice } from "../api/make-plans.ts";
import { type CaseMode, caseModes } from "../gpu/case/report.ts";
import { type LadderName, ladderNames } from "../gpu/ladder/report.ts";
import { gpus } from "../hardware/gpus.ts";
import { InputError } from "../ir/errors.ts";
import { type RunFormat, runFormatNames } from "../report/registry.ts";
import { parseChoice, parseCount, parseDims, parsePositive } from "../settings/values.ts";
import { mapped, parseMemory, single } from "./arguments.ts";
import { readConfigChoice, settingOptions } from "./options.ts";

export const text = (group: string, describe: string) =>
  ({ type: "string", requiresArg: true, group, describe }) as const;
const texts = (group: string, describe: string) => ({ ...text(group, describe), array: true }) as const;

export const runPrecisions = ["fp16", "bf16", "tf32", "fp32", "model", "as-is"] as const;

/** Of `bench` and `validate`. */
export const common = {
  dim: texts(
    "Inputs:",
    "Size of a symbolic dimension, such as batch=32; repeatable (default: the first that runs)",
  ),
  device: text("GPU:", "Which GPU, as CUDA numbers them (default 0)"),
  repeats: text("Time:", "Runs that are timed (default 50)"),
  warmup: text("Time:", "Runs before these (default 5)"),
  autotune: {
    type: "boolean",
    group: "Time:",
    describe:
      "Choose kernels by timing the best few of each step on this GPU; what wins is kept for the next time",
  },
  "autotune-seconds": text("Time:", "With --autotune, stop timing kernels after this (default 60)"),
  timeout: text("GPU:", "Stop after this many seconds (default 600)"),
  "memory-gb": text(
    "GPU:",
    "Stop beyond this much of the machine's own memory (default: three quarters of it)",
  ),
  format: { ...text("Report:", `${runFormatNames.join(" or ")} (default text)`), alias: "f" },
  output: { ...text("Report:", "File of the report (default: stdout)"), alias: "o" },
  color: { type: "boolean", group: "Report:", describe: "Colour or not (--no-color)" },
} as const;

export const benchOptions = {
  ...common,
  precision: text(
    "Configurations:",
    `Only this one: ${runPrecisions.join(", ")} (default: FP32, FP16 as exported, FP16 and BF16 repaired); quantized products stay on their codes but in fp32 and tf32`,
  ),
  fix: {
    type: "boolean",
    group: "Configurations:",
    describe: "Repair the model in memory first (--no-fix runs it as exported alone)",
    default: true,
  },
  compare: {
    type: "boolean",
    group: "Configurations:",
    describe: "Take two models, and say how much faster the second is",
  },
  config: settingOptions.config,
  verbose: {
    type: "boolean",
    group: "Report:",
    describe: "Every step, in the order in which they run (else the worst first, repeats folded)",
  },
  ncu: {
    type: "boolean",
    group: "Counters:",
    describe:
      "Have Nsight Compute count one run, step by step (--precision, default fp16), or a case's launches",
  },
  "ncu-path": text("Counters:", "With --ncu, the program (default: on the PATH, or /usr/local/cuda/bin/ncu)"),
  plan: { type: "boolean", group: "Plan:", describe: "Print what would run, step by step; needs no GPU" },
  ladder: text(
    "Ladder:",
    `Instead of a model, kernels for one piece of work, each better than the one before: ${ladderNames.join(", ")}; several with commas`,
  ),
  case: {
    type: "string",
    group: "Case:",
    describe:
      "Instead of a model, one case of the kernels' tests, as family/case: checked against its reference, and timed; without a value, list families",
  },
  check: { type: "boolean", group: "Case:", describe: "With --case, check its results and nothing else" },
  time: { type: "boolean", group: "Case:", describe: "With --case, also time its launches (the default)" },
  torch: {
    type: "boolean",
    group: "Ladder:",
    describe: "With --ladder, have PyTorch do the same work in the same run",
  },
  python: text("Ladder:", "With --torch, the Python that has it (default: python3 or python on the PATH)"),
  plot: text("Ladder:", "With --ladder, a plot of it to this file as well (SVG)"),
  gpu: text("Plan:", `With --plan, for this GPU: ${[...gpus.keys()].join(", ")} (default h200)`),
} as const;

const mostRuns = 1_000_000;

export interface CommonFlags {
  readonly dims: Readonly<Record<string, number>>;
  readonly device: number;
  readonly repeats: number | undefined;
  readonly warmup: number | undefined;
  /** Undefined: kernels are chosen by prediction. */
  readonly autotuneSeconds: number | undefined;
  readonly timeoutSeconds: number | undefined;
  /** Of the host, not of the GPU. */
  readonly memoryBytes: number | undefined;
  readonly format: RunFormat;
  readonly output: string | undefined;
  readonly color: boolean | undefined;
}

export interface BenchFlags extends CommonFlags {
  /** Undefined: the four configurations. */
  readonly precision: Precision | undefined;
  readonly fix: boolean;
  readonly compare: boolean;
  readonly plan: boolean;
  /** Counted by Nsight Compute. */
  readonly ncu: boolean;
  readonly ncuPath: string | undefined;
  readonly gpu: string | undefined;
  readonly config: ConfigChoice;
  /** Kernels of these ladders in the place of models. */
  readonly ladders: readonly LadderName[] | undefined;
  /** One case of the kernels' tests in the place of models. */
  readonly kernelCase: { readonly name: string; readonly mode: CaseMode } | undefined;
  /** PyTorch beside them. */
  readonly torch: boolean;
  readonly python: string | undefined;
  readonly plot: string | undefined;
  readonly verbose: boolean;
}

type CommonArguments = Partial<InferredOptionTypes<typeof common>>;

/** Throws InputError `usage` naming the flag, what was found and what was expected. */
export function readBenchFlags(argv: Partial<InferredOptionTypes<typeof benchOptions>>): BenchFlags {
  const gpu = single(argv.gpu, "--gpu");
  if (gpu !== undefined && argv.plan !== true)
    throw new InputError(
      "usage",
      "--gpu: says nothing without --plan: what runs, runs on this machine's GPU",
    );
  if (argv.autotune === true && argv.plan === true)
    throw new InputError("usage", "--autotune: says nothing beside --plan, which prints what is predicted");
  const ncuPath = single(argv["ncu-path"], "--ncu-path");
  if (ncuPath !== undefined && argv.ncu !== true)
    throw new InputError("usage", "--ncu-path: says nothing without --ncu");
  for (const other of ["plan", "compare", "autotune"] as const)
    if (argv.ncu === true && argv[other] === true)
      throw new InputError("usage", `--${other}: says nothing beside --ncu`);
  const precision = mapped(single(argv.precision, "--precision"), parsePrecision);
  refuseBesides(argv);
  refuseWithoutLadder(argv);
  return {
    ...readCommon(argv),
    ladders: mapped(single(argv.ladder, "--ladder"), parseLadders),
    kernelCase: readCase(argv),
    torch: argv.torch ?? false,
    python: single(argv.python, "--python"),
    plot: single(argv.plot, "--plot"),
    precision,
    fix: argv.fix ?? true,
    compare: argv.compare ?? false,
    plan: argv.plan ?? false,
    ncu: argv.ncu ?? false,
    ncuPath,
    gpu,
    config: readConfigChoice(argv),
    verbose: argv.verbose ?? false,
  };
}

/** Each once, in the order given. */
function parseLadders(value: string): LadderName[] {
  return [...new Set(value.split(",").map((name) => parseChoice(name.trim(), "--ladder", ladderNames)))];
}

type BenchArguments = Partial<InferredOptionTypes<typeof benchOptions>>;

/** What says something of models alone. */
const ofModels = [
  "precision",
  "compare",
  "plan",
  "autotune",
  "dim",
  "repeats",
  "warmup",
  "verbose",
] as const satisfies readonly (keyof BenchArguments)[];

/** A ladder and a case have sizes, a precision and repetitions of their own. */
function refuseBesides(argv: BenchArguments): void {
  const refuse = (flag: "ladder" | "case", others: readonly (keyof BenchArguments)[]) => {
    const other = argv[flag] === undefined ? undefined : others.find((name) => argv[name] !== undefined);
    if (other !== undefined) throw new InputError("usage", `--${other}: says nothing beside --${flag}`);
  };
  refuse("ladder", [...ofModels, "ncu", "case"]);
  refuse("case", ofModels);
}

/** Throws InputError `usage` for modes without a case, and for two of them. */
function readCase(argv: BenchArguments): BenchFlags["kernelCase"] {
  const name = single(argv.case, "--case");
  const modes = caseModes.filter((mode) => argv[mode] === true);
  const alone = modes.find((mode) => mode !== "ncu");
  if (name === undefined) {
    if (alone !== undefined) throw new InputError("usage", `--${alone}: says nothing without --case`);
    return undefined;
  }
  const [mode = "time", other] = modes;
  if (other !== undefined && mode === "check")
    throw new InputError("usage", `--${other}: says nothing beside --check`);
  // What is counted is timed as well.
  return { name, mode: other ?? mode };
}

function refuseWithoutLadder(argv: BenchArguments): void {
  for (const name of ["torch", "plot"] as const)
    if (argv[name] !== undefined && argv.ladder === undefined)
      throw new InputError("usage", `--${name}: says nothing without --ladder`);
  if (argv.python !== undefined && argv.torch !== true)
    throw new InputError("usage", "--python: says nothing without --torch");
}

export function readCommon(argv: CommonArguments): CommonFlags {
  const one = (name: Exclude<keyof CommonArguments, "dim" | "color" | "autotune">) =>
    single(argv[name], `--${name}`);
  return {
    dims: parseDims(argv.dim ?? []),
    device: mapped(one("device"), (value) => parseCount(value, "--device")) ?? 0,
    repeats: mapped(one("repeats"), (value) => parseCount(value, "--repeats", 1, mostRuns)),
    warmup: mapped(one("warmup"), (value) => parseCount(value, "--warmup", 0, mostRuns)),
    autotuneSeconds: autotuneSecondsOf(argv),
    timeoutSeconds: mapped(one("timeout"), (value) => parsePositive(value, "--timeout")),
    memoryBytes: mapped(one("memory-gb"), parseMemory),
    format: parseChoice(one("format") ?? "text", "--format", runFormatNames),
    output: one("output"),
    color: argv.color,
  };
}

const defaultAutotuneSeconds = 60;

function autotuneSecondsOf(argv: CommonArguments): number | undefined {
  const given = single(argv["autotune-seconds"], "--autotune-seconds");
  const seconds = mapped(given, (value) => parsePositive(value, "--autotune-seconds"));
  if (argv.autotune === true) return seconds ?? defaultAutotuneSeconds;
  if (seconds !== undefined)
    throw new InputError("usage", "--autotune-seconds: says nothing without --autotune");
  return undefined;
}

export function parsePrecision(value: string): Precision {
  const chosen = parseChoice(value, "--precision", runPrecisions);
  // What lint calls the types of the file itself.
  return chosen === "as-is" ? "model" : chosen;
}
