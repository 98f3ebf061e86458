/** @file A model's account in the terminal: what it takes as exported, and after each step that could be taken. */

import { asksForMore, asStoredNotice } from "../ir/fix-command.ts";
import {
  duration,
  durationRange,
  isEither,
  noInterval,
  percent,
  readsAsNothing,
  savingRange,
} from "../ir/format.ts";
import { belowThreshold, unreachedHalf } from "../ir/unreached-half.ts";
import type { AccountStep, AccountStepName, ModelReport, WrittenSaving } from "../lint/result.ts";

const precisionNames = {
  "as-is": "as stored",
  fp16: "FP16",
  bf16: "BF16",
  tf32: "TF32",
  int8: "INT8",
  fp32: "FP32",
} as const satisfies Record<AccountStep["precision"], string>;

/** What a model is predicted in: the precision that was asked for, or what the file stores where no fix brings it to that. */
export function predictedIn({ target, notices }: Pick<ModelReport, "target" | "notices">): string {
  return notices.some(({ code }) => code === asStoredNotice) ? precisionNames["as-is"] : target.precision;
}

const setting = "a setting of the stack";

/**
 * A step to half precision; what else writing it takes is a step of its own where it is known, and else told by a command that knows. No command is said
 * that the step does not have.
 */
function toHalf(step: AccountStep, account: readonly AccountStep[]): string {
  const { saves, precision, command, unsure, unwritten, castsIn } = step;
  if (unwritten === true) return `no fix stores the file in ${precisionNames[precision]}`;
  const isSure = saves !== null && saves.low > 0;
  if (isSure && unsure === true && command === undefined)
    return `without Casts: with them the file ${unsureText(account)}`;
  if (command === undefined) return castsIn === undefined ? "" : `without Casts: ${castsIn} has them`;
  return `${command}${castsIn === undefined ? "" : ", without Casts"}${mayBeNothing(step, account)}${sureWith(step, account)}`;
}

function sureWith(step: AccountStep, account: readonly AccountStep[]): string {
  return sureTogether(step, account) === undefined ? "" : ", sure with what follows";
}

/** The command of a step that may cost by itself, where the file that it writes is sure to gain. */
export function sureTogether(
  { saves, command }: Pick<AccountStep, "saves" | "command">,
  account: readonly AccountStep[],
): string | undefined {
  const kept = account.find(({ step }) => step === "kept");
  const isSure = kept?.command === command && (kept?.written?.low ?? 0) > 0;
  return isSure && saves !== null && saves.low <= 0 ? command : undefined;
}

/** Why what is clear of 0 by itself is not claimed. */
function mayBeNothing(
  { saves, unsure }: Pick<AccountStep, "saves" | "unsure">,
  account: readonly AccountStep[],
): string {
  return unsure === true && saves !== null && saves.low > 0 ? `; the file ${unsureText(account)}` : "";
}

/** What is said of a file in half whose command nobody is told. */
function unsureText(account: readonly AccountStep[]): string {
  const below = belowThreshold(account);
  return below === undefined ? "may save nothing" : `saves less than ${below}`;
}

/** `--fix --precision fp16: 279 µs → 195 µs (saves 27.5 to 137 µs)`: of the file that the user has, what the one in half takes. */
function writtenText({ written, command }: AccountStep): string {
  if (written === undefined) return command ?? "";
  const { verb, range } = claimParts({ ...written, of: written.after + written.microseconds });
  const isSaid = range !== undefined && isEither(written) && range !== noInterval;
  const claim = isSaid
    ? range
    : range === undefined
      ? verb
      : `${verb}${range === noInterval ? ";" : ""} ${range}`;
  return `${command ?? "as written"}: ${writtenTimes(written)} (${claim})`;
}

function writtenTimes({ microseconds, after }: WrittenSaving): string {
  return `${duration(after + microseconds)} → ${duration(after)}`;
}

/** `249 µs → 249 µs`: what safe fixes make of the file as it is stored. */
export function storedTimes(account: readonly AccountStep[]): string | undefined {
  const safe = account.find(({ step }) => step === "safe");
  return safe === undefined || safe.needsHalf === true ? undefined : otherTimes(safe);
}

