/** @file How savings that the cost model predicts compare with those measured, over many pairs; pairs.ts prints it. */
import type { Saving } from "../src/cost/model.ts";

/** A change, both sides measured. */
export interface Outcome {
  /** "conv", or with its part "conv NHWC". */
  readonly kind: string;
  /** Microseconds. */
  readonly before: number;
  readonly after: number;
  /** What the model says of the side before. */
  readonly predictedBefore: number;
  readonly saving: Saving;
}

export interface Claims {
  readonly count: number;
  /** Of claims that measured a change, in percent. */
  readonly signRight: number;
  /** Claims that measured none. */
  readonly nothing: number;
  /** In percent of claims. */
  readonly losses: number;
  /** Of large savings, in percent. */
  readonly claimed: number;
  /** Of the time that large savings save together, in percent. */
  readonly claimedTime: number;
}

export interface Figures {
  readonly pairs: number;
  /** Percent of the measured time, median. */
  readonly error: number;
  /** Percent of measured savings inside the interval. */
  readonly covered: number;
  /** Wherever the prediction is above zero. */
  readonly ungated: Claims;
  /** Where the interval is. */
  readonly gated: Claims;
}

/** Of the time before: what two measurements of one call differ by. */
const nothing = 0.02;
/** A saving that must not be missed. */
const large = 0.05;

/** Of the time before; negative where the change costs. */
export function measuredShare({ before, after }: Outcome): number {
  return (before - after) / before;
}

export function isClaimed({ saving }: Outcome): boolean {
  return saving.low > 0;
}

export function isLoss(outcome: Outcome): boolean {
  return measuredShare(outcome) < -nothing;
}

export function figuresOf(outcomes: readonly Outcome[]): Figures {
  const errors = outcomes.map(({ before, predictedBefore }) => Math.abs(predictedBefore / before - 1));
  const covered = outcomes.filter(({ before, after, saving }) => {
    const truth = before - after;
    return truth >= saving.low && truth <= saving.high;
  });
  return {
    pairs: outcomes.length,
    error: 100 * median(errors),
    covered: percent(covered.length, outcomes.length),
    ungated: claimsOf(outcomes, ({ saving }) => saving.microseconds > 0),
    gated: claimsOf(outcomes, isClaimed),
  };
}

function claimsOf(outcomes: readonly Outcome[], isMade: (outcome: Outcome) => boolean): Claims {
  const claims = outcomes.filter(isMade);
  const losses = claims.filter(isLoss).length;
  const gains = claims.filter((each) => measuredShare(each) > nothing).length;
  const missable = outcomes.filter((each) => measuredShare(each) > large);
  return {
    count: claims.length,
    signRight: percent(gains, gains + losses),
    nothing: claims.length - gains - losses,
    losses: percent(losses, claims.length),
    claimed: percent(missable.filter(isMade).length, missable.length),
    claimedTime: percent(timeOf(missable.filter(isMade)), timeOf(missable)),
  };
}

/** Microseconds that are measured to be saved. */
function timeOf(outcomes: readonly Outcome[]): number {
  return outcomes.reduce((sum, { before, after }) => sum + before - after, 0);
}

/** Kinds that have a goal together. */
const groups: Readonly<Record<string, readonly string[]>> = {
  "all padding": ["conv", "grouped", "gemm", "sdpa", "written"],
  "all precision": ["precision-fp32", "precision-tf32"],
};

export const legend = [
  "A change is measured as a gain where it saves more than 2 % of the time before, as a loss where it costs more than 2 %, else as",
  "nothing. *Predicted*: every pair whose predicted saving is above 0. *Claimed*: those whose interval is above 0 (low > 0), which is what",
  "a report lists. Sign right: gains / (gains + losses) of these; nothing: how many of these are neither; losses: losses / these;",
  "found: of pairs that measured more than 5 % saved, the share that is among these; of their time: the same of the time saved. Error: median of |predicted / measured − 1| of",
  "the side before. Covered: measured savings inside [low, high], of all pairs.",
].join("\n");

