/** @file The flags of `--fix`: what yargs is told, and what it gives back, checked. */
import type { InferredOptionTypes } from "yargs";
import type { FixChoice } from "../api/fix-settings.ts";
import { InputError } from "../ir/errors.ts";
import type { BatchChoice } from "../passes/batch/batch.ts";
import { parseCount } from "../settings/values.ts";
import { mapped, single } from "./arguments.ts";

const group = "Fix:";
const flag = (describe: string) => ({ type: "boolean", group, describe }) as const;

export const fixOptions = {
  fix: flag(
    "Repair what safe fixes repair: fold constants and normalizations, join written-out GELU, pad to aligned sizes",
  ),
  "unsafe-fixes": flag(
    "Also half precision, and channels_last where the file decides the layout (not on ort-cuda); --precision fp16 or bf16, and --layout nhwc, ask for one of them",
  ),
  layout: {
    type: "string",
    group,
    choices: ["nhwc"] as const,
    describe:
      "With --fix: keep activations channels_last, also where --unsafe-fixes would not because it is predicted to be slower, or ort-cuda runs NCHW all the same",
  },
  batch: {
    type: "string",
    requiresArg: true,
    group,
    describe:
      'With --fix: another batch than the one that the file fixes: a number, or "dynamic" for a symbol that the caller binds',
  },
  samples: {
    type: "string",
    requiresArg: true,
    group,
    describe:
      "With half precision: sample inputs that value ranges are observed on, a .npz file or a folder of them",
  },
  "half-io": flag("With half precision: inputs and outputs become half too"),
  "nhwc-io": flag("With channels_last: inputs and outputs become NHWC too"),
  target: {
    type: "string",
    group,
    choices: ["portable", "ort-cuda"] as const,
    describe:
      "With channels_last: local functions that every runtime can run (default), or com.microsoft::NhwcConv for ONNX Runtime with CUDA, which nothing here can run: with --no-verify or --diff only",
  },
  diff: flag("Show what --fix would change, write nothing; exit 1 where something would"),
  prove: flag(
    "With --fix or --diff, on a machine with a GPU: measure every change with tc-lint's own kernels, and keep those that gain",
  ),
  device: {
    type: "string",
    requiresArg: true,
    group,
    describe: "With --prove: which GPU, as CUDA numbers them (default 0)",
  },
  "fix-output": {
    type: "string",
    requiresArg: true,
    group,
    describe: "As --fix, with the repaired model written here and the original left as it is; one model only",
  },
  "fix-only": flag("Repair, and do not report what remains"),
  "exit-non-zero-on-fix": flag("Exit with 1 where something was repaired"),
  verify: {
    ...flag("Compare the result with the original before it is put in place; --no-verify does not"),
    default: true,
  },
} as const;

export interface FixFlags extends FixChoice {
  readonly dryRun: boolean;
  /** A .npz file, or a folder of them. */
  readonly samples: string | undefined;
  readonly output: string | undefined;
  readonly only: boolean;
  readonly exitNonZero: boolean;
  readonly verify: boolean;
  /** Of the GPU that changes are measured on; undefined where none are. */
  readonly proveOn: number | undefined;
}

type FixArguments = Partial<InferredOptionTypes<typeof fixOptions>>;

/** The largest that ONNX Runtime and CUDA count to. */
const mostSamples = 2 ** 31 - 1;

function parseBatch(value: string): BatchChoice {
  return value === "dynamic" ? value : parseCount(value, "--batch", 1, mostSamples, "dynamic, or ");
}

/** Undefined where no fix is asked for; `precision` is what the flag says. Throws InputError `usage` for flags that say nothing without one. */
export function readFixFlags(argv: FixArguments, precision: string | undefined): FixFlags | undefined {
  const asked = [argv.fix, argv.diff, argv["fix-only"], argv["fix-output"] !== undefined].includes(true);
  const dependent = [
    "unsafe-fixes",
    "layout",
    "batch",
    "samples",
    "half-io",
    "nhwc-io",
    "target",
    "exit-non-zero-on-fix",
    "prove",
    "device",
  ] as const;
  if (!asked) {
    const stray = dependent.find((name) => argv[name] !== undefined && argv[name] !== false);
    if (stray !== undefined)
      throw new InputError("usage", `--${stray}: says nothing without --fix or --diff`);
    return undefined;
  }
  const unsafe = argv["unsafe-fixes"] ?? false;
  const named = precision === "fp16" || precision === "bf16" ? precision : undefined;
  // Who names another is not given halves instead.
  const half = named ?? (unsafe && precision === undefined ? "fp16" : undefined);
  const isLaidOut = argv.layout === "nhwc" || unsafe;
  checkDependent(argv, isLaidOut, half !== undefined);
  if (argv.target === "ort-cuda" && argv.verify !== false && argv.diff !== true) {
    throw new InputError(
      "usage",
      "--target ort-cuda: ONNX Runtime has com.microsoft::NhwcConv for CUDA alone, so the result cannot be compared on the CPU; add --no-verify to write it unverified (the same with --target portable is verified)",
    );
  }
  const batch = mapped(single(argv.batch, "--batch"), parseBatch);
  const changesPorts = (["half-io", "nhwc-io"] as const).find((name) => argv[name] === true);
  if (batch !== undefined && changesPorts !== undefined) {
    throw new InputError(
      "usage",
      `--batch: not together with --${changesPorts}, which changes the same inputs and outputs: give the model its batch first`,
    );
  }
  return {
    batch,
    dryRun: argv.diff ?? false,
    half,
    halfOnlyWhereFaster: named === undefined,
    nhwc: isLaidOut,
    nhwcOnlyWhereFaster: argv.layout !== "nhwc",
    halfIo: argv["half-io"] ?? false,
    samples: single(argv.samples, "--samples"),
    nhwcIo: argv["nhwc-io"] ?? false,
    nhwcForm: argv.target ?? "portable",
    output: single(argv["fix-output"], "--fix-output"),
    only: argv["fix-only"] ?? false,
    exitNonZero: argv["exit-non-zero-on-fix"] ?? false,
    verify: argv.verify ?? true,
    proveOn: deviceOf(argv),
  };
}

/** What is said of another layout or of half, where a fix makes neither. Throws InputError `usage`. */
function checkDependent(argv: FixArguments, isLaidOut: boolean, isHalved: boolean): void {
  const layout = { isThere: isLaidOut, what: "--layout nhwc" };
  const half = { isThere: isHalved, what: "half precision, such as --precision fp16" };
  const dependent = { "nhwc-io": layout, target: layout, samples: half, "half-io": half } as const;
  for (const [name, { isThere, what }] of Object.entries(dependent)) {
    const value = argv[name as keyof typeof dependent];
    if (!isThere && value !== undefined && value !== false)
      throw new InputError("usage", `--${name}: says nothing without ${what}`);
  }
}

/** Throws InputError `usage`. */
function deviceOf({ prove, device }: FixArguments): number | undefined {
  if (device !== undefined && prove !== true)
    throw new InputError("usage", "--device: says nothing without --prove");
  if (prove !== true) return undefined;
  const own = single(device, "--device");
  return own === undefined ? 0 : parseCount(own, "--device");
}