/** Of the file that a step's command writes, where that is stored in other types than the step is told in; undefined where both read the same. */
function otherTimes({ written, saves, microseconds: after }: AccountStep): string | undefined {
  if (written === undefined || saves === null) return undefined;
  const times = writtenTimes(written);
  return times === writtenTimes({ ...saves, after }) ? undefined : times;
}

/** Why `--fix` alone leaves what pays in half. */
function asStored({ written }: { readonly written?: WrittenSaving | undefined }): string {
  return `${written !== undefined && written.low > 0 ? "too little" : "not sure"} as stored`;
}

function safeWay(step: AccountStep, account: readonly AccountStep[]): string {
  const { needsHalf, alone, precision, command, unsure } = step;
  if (command === undefined)
    return unsure === true ? `in ${precisionNames[precision]} alone: the file ${unsureText(account)}` : "";
  if (needsHalf === true)
    return `${command}${alone === undefined ? `, ${asStored(step)}` : `; --fix alone ${writtenTimes(alone)}`}${mayBeNothing(step, account)}`;
  // Of a repair that stores no half: lint tells of the same step in what the target computes in.
  // In lint, of one that stores half because a flag beside it does.
  if (asksForMore(command)) return precision === "as-is" ? `${command}, as stored` : command;
  const times = storedTimes(account);
  return times === undefined ? command : `${command}; as stored ${times}`;
}

/** Whoever has quantized a model is not told to: what is left is a matter of what runs it. */
const toCodes = {
  none: "once somebody has quantized it",
  some: "once somebody has quantized the rest",
  "as-floats": "where its codes are multiplied (TC205)",
} as const satisfies Record<NonNullable<AccountStep["quantized"]> | "none", string>;

/** How a step is taken. */
type Way = (step: AccountStep, account: readonly AccountStep[]) => string;

/** No fix quantizes; TF32 is no type of a file. */
const waysTo: Readonly<Record<AccountStep["precision"], Way>> = {
  "as-is": () => "",
  fp16: toHalf,
  bf16: toHalf,
  tf32: () => setting,
  fp32: () => setting,
  int8: ({ quantized }) => toCodes[quantized ?? "none"],
};

/** What a step is called, and the command that takes it. */
const names: Readonly<
  Record<
    AccountStepName,
    (step: AccountStep, account: readonly AccountStep[], isBrief: boolean) => readonly [string, string]
  >
> = {
  exported: () => ["as exported", ""],
  precision: (step, account) => [
    `in ${precisionNames[step.precision]}`,
    waysTo[step.precision](step, account),
  ],
  safe: (step, account) => ["safe fixes", safeWay(step, account)],
  half: (step, account) => [`in ${precisionNames[step.precision]}`, toHalf(step, account)],
  kept: (step) => [
    (step.saves?.microseconds ?? 0) > 0 ? "as written" : "FP32 kept, Casts",
    writtenText(step),
  ],
  layout: (step, _, isBrief) => [
    step.setting === undefined ? "layout" : `with ${step.setting.option}`,
    layoutWay(step, isBrief),
  ],
  author: (step, _, isBrief) => ["by its author", authorWay(step, isBrief)],
};

/** As short as a row is wide where it says what the file is told to be, and what of it as it is. */
function authorWay(step: AccountStep, isBrief: boolean): string {
  const { written, restsOn } = step;
  const where = isBrief ? "in network or export" : "in the network or its export";
  if (written === undefined || restsOn === undefined) return `${where}${ifInHalf(step)}`;
  return `if in ${precisionNames[restsOn]}; as stored ${writtenTimes(written)}`;
}

/** What is told of a file in half that no command is sure to gain by. */
function ifInHalf({ restsOn }: AccountStep): string {
  return restsOn === undefined ? "" : `, if in ${precisionNames[restsOn]}`;
}

/** Where the command stores half, and what its Casts take is not known: the file takes more than the row says. */
function layoutWay(step: AccountStep, isBrief: boolean): string {
  const { command = "", castsIn, setting: of } = step;
  const set = isBrief ? "set it, lint with" : "set it, and lint with";
  const way = `${of === undefined ? command : `${set} --stack ${of.stack}`}${ifInHalf(step)}`;
  const times = otherTimes(step);
  if (times !== undefined) return `${way}; as stored ${times}`;
  return step.restsOn !== undefined || castsIn === undefined || command === ""
    ? way
    : `${way}, without Casts`;
}

