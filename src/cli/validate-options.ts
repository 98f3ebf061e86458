/** @file Flags of `tc-lint validate`. */
import type { InferredOptionTypes } from "yargs";
import type { Precision } from "../../cuda-runtime/plan/precision.ts";
import { InputError } from "../ir/errors.ts";
import { parseCount } from "../settings/values.ts";
import { mapped, single } from "./arguments.ts";
import { type CommonFlags, common, parsePrecision, readCommon, runPrecisions, text } from "./gpu-options.ts";

export const validateOptions = {
  ...common,
  against: text(
    "Models:",
    "The model as it was: the reference, and the time before (default: the model itself)",
  ),
  precision: text(
    "Models:",
    `What to run it in: ${runPrecisions.join(", ")} (default fp16, or as it is stored where that is half)`,
  ),
  inputs: text("Inputs:", "NumPy archive (.npz) of inputs by name, instead of drawn ones"),
  batch: text("Inputs:", "Size of every axis that holds the batch; short for --dim"),
  seeds: text("Inputs:", "Draws of normal inputs, beside negative and zero ones (default 1)"),
  decode: text(
    "Decoding:",
    "Tokens that a decoder with caches says behind a prompt, each as ONNX Runtime says it",
  ),
  prompt: text("Decoding:", "With --decode, tokens of the drawn prompt (default 32)"),
  layers: {
    type: "boolean",
    group: "Report:",
    describe: "Look for the first value inside the model that is off",
  },
} as const;

/** Each draw is a run of the model on the CPU. */
export const mostDraws = 1000;
const mostSamples = 2 ** 31 - 1;
/** Of a prompt, and behind it: each is a run of the model on the CPU. */
const mostTokens = 100_000;

export interface ValidateFlags extends CommonFlags {
  readonly against: string | undefined;
  /** Undefined: as it is stored, where that is half; else FP16. */
  readonly precision: Precision | undefined;
  readonly inputs: string | undefined;
  readonly batch: number | undefined;
  readonly seeds: number;
  readonly layers: boolean;
  /** Tokens to decode; undefined: outputs of single runs are compared. */
  readonly decode: number | undefined;
  readonly prompt: number;
}

/** Throws InputError `usage` naming the flag, what was found and what was expected. */
export function readValidateFlags(argv: Partial<InferredOptionTypes<typeof validateOptions>>): ValidateFlags {
  const one = (name: "against" | "inputs" | "batch" | "seeds" | "precision" | "decode" | "prompt") =>
    single(argv[name], `--${name}`);
  refuseBesideDecode(argv);
  return {
    ...readCommon(argv),
    against: one("against"),
    precision: mapped(one("precision"), parsePrecision),
    inputs: one("inputs"),
    batch: mapped(one("batch"), (value) => parseCount(value, "--batch", 1, mostSamples)),
    seeds: mapped(one("seeds"), (value) => parseCount(value, "--seeds", 1, mostDraws)) ?? 1,
    layers: argv.layers ?? false,
    decode: mapped(one("decode"), (value) => parseCount(value, "--decode", 2, mostTokens)),
    prompt: mapped(one("prompt"), (value) => parseCount(value, "--prompt", 1, mostTokens)) ?? 32,
  };
}

/** Decoding has sizes and inputs of its own. */
function refuseBesideDecode(argv: Partial<InferredOptionTypes<typeof validateOptions>>): void {
  const needs = "says nothing without --decode";
  if (argv.decode === undefined && argv.prompt !== undefined)
    throw new InputError("usage", `--prompt: ${needs}`);
  if (argv.decode === undefined) return;
  const others = (["against", "batch", "seeds", "layers", "dim", "autotune"] as const).filter(
    (name) => argv[name] !== undefined,
  );
  const [other] = others;
  if (other !== undefined) throw new InputError("usage", `--${other}: says nothing beside --decode`);
}
