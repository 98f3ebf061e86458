/** @file The flags of `tc-lint verify`: what yargs is told, and what it gives back, checked. */
import type { InferredOptionTypes } from "yargs";
import { InputError } from "../ir/errors.ts";
import { type RunFormat, runFormatNames } from "../report/registry.ts";
import { parseChoice, parseCount, parsePositive, parseSizes } from "../settings/values.ts";
import { type Budget, budgetFor } from "../verify/budget.ts";
import { mapped, parseMemory, single } from "./arguments.ts";
import { mostDraws } from "./validate-options.ts";

const text = (group: string, describe: string) =>
  ({ type: "string", requiresArg: true, group, describe }) as const;

const halfNames = ["fp16", "bf16"] as const;

export const verifyOptions = {
  inputs: text("Inputs:", "NumPy archive (.npz) of inputs by name, instead of drawn ones"),
  seeds: text("Inputs:", "Draws of normal inputs, beside large, negative and zero ones (default 2)"),
  dim: {
    ...text(
      "Inputs:",
      "Sizes of a symbolic dimension, such as batch=1,32; repeatable (default: two that run)",
    ),
    array: true,
  },
  tolerance: text("Budget:", "Largest error, as a share of an output's largest value (default 1e-5)"),
  half: text(
    "Budget:",
    `The second model is in half precision (${halfNames.join(", ")}): allow a multiple of what rounding weights and inputs costs (default: where most of its weights are in it, and those of the first are not)`,
  ),
  timeout: text("Limits:", "Stop after this many seconds (default 600)"),
  "memory-gb": text("Limits:", "Stop beyond this much memory (default: three quarters of the machine's)"),
  threads: text("Limits:", "Threads of ONNX Runtime (default: its own choice)"),
  format: { ...text("Report:", `${runFormatNames.join(" or ")} (default text)`), alias: "f" },
  output: { ...text("Report:", "File of the report (default: stdout)"), alias: "o" },
  "save-inputs": text("Report:", "Write the inputs on which the models differ here, as .npz"),
  color: { type: "boolean", group: "Report:", describe: "Colour or not (--no-color)" },
} as const;

export interface VerifyFlags {
  readonly inputs: string | undefined;
  readonly seeds: number | undefined;
  readonly sizes: Readonly<Record<string, readonly number[]>>;
  /** Undefined leaves it to what the models are. */
  readonly budget: Budget | undefined;
  readonly timeoutSeconds: number | undefined;
  readonly memoryBytes: number | undefined;
  readonly threads: number | undefined;
  readonly format: RunFormat;
  readonly output: string | undefined;
  readonly saveInputs: string | undefined;
  readonly color: boolean | undefined;
}

type VerifyArguments = Partial<InferredOptionTypes<typeof verifyOptions>>;

/** Throws InputError `usage` naming the flag, what was found and what was expected. */
export function readVerifyFlags(argv: VerifyArguments): VerifyFlags {
  const one = (name: keyof VerifyArguments) => single(argv[name], `--${name}`);
  return {
    inputs: one("inputs"),
    seeds: mapped(one("seeds"), (value) => parseCount(value, "--seeds", 1, mostDraws)),
    sizes: parseSizes(argv.dim ?? []),
    budget: readBudget(one("tolerance"), one("half")),
    timeoutSeconds: mapped(one("timeout"), (value) => parsePositive(value, "--timeout")),
    memoryBytes: mapped(one("memory-gb"), parseMemory),
    threads: mapped(one("threads"), (value) => parseCount(value, "--threads", 1, 4096)),
    format: parseChoice(one("format") ?? "text", "--format", runFormatNames),
    output: one("output"),
    saveInputs: one("save-inputs"),
    color: argv.color,
  };
}

function readBudget(tolerance: string | undefined, half: string | undefined): Budget | undefined {
  if (tolerance !== undefined && half !== undefined) {
    throw new InputError(
      "usage",
      "--tolerance: says nothing with --half, whose budget follows from the model",
    );
  }
  if (tolerance === undefined && half === undefined) return undefined;
  return budgetFor({
    half: mapped(half, (value) => parseChoice(value, "--half", halfNames)),
    tolerance: mapped(tolerance, (value) => parsePositive(value, "--tolerance")),
  });
}
