/** @file What a safe fix could still repair in a fixed model: each with the reason that it did not. */
import { isNhwcBody, siteOf } from "../facts/nhwc-body.ts";

import { groupBy } from "../ir/group.ts";
import { labelOf } from "../ir/model.ts";
import { once } from "../ir/once.ts";
import type { OpenModel } from "../onnx/read-model.ts";
import { explainer, type Reason, type RemainderInput } from "../passes/align/remainder.ts";
import type { PassContext } from "../passes/pass.ts";
import { pricedAt } from "../workload/priced-at.ts";
import { type CostedProduct, counterpartIn, type ProposedSizes } from "../workload/product.ts";
import { partsByLabel, type Whole, withinWholes } from "../workload/within-whole.ts";
import { trafficOf, type Workload } from "../workload/workload.ts";
import { asBefore } from "./behind-layout.ts";
import type { LeftPiece } from "./bisect.ts";
import { decideSafe } from "./decide.ts";
import type { Declined, Unsolved } from "./decide-stored.ts";
import { type LeftProduct, leftProducts } from "./left-products.ts";
import { pricingOf } from "./pass-context.ts";
import { type FixNote, type FixSettings, runPasses } from "./pipeline.ts";
import { priced, unboundFacts } from "./prices.ts";
import { sizesIn } from "./proposed-sizes.ts";
import { savedByPass } from "./saved.ts";
import { asWritten, keepsTypes } from "./stored-types.ts";

/** Why safe fixes are not made, which the solver would make. */
export interface NotMade {
  readonly declined?: Declined | undefined;
  /** Where they were not looked for. */
  readonly unsolved?: Unsolved | undefined;
  /** The model that was repaired: what the user's limit leaves has the figures that it has there. */
  readonly original?: OpenModel | undefined;
}

/**
 * A note for every product that is still off the multiple and would be faster, seen by itself, if it were not. `left`
 * failed verification.
 */
export function remainderNotes(
  model: OpenModel,
  settings: FixSettings,
  left: readonly LeftPiece[],
  { declined, unsolved, original }: NotMade,
): FixNote[] {
  const workload = asWritten(model, settings);
  // Reasons are of the model as it was decided on.
  const decided = priced(model, settings);
  const asDecided = workload === decided ? undefined : counterpartIn(decided.products);
  const known = once(() => reasons(model, settings, left, original));
  const reasonFor = (product: CostedProduct) => known()(asDecided?.(product) ?? product);
  const sizes = once(() => {
    const proposed = declined?.proposed ?? unsolved?.proposed();
    return proposed && sizesIn(proposed);
  });
  const found = leftProducts(
    workload,
    settings,
    declined,
    (product) => sizes()?.(product) ?? reasonFor(product).padded,
  );
  const wholeOf = wholesIn(declined);
  const parts: NotePart[] = [];
  const partOf = (note: FixNote, whole: Whole | undefined) => {
    if (whole !== undefined) parts.push({ note, whole, microseconds: note.microseconds ?? 0 });
    return note;
  };
  const notes = found.map((each): FixNote => {
    const own = reasonFor(each.product);
    const note = noteOf(each, settings);
    if (declined !== undefined && isDeclined(each, own, declined, settings, sizes)) {
      const { message, foregone, foregoneIn: savedIn } = declined;
      return partOf(
        { ...note, kind: "kept", message, isPart: foregone !== undefined, savedIn },
        wholeOf(each.product),
      );
    }
    const message = own.kind === "other-axis" && unsolved !== undefined ? unsolved.why() : own.message;
    const kind = own.kind === "forbidden" ? "blocked" : "kept";
    return partOf({ ...note, kind, message, isPart: own.whole !== undefined }, own.whole);
  });
  const { isTold = () => true } = settings;
  return asParts(notes, parts).filter(({ rule }) => rule === undefined || isTold(rule));
}

/** What a product that is declined would be a part of: what is padded together, where that is known by itself, and else all of it. */
function wholesIn(declined: Declined | undefined): (product: CostedProduct) => Whole | undefined {
  const { foregone, foregoneParts } = declined ?? {};
  const all = foregone === undefined ? undefined : { microseconds: foregone };
  const byLabel = once(() => partsByLabel(foregoneParts?.() ?? []));
  return ({ node, scope }) => (scope.isMain ? byLabel().get(labelOf(node)) : undefined) ?? all;
}

/** By the name that a reader of the file knows: bodies of functions have none of their own. */
function noteOf({ rule, product, microseconds, place }: LeftProduct, { target }: FixSettings) {
  const { node, scope } = siteOf(product.node, product.scope);
  const graph = scope.isMain ? undefined : scope.path;
  const madeIn = place === "behind" ? target.precision : undefined;
  return { pass: "align", rule, node, graph, microseconds, madeIn } as const;
}

/** What the solver would do and the whole model does not pay for has no reason of its own; what is below the limit alone it would not do. */
function isDeclined(
  { place, product }: LeftProduct,
  own: Reason,
  { addsInside }: Declined,
  settings: FixSettings,
  sizes: () => ProposedSizes | undefined,
): boolean {
  if (place !== undefined) return place === "part";
  const isInside = own.kind === "inside" && addsInside === true && sizes()?.(product) !== undefined;
  return (isInside || isSolved(own)) && !isBelowLimit(own, settings);
}

