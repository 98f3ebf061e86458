/** @file A model's account in the terminal: what it takes as exported, and after each step that could be taken. */

import { type Changed, fixFlags, halfOf, isHalf } from "../ir/fix-command.ts";
import { duration, durationRange, percent } from "../ir/format.ts";
import type { AccountStep, AccountStepName, WrittenSaving } from "../lint/result.ts";
import { changedBy, lacksCasts } from "./fix-flags.ts";
import { givenFor, mayStoreHalf, type RepairFlags } from "./repair-text.ts";
import { alignColumns } from "./table.ts";

const precisionNames = {
  "as-is": "as stored",
  fp16: "FP16",
  bf16: "BF16",
  tf32: "TF32",
  int8: "INT8",
  fp32: "FP32",
} as const satisfies Record<AccountStep["precision"], string>;

const setting = "a setting of the stack";

const flagsOf = (changed: Changed, half?: "fp16" | "bf16") => fixFlags("unsafe", changed, half).join(" ");

/**
 * A step to half precision; what else writing it takes is a step of its own where it is known. Whoever may save nothing by it is told what knows, and
 * nobody is told to take a step that costs.
 */
function toHalf(
  { saves, command, unsure, unwritten }: AccountStep,
  half: "fp16" | "bf16",
  account: readonly AccountStep[],
): string {
  if (unwritten === true) return `no fix stores the file in ${precisionNames[half]}`;
  const isSure = saves !== null && saves.low > 0;
  if (isSure && unsure === true) return "without Casts: with them the file may save nothing";
  if (!lacksCasts(account)) return command ?? "";
  return command === undefined
    ? `without Casts: --diff --precision ${half} has them`
    : `${command}, without Casts`;
}

/** `--fix --precision fp16, from the file's 279 µs: saves 90.6 µs (30.9 to 144 µs)`: what the file in half takes less than the one that the user has. */
function writtenText(
  { written, precision, command }: AccountStep,
  account: readonly AccountStep[],
  of: AccountOf,
): string {
  if (written === undefined) return "";
  const changed = account.some(({ step }) => step === "layout") ? changedBy("layout", account) : "precision";
  const how = of !== "model" ? "as written" : (command ?? flagsOf(changed, halfOf(precision)));
  return `${how}, from the file's ${duration(written.after + written.microseconds)}: ${claimOf(written)}`;
}

/** Whose account it is: what lint says could be done, or what a repair did, which these flags ask for. */
export type AccountOf = "model" | RepairFlags;

function writtenTimes({ microseconds, after }: WrittenSaving): string {
  return `${duration(after + microseconds)} → ${duration(after)}`;
}

/**
 * `249 µs → 249 µs`: what safe fixes make of the file as it is stored. Undefined where what they save of that is within the interval of what
 * they are said to save.
 */
export function storedTimes(account: readonly AccountStep[]): string | undefined {
  const { written, saves, needsHalf } = account.find(({ step }) => step === "safe") ?? {};
  if (written === undefined || !saves || needsHalf === true) return undefined;
  const isWithin = written.microseconds >= saves.low && written.microseconds <= saves.high;
  return isWithin ? undefined : writtenTimes(written);
}

/** Why `--fix` alone leaves what pays in half. */
function asStored({ written }: { readonly written?: WrittenSaving | undefined }): string {
  return `${written !== undefined && written.low > 0 ? "too little" : "not sure"} as stored`;
}

function safeFlags(step: AccountStep, account: readonly AccountStep[]): string {
  const { needsHalf, precision, written, command, unsure } = step;
  if (unsure === true) return `in ${precisionNames[precision]} alone: the file may save nothing`;
  if (needsHalf === true) {
    const flags = command ?? flagsOf("precision", halfOf(precision));
    return `${flags}, ${asStored({ written })}`;
  }
  const times = storedTimes(account);
  return times === undefined ? "--fix" : `--fix; as stored ${times}`;
}

/** Whoever has quantized a model is not told to: what is left is a matter of what runs it. */
const toCodes = {
  none: "once somebody has quantized it",
  some: "once somebody has quantized the rest",
  all: "its products are of codes as it is",
  "as-floats": "where its codes are multiplied (TC205)",
} as const satisfies Record<NonNullable<AccountStep["quantized"]> | "none", string>;

/** No fix quantizes; TF32 is no type of a file. */
const waysTo: Readonly<
  Record<AccountStep["precision"], (step: AccountStep, account: readonly AccountStep[]) => string>
> = {
  "as-is": () => "",
  fp16: (step, account) => toHalf(step, "fp16", account),
  bf16: (step, account) => toHalf(step, "bf16", account),
  tf32: () => setting,
  fp32: () => setting,
  int8: ({ quantized }) => toCodes[quantized ?? "none"],
};

/** What a step is called, and the command that takes it. */
const names: Readonly<
  Record<
    AccountStepName,
    (step: AccountStep, account: readonly AccountStep[], of: AccountOf) => readonly [string, string]
  >