/** ` (as stored 236 µs → 202 µs)`: what a finding's command makes of a file that it leaves in FP32, of which half is told. */
export function storedEnd(
  { step }: { readonly step: AccountStepName | null },
  account: readonly AccountStep[],
): string {
  const layout = step === "layout" ? account.find((each) => each.step === step) : undefined;
  const safeTimes = step === "safe" ? storedTimes(account) : undefined;
  const times = layout === undefined ? safeTimes : otherTimes(layout);
  return times === undefined ? "" : ` (as stored ${times})`;
}

/** What the file takes as it is stored, where that is less than in the precision of the prediction; else undefined. */
export function fasterAsStored(account: readonly AccountStep[]): string | undefined {
  const costs = (account.find(({ step }) => step === "precision")?.saves?.microseconds ?? 0) < 0;
  const exported = account.find(({ step }) => step === "exported");
  return costs && exported !== undefined ? duration(exported.microseconds) : undefined;
}

/** A step's name where its way is not said: what safe fixes save in half is not what `--fix` alone makes of the file. */
export function nameBeside(step: AccountStep, account: readonly AccountStep[]): string {
  const [name] = names[step.step](step, account, true);
  const isOfFile = step.step !== "safe" || (step.needsHalf !== true && storedTimes(account) === undefined);
  return isOfFile ? name : `${name} in ${precisionNames[step.precision]}`;
}

/** A step's name, where it leaves the model, what that saves, and how it is taken; without intervals where `isBrief`, without shares of other rows where `isTight`. */
export function accountCells(
  step: AccountStep,
  account: readonly AccountStep[],
  isBrief = false,
  isTight = isBrief,
): [string, string, string, string] {
  const [name, own] = names[step.step](step, account, isBrief);
  const file = toldBefore(account);
  const isRowOfFile = file !== undefined && account[account.indexOf(file) - 1] === step;
  const way = isRowOfFile ? withFile(own, step, file) : own;
  return [name, duration(step.microseconds), savingOf(step, account, { isBrief, isTight }), way];
}

/** The steps that are rows: what writing half takes is none where the time reads the same, and its command is told in the row before. */
export function rowsOf(account: readonly AccountStep[]): readonly AccountStep[] {
  const file = toldBefore(account);
  return account.filter((step) => step !== file);
}

/** The file in half, where its time reads as that of the step before, in whose row it is told. */
function toldBefore(account: readonly AccountStep[]): AccountStep | undefined {
  const at = account.findIndex(({ step }) => step === "kept");
  const [before, kept] = [account[at - 1], account[at]];
  const isTold =
    before !== undefined &&
    kept !== undefined &&
    duration(before.microseconds) === duration(kept.microseconds);
  return isTold ? kept : undefined;
}

/** The way to a step, with what the file takes that comes of it. */
function withFile(way: string, { step }: AccountStep, file: AccountStep): string {
  const isOfFile = way === "" || way === file.command || step === "precision" || step === "half";
  if (isOfFile) return writtenText(file);
  // Its command stands in the row already.
  const { command, ...rest } = file;
  const isNamed = command !== undefined && way.includes(command);
  return `${way}; ${writtenText(isNamed ? rest : file)}`;
}

/**
 * `no command is sure to gain by FP16, in which rows and findings are told: --fix makes 198 µs of the file as stored (205 µs)`: of a file that nobody is told
 * to store in it.
 */
export function unreachedText(account: readonly AccountStep[]): string | undefined {
  const half = unreachedHalf(account);
  const [exported] = account;
  if (half === undefined || exported === undefined || account.some(({ unwritten }) => unwritten === true))
    return undefined;
  const { command, written } = account.find(({ step }) => step === "safe") ?? {};
  const before = duration(exported.microseconds);
  const ends =
    command === undefined || written === undefined
      ? `as stored the file takes ${before}`
      : `${command} makes ${duration(written.after)} of the file as stored (${before})`;
  const below = belowThreshold(account);
  const gain = below === undefined ? "is sure to gain" : `gains ${below}`;
  return `no command ${gain} by ${precisionNames[half]}, in which rows and findings are told: ${ends}`;
}

/**
 * `take --fix --precision fp16 at once: ends at 167 µs; --fix first, and --unsafe-fixes behind it, at 207 µs`: where one command does better than two. `isFixed`: of a file
 * that was repaired.
 */