const header = [
  "| kind | pairs | error % | covered % | predicted | sign right % | nothing | losses % | found % | claimed | sign right % | nothing | losses % | found % | of their time % |",
  "|---|--:|--:|--:|--:|--:|--:|--:|--:|--:|--:|--:|--:|--:|--:|",
];

export function tableOf(outcomes: readonly Outcome[]): string {
  return [...header, ...groupsOf(outcomes).map(([name, some]) => lineOf(name, some))].join("\n");
}

/** Each kind, those that have a goal together, and all; empty ones are left out. */
export function groupsOf(outcomes: readonly Outcome[]): [string, readonly Outcome[]][] {
  const kinds = [...new Set(outcomes.map(({ kind }) => kind))].sort();
  const ofKinds = kinds.map((kind) => [kind, outcomes.filter((each) => each.kind === kind)] as const);
  const joint = Object.entries(groups).map(([name, members]) => {
    return [name, outcomes.filter(({ kind }) => members.includes(kind.split(" ")[0] ?? ""))] as const;
  });
  return [...ofKinds, ...joint, ["all", outcomes] as const]
    .filter(([, some]) => some.length > 0)
    .map(([name, some]) => [name, some]);
}

/** Shares of the time before, in percent, that part large savings. */
const sizes = [5, 10, 20, 30, 50, 100];

const sizesHeader = [
  "| measured saving | large | claimed | found % | missed | predicted to cost | less than half of it | up to one and a half | more |",
  "|---|--:|--:|--:|--:|--:|--:|--:|--:|",
];

/** Large savings by their size, and what was predicted of those that nobody claims: whether the estimate is off, or the interval wide. */
export function sizesOf(outcomes: readonly Outcome[]): string {
  const missable = outcomes.filter((each) => measuredShare(each) > large);
  const lines = sizes.slice(1).map((upTo, index) => {
    const above = sizes[index] ?? 0;
    const isOfSize = (share: number) => share > above / 100 && share <= upTo / 100;
    return sizeLine(
      `${above} to ${upTo} %`,
      missable.filter((each) => isOfSize(measuredShare(each))),
    );
  });
  return [...sizesHeader, ...lines, sizeLine("all", missable)].join("\n");
}

function sizeLine(name: string, outcomes: readonly Outcome[]): string {
  const missed = outcomes.filter((each) => !isClaimed(each));
  const predicted = missed.map(
    (each) => each.saving.microseconds / each.predictedBefore / measuredShare(each),
  );
  const between = (low: number, high: number) =>
    predicted.filter((part) => part > low && part <= high).length;
  const claimed = outcomes.length - missed.length;
  const parts = [between(-Infinity, 0), between(0, 0.5), between(0.5, 1.5), between(1.5, Infinity)];
  const cells = [outcomes.length, claimed, shown(percent(claimed, outcomes.length)), missed.length, ...parts];
  return `| ${[name, ...cells].join(" | ")} |`;
}

function lineOf(name: string, outcomes: readonly Outcome[]): string {
  const { pairs, error, covered, ungated, gated } = figuresOf(outcomes);
  const cells = [ungated, gated].flatMap((claims) => [
    String(claims.count),
    shown(claims.signRight),
    String(claims.nothing),
    shown(claims.losses),
    shown(claims.claimed),
  ]);
  const head = [name, String(pairs), shown(error), shown(covered)];
  return `| ${[...head, ...cells, shown(gated.claimedTime)].join(" | ")} |`;
}

function shown(value: number): string {
  return Number.isNaN(value) ? "–" : value.toFixed(1);
}

/** Not a number of nothing. */
function percent(part: number, whole: number): number {
  return (100 * part) / whole;
}

function median(values: readonly number[]): number {
  const sorted = values.toSorted((a, b) => a - b);
  return sorted[Math.floor(sorted.length / 2)] ?? Number.NaN;
}