> = {
  exported: () => ["as exported", ""],
  precision: (step, account) => [
    `in ${precisionNames[step.precision]}`,
    waysTo[step.precision](step, account),
  ],
  safe: (step, account) => ["safe fixes", safeFlags(step, account)],
  half: (step, account) => [
    `in ${precisionNames[step.precision]}`,
    toHalf(step, halfOf(step.precision), account),
  ],
  kept: (step, account, of) => ["FP32 kept, Casts", writtenText(step, account, of)],
  layout: (step, account) => ["layout", layoutFlags(step, account)],
  author: () => ["by its author", "in the network or its export"],
};

/** What may save nothing is done where it is asked for by name; nobody is told to do what costs. */
function layoutFlags(step: AccountStep, account: readonly AccountStep[]): string {
  const { saves, precision, command, written } = step;
  if (saves !== null && saves.low <= 0) return saves.microseconds > 0 ? "--fix --layout nhwc" : "";
  const flags = command ?? flagsOf(changedBy("layout", account), halfOf(precision));
  return written === undefined ? flags : `${flags}; as stored ${writtenTimes(written)}`;
}

/** ` (as stored 236 µs → 202 µs)`: what a finding's command makes of a file that it leaves in FP32, whose layout is told in half. */
export function storedLayout(
  { step }: { readonly step: AccountStepName | null },
  account: readonly AccountStep[],
): string {
  const written = step === "layout" ? account.find((each) => each.step === step)?.written : undefined;
  return written === undefined ? "" : ` (as stored ${writtenTimes(written)})`;
}

/** What the file takes as it is stored, where that is less than in the precision of the prediction; else undefined. */
export function fasterAsStored(account: readonly AccountStep[]): string | undefined {
  const costs = (account.find(({ step }) => step === "precision")?.saves?.microseconds ?? 0) < 0;
  const exported = account.find(({ step }) => step === "exported");
  return costs && exported !== undefined ? duration(exported.microseconds) : undefined;
}

/** A step's name, where it leaves the model, what that saves, and how it is taken. */
export function accountCells(
  step: AccountStep,
  account: readonly AccountStep[],
  of: AccountOf = "model",
): [string, string, string, string] {
  const [name, how] = names[step.step](step, account, of);
  const way = of === "model" ? how : takenBy(step, how, of);
  return [name, duration(step.microseconds), savingOf(step, account), way];
}

/** A repair's step by the command that was given; `how` is what is said of one that nobody took. */
function takenBy(step: AccountStep, how: string, flags: RepairFlags): string {
  const given = givenFor(step, flags);
  if (given !== undefined)
    return step.needsHalf === true && step.step === "safe" ? `${given}, ${asStored(step)}` : given;
  const { saves, precision } = step;
  // Casts are no step of a file that keeps its types.
  const isLeft = step.step === "precision" && !mayStoreHalf(flags);
  return isLeft && isHalf(precision) && (saves?.low ?? 0) > 0 ? flagsOf("precision", precision) : how;
}

/** One line a step, as columns; none where there is but one. */
export function accountLines(account: readonly AccountStep[], of: AccountOf = "model"): string[] {
  if (account.length < 2) return [];
  const rows = account.map((step) => accountCells(step, account, of));
  return alignColumns(rows, ["left", "right", "left", "left"]).map((line) => line.trimEnd());
}

/**
 * What a step saves, a part of the predicted time, as findings' shares are; of a step to another precision a part of the time before it. Undefined
 * where it saves nothing of anything.
 */
export function shareOf(
  { step, saves, microseconds }: AccountStep,
  account: readonly AccountStep[],
): number | undefined {
  if (saves === null) return undefined;
  const predicted = account.find((each) => each.step === "precision") ?? account[0];
  const isPrecision = step === "precision" || step === "half";
  const whole = isPrecision ? microseconds + saves.microseconds : (predicted?.microseconds ?? 0);
  return whole > 0 ? saves.microseconds / whole : undefined;
}

/** `saves 268 µs, 25 % (126 to 479 µs)`. */
function savingOf(step: AccountStep, account: readonly AccountStep[]): string {
  const { saves, measured: isMeasured, unsure } = step;
  if (saves === null) {
    const [first] = account;
    if (first?.measured === true) return "(measured)";
    return first === undefined ? "" : `(${durationRange(first.low, first.high)})`;
  }
  const part = shareOf(step, account);
  const share = part === undefined ? "" : `, ${percent(Math.abs(part))}`;
  return `${claimOf(saves, share, unsure)}${isMeasured === true ? "; measured" : ""}`;
}

/** Changes that cancel each other, but for what adding them up leaves. */
const nothing = 5e-4;

/** `may cost 29.3 µs, 14 % (-6.24 to 84.1 µs)`. */
function claimOf({ microseconds, low, high }: Saved, share = "", unsure = false): string {
  if (Math.abs(microseconds) < nothing && low < 0 && high > 0)
    return `takes as long (${durationRange(low, high)})`;
  const isCost = microseconds < 0;
  const [least, most] = isCost ? [-high, -low] : [low, high];
  const claim = isCost ? "costs" : "saves";
  const isSure = least > 0 && !unsure;
  const verb = isSure || microseconds === 0 ? claim : isCost ? "may cost" : "may save";
  return `${verb} ${duration(Math.abs(microseconds))}${share} (${durationRange(least, most)})`;
}

type Saved = NonNullable<AccountStep["saves"]>;