export function takenFirstText(account: readonly AccountStep[], isFixed = false): string | undefined {
  const first = account.find(({ step }) => step === "safe")?.first;
  if (first === undefined) return undefined;
  const { command, after, afterFix } = first;
  return isFixed
    ? `${command} would have made ${duration(after)} of the file before; --unsafe-fixes makes ${duration(afterFix)} of this one`
    : `take ${command} at once: ends at ${duration(after)}; --fix first, and --unsafe-fixes behind it, at ${duration(afterFix)}`;
}

/** What a step saves, a part of `wholeOf`; undefined where it saves nothing of anything. */
export function shareOf(step: AccountStep, account: readonly AccountStep[]): number | undefined {
  const whole = wholeOf(step, account);
  return step.saves === null || whole <= 0 ? undefined : step.saves.microseconds / whole;
}

/** The predicted time, as findings' shares are of; of a step to another precision the time before it. */
function wholeOf({ step, saves, microseconds }: AccountStep, account: readonly AccountStep[]): number {
  if (step === "precision" || step === "half") return microseconds + (saves?.microseconds ?? 0);
  const predicted = account.find((each) => each.step === "precision") ?? account[0];
  return predicted?.microseconds ?? 0;
}

/** `25 %`: of the row above, or else `25 % of 168 µs`, which is left out where there is no room for it. */
function shareText(step: AccountStep, account: readonly AccountStep[], isTight: boolean): string | undefined {
  const part = shareOf(step, account);
  if (part === undefined) return undefined;
  const whole = duration(wholeOf(step, account));
  const above = account[account.indexOf(step) - 1];
  const isOfAbove = above === undefined || duration(above.microseconds) === whole;
  const share = percent(Math.abs(part));
  if (isOfAbove) return share;
  return isTight ? undefined : `${share} of ${whole}`;
}

/** `saves 268 µs, 25 % of 1.07 ms (126 to 479 µs)`. */
function savingOf(
  step: AccountStep,
  account: readonly AccountStep[],
  { isBrief, isTight }: { readonly isBrief: boolean; readonly isTight: boolean },
): string {
  const { saves, measured: isMeasured, unsure } = step;
  if (saves === null) {
    const [first] = account;
    const wasMeasured = first?.measured === true;
    if (isBrief) return `(${wasMeasured ? "measured; " : ""}intervals: --verbose)`;
    if (wasMeasured) return "(measured)";
    return first === undefined ? "" : `(${durationRange(first.low, first.high)})`;
  }
  const part = shareText(step, account, isTight);
  const share = part === undefined ? "" : `, ${part}`;
  const { claim, range } = claimOf({ ...saves, of: step.microseconds + saves.microseconds }, share, unsure);
  return `${isBrief || range === undefined ? claim : `${claim} (${range})`}${isMeasured === true ? "; measured" : ""}`;
}

/** Changes that cancel each other, but for what adding them up leaves. */
const nothing = 5e-4;

/** `may cost 29.3 µs, 14 %` and `-6.24 to 84.1 µs`. */
function claimOf(saved: Saved, share: string, unsure: boolean | undefined) {
  const { verb, range } = claimParts(saved, unsure);
  const size = verb === asLong ? "" : ` ${duration(Math.abs(saved.microseconds))}${share}`;
  return { claim: `${verb}${size}`, range };
}

const asLong = "takes as long";

interface Claim {
  readonly verb: string;
  readonly range?: string;
}

/** Without a range where nothing changes, which is no prediction. */
function claimParts(saved: Saved, unsure = false): Claim {
  const { microseconds, low, high, of } = saved;
  if (readsAsNothing(saved)) return { verb: asLong };
  const range = savingRange(saved, of);
  if (Math.abs(microseconds) < nothing && low <= 0 && high >= 0) return { verb: asLong, range };
  const isCost = microseconds < 0;
  const claim = isCost ? "costs" : "saves";
  const isSure = (isCost ? -high : low) > 0 && !unsure;
  const verb = isSure || microseconds === 0 ? claim : isCost ? "may cost" : "may save";
  // It is not the interval that makes the claim unsure: what does stands in the last column.
  return { verb, range: unsure && low > 0 && range !== noInterval ? `${range} by itself` : range };
}

/** `of` what takes so many microseconds before. */
type Saved = NonNullable<AccountStep["saves"]> & { readonly of: number };