/** What comes to it but for what figures are rounded by. */
const wholeShare = 0.99;

/** What is a part says so where all of them come to the whole: beside padding that no rule asks for it is what it saves by itself. */
function asParts(notes: readonly FixNote[], parts: readonly NotePart[]): FixNote[] {
  const within = withinWholes(parts);
  const told = new Map<Whole, number>();
  for (const [{ whole }, part] of within) told.set(whole, (told.get(whole) ?? 0) + part);
  const saved = new Map([...within].map(([{ note, whole }, part]) => [note, { whole, part }]));
  return notes.map((note) => {
    const of = saved.get(note);
    if (of === undefined) return note;
    const isAll = (told.get(of.whole) ?? 0) >= wholeShare * of.whole.microseconds;
    return { ...note, microseconds: of.part, isPart: note.savedIn !== undefined || isAll };
  });
}

/** A product that is declined together with others. */
interface NotePart {
  readonly note: FixNote;
  readonly whole: Whole;
  readonly microseconds: number;
}

/** The solver pads the product, were it up to the solver. */
export function isSolved({ kind }: Reason): boolean {
  return kind === "min-saving" || kind === "other-axis";
}

/** The limit is the user's own, above what is solved for by default. */
function isBelowLimit({ kind }: Reason, { minSaving, leastWeighed = minSaving }: FixSettings): boolean {
  return kind === "min-saving" && leastWeighed < minSaving;
}

/** Why a product that could be padded is not. `left` failed verification; `original` is as `NotMade` has it. */
export function reasons(
  model: OpenModel,
  settings: FixSettings,
  left: readonly LeftPiece[],
  original?: OpenModel,
): (product: CostedProduct) => Reason {
  const workload = priced(model, settings);
  const leftOut = (part: string) =>
    left.find((piece) => piece.pass === "align" && piece.part === part)?.reason;
  const own = explained(workload, settings, original, left.length === 0 ? undefined : leftOut);
  let before: ReturnType<typeof reasonsBefore> | undefined;
  return (product) => {
    if (!isNhwcBody(product.scope)) return own(product);
    before ??= reasonsBefore(model, settings, original);
    return before(product);
  };
}

function explained(
  workload: Workload,
  settings: FixSettings,
  original: OpenModel | undefined,
  leftOut?: PassContext["leftOut"],
) {
  const told = toldIn(workload, settings);
  return explainer({
    facts: unboundFacts(workload),
    work: {
      products: workload.products.filter(({ scope }) => scope.isMain),
      traffic: trafficOf(workload),
    },
    pricing: pricingOf(workload, settings),
    told,
    accountOf: told === undefined ? accountBelowLimit(original, settings) : undefined,
    leftOut,
  });
}

/** As lint solves it, which has no limit of the user's. */
function accountBelowLimit(
  original: OpenModel | undefined,
  settings: FixSettings,
): RemainderInput["accountOf"] {
  const { minSaving, leastWeighed = minSaving } = settings;
  if (original === undefined || leastWeighed >= minSaving) return undefined;
  const byLabel = once(() => {
    // As the row of safe fixes has it, which comes before what half precision takes as it is written.
    const passes = settings.passes.filter((pass) => pass.safe);
    const asLinted = { ...settings, passes, minSaving: leastWeighed };
    const { fixed } = decideSafe(original, asLinted);
    const { microseconds } = priced(original, asLinted).timeline;
    return partsByLabel(savedByPass("align", fixed, microseconds, asLinted));
  });
  return ({ node, scope }) => (scope.isMain ? byLabel().get(labelOf(node)) : undefined);
}

/** Rows of a file that is told as it is stored are in these types, and so is what they are a part of. */
function toldIn(workload: Workload, settings: FixSettings): RemainderInput["told"] {
  if (settings.isHalfLeft !== true && !keepsTypes(settings)) return undefined;
  const stored = pricedAt(workload, "as-is", settings.cost);
  const pricing = pricingOf(stored, { ...settings, target: stored.target });
  return { pricing, decidedIn: workload.target.precision.toUpperCase() };
}

/**
 * Of what a step to NHWC turned: padding is decided before the layout, so that the file behind that step leaves what the file before it
 * leaves, and for the same reason.
 */
function reasonsBefore(
  model: OpenModel,
  settings: FixSettings,
  original: OpenModel | undefined,
): (product: CostedProduct) => Reason {
  const back = asBefore(model, settings);
  // Transposes of neighbours go.
  const folds = settings.passes.filter(({ name }) => name === "fold");
  const plain = runPasses(back, { ...settings, passes: folds, leaveOut: undefined }).model;
  const before = priced(plain, settings);
  const own = explained(before, settings, original);
  const products = groupBy(before.products, ({ node }) => labelOf(node));
  return ({ node, scope }) => {
    const [product, ...namesakes] = products.get(labelOf(siteOf(node, scope).node)) ?? [];
    return product === undefined || namesakes.length > 0 ? turned : own(product);
  };
}

const turned: Reason = {
  kind: "elsewhere",
  message:
    "it is in a function that a step to NHWC wrote: --fix of the file before that step decides its padding",
};
