/** @file What lint is told of repairs: what safe fixes make of a model, and where commands that store another type or layout end. */
import { invalidNode } from "../facts/invalid-node.ts";
import { decideSafe, type SafeFix } from "../fix/decide.ts";
import { decidedIn } from "../fix/decide-layout.ts";
import {
  decideStored,
  declinedAsStored,
  type SafeFixes,
  type Unsolved,
  unsolvedOf,
} from "../fix/decide-stored.ts";
import { isHalfLeft } from "../fix/half-left.ts";
import type { FixedModel, FixSettings } from "../fix/pipeline.ts";
import { keepPriced, priced } from "../fix/prices.ts";
import { sizesIn } from "../fix/proposed-sizes.ts";
import { isSolved, reasons } from "../fix/remainder.ts";
import { savedByPass } from "../fix/saved.ts";
import { mostRead, storedInHalf, unlessRefused } from "../fix/storable.ts";
import { type Ends, takenFirst } from "../fix/taken-first.ts";
import { withUnstored } from "../fix/unstored.ts";
import { halfByName, type WrittenEnd, writtenInHalf, writtenInLayout } from "../fix/written-ends.ts";
import { halfOf } from "../ir/fix-command.ts";
import { labelOf } from "../ir/model.ts";
import { once } from "../ir/once.ts";
import type { DecidedAsStored, DecidedFix, LeftReason } from "../lint/decision.ts";
import { leaving } from "../lint/leaving.ts";
import type { ModelReport } from "../lint/result.ts";
import { type LintSettings, lintModel } from "../lint/run.ts";
import type { OpenModel } from "../onnx/read-model.ts";
import type { Reason } from "../passes/align/remainder.ts";
import { changeBetween, noChange } from "../workload/change.ts";
import { pricedAnew } from "../workload/priced-at.ts";
import { counterpartIn } from "../workload/product.ts";
import type { Workload } from "../workload/workload.ts";
import { repairOf, safeFix } from "./fix-settings.ts";

/** Lint settings that ask what `--fix` does to the model. Prices it: `priced` knows what it takes. Throws InputError. */
export function decidedBy(model: OpenModel, asked: LintSettings): LintSettings {
  const { unstored } = withUnstored(model, repairOf(decidingIn(asked), safeFix));
  const settings = { ...asked, unstored };
  return { ...settings, decide: (workload) => decidedFix(model, decidingIn(settings), workload) };
}

/** What is listed decides nothing. */
function decidingIn(settings: LintSettings): LintSettings {
  return { ...settings, leastListed: undefined };
}

/** Lint of a model that is asked so. Throws InputError. */
export function decidedReport(model: OpenModel, settings: LintSettings): ModelReport {
  return lintModel(model, decidedBy(model, settings), priced);
}

function decidedFix(model: OpenModel, lint: LintSettings, workload: Workload): DecidedFix {
  const settings = repairOf(lint, safeFix);
  // Nobody knows what a broken model should compute.
  if (invalidNode(workload.facts) !== null) return leaving(workload, noChange, "the model is invalid");
  keepPriced(model, settings, workload);
  const safe = decideSafe(model, settings);
  const half = once(() => unlessRefused(() => storedInHalf(safe, settings)));
  const fixes = decideStored(model, safe, settings, halfByName(half, settings, workload));
  const ends = {
    inHalf: inHalfOf(fixes, lint, workload, half),
    inLayout: once(() => writtenInLayout(fixes, settings, workload)),
  };
  const made = { model, settings, fixes, ends };
  return {
    ...decidedOf(
      { ...fixes.inTarget, unsolved: unsolvedOf(fixes.inTarget, workload, settings, false) },
      workload,
      made,
    ),
    needsHalf: fixes.asStored !== fixes.inTarget,
    alone: fixes.asStored.fixed.changed ? fixes.asStored : undefined,
    ...ends,
    takenFirst: () => takenFirst(fixes, ends, settings),
    asStored: once(() => (isHalfLeft(workload, ends, settings) ? asStoredOf(workload, made) : undefined)),
  };
}

interface Made {
  readonly model: OpenModel;
  readonly settings: FixSettings;
  readonly fixes: SafeFixes;
  readonly ends: Ends;
}

/** Why they are not made may be unknown: that of a file that is told otherwise. */
type Told = Omit<SafeFix, "declined" | "unsolved"> & {
  readonly declined?: string | undefined;
  readonly unsolved?: Unsolved | undefined;
};

/** Of safe fixes, told of `file`: the model in the target's types, or in those that it stores. */
function decidedOf(safe: Told, file: Workload, { model, settings }: Made) {
  const { fixed, after, change, declined, foregone, loses, unsolved, proposed, addsInside } = safe;
  const whole = foregone === undefined ? undefined : { microseconds: foregone };
  const all = declined === undefined ? undefined : { message: declined, whole };
  const reasonOf = once(() => reasons(model, settings, []));
  const sizes = once(() => {
    const left = proposed ?? unsolved?.proposed();
    return left && sizesIn(left);
  });
  return {
    after,
    change,
    proposedFor: (product) => sizes()?.(product) ?? reasonOf()(product).padded,
    slowerElsewhere: loses && declined,
    foregone,
    isSolved: fixed.parts.has("align"),
    padding: savedByPass("align", fixed, file.timeline.microseconds, settings),
    whyWritten: fixed.notes.find(({ pass, kind }) => pass === "join" && kind === "blocked")?.message,
    isRewritten: (node) => node.graph === model.graph && fixed.rewritten.has(labelOf(node)),
    reasonFor: (product) => {
      const reason = reasonOf()(product);
      if (reason.kind === "other-axis" && unsolved !== undefined)
        return { message: unsolved.why(), declined: "uncertain" };
      const isInside = reason.kind === "inside" && addsInside === true && sizes()?.(product) !== undefined;
      const isMade = isInside || isSolved(reason);
      return leftReason(reason, isMade ? all : undefined, loses !== undefined);
    },
    layoutOf: (state) => decidedIn(state, fixed.model, settings, file),
  } satisfies Partial<DecidedFix>;
}

/** The same decision, told of the file as it is stored. */
function asStoredOf(workload: Workload, made: Made): DecidedAsStored {
  const { fixes, ends } = made;
  const settings = { ...made.settings, isHalfLeft: true };
  const { asStored: stored } = fixes;
  const file = pricedAnew(workload, "as-is", settings.cost);
  const after = stored.fixed.changed ? pricedAnew(stored.after, "as-is", settings.cost) : file;
  const change = stored.fixed.changed ? changeBetween(file, after, settings.cost) : noChange;
  // What is left would save another time here.
  const left = declinedAsStored(stored, workload, settings);
  const unsolved = unsolvedOf(stored, workload, settings, true);
  const told = { ...stored, unsolved, after, change, declined: left?.message, foregone: left?.foregone };
  const decided = decidedOf(told, file, { ...made, settings });
  const asDecided = counterpartIn(workload.products);
  return {
    file,
    decided: {
      ...decided,
      reasonFor: (product) => decided.reasonFor(asDecided(product)),
      proposedFor: (product) => decided.proposedFor(asDecided(product)),
      inHalf: () => undefined,
      inLayout: ends.inLayout,
      takenFirst: () => undefined,
    },
  };
}

function inHalfOf(
  fixes: SafeFixes,
  lint: LintSettings,
  workload: Workload,
  made: () => FixedModel | undefined,
): Ends["inHalf"] {
  const half = halfOf(lint.target.precision);
  const settings = {
    ...repairOf(lint, { ...safeFix, half, halfOnlyWhereFaster: false, nhwc: true }),
    mostRead,
  };
  const known = new Map<boolean, WrittenEnd | null | undefined>();
  return (isLaidOut) => {
    if (known.has(isLaidOut)) return known.get(isLaidOut);
    const stored = made();
    const found = stored && unlessRefused(() => writtenInHalf(fixes, settings, workload, stored)(isLaidOut));
    known.set(isLaidOut, found);
    return found;
  };
}

/** `all` is why nothing is done to the whole model, of what would be done without: it has no reason of its own. */
function leftReason(reason: Reason, all: LeftReason | undefined, isForAnother: boolean): LeftReason {
  if (all !== undefined) return { ...all, ...(isForAnother ? {} : { declined: "uncertain" }) };
  const { message, whole } = reason;
  const declined = declinedBy[reason.kind];
  return declined === undefined ? { message } : { message, declined, whole };
}

const declinedBy: Readonly<Record<Reason["kind"], LeftReason["declined"]>> = {
  "min-saving": "below",
  uncertain: "uncertain",
  neighbours: "uncertain",
  "other-axis": "uncertain",
  inside: undefined,
  forbidden: undefined,
  elsewhere: undefined,
  edges: undefined,
};
