/**
 * @file Repair of one model: passes until nothing changes, the result staged beside its place, verified there, and only
 * then put in place.
 */
import { basename, dirname, join, resolve } from "node:path";
import { InputError } from "../ir/errors.ts";
import { clearLeftovers, lockModel, type ModelLock } from "../onnx/lock.ts";
import { type OpenModel, openModel } from "../onnx/open.ts";
import { causeOf, checkSource, type SourceState, sourceState } from "../onnx/source-state.ts";
import { stageModel } from "../onnx/write.ts";
import { bisect, type LeftPiece, nothingBut, type Piece, untried } from "./bisect.ts";
import { checkNodes, checkWeights, inBlocks, runFix, signedAs } from "./make.ts";
import type { Measurement } from "./measured.ts";
import { type Fix, type FixOutcome, type JudgedFix, outcomeOf, type Placed, type Proof } from "./outcome.ts";
import type { FixedModel, FixSettings } from "./pipeline.ts";
import { unreferencedBy } from "./unreferenced.ts";

/** The result is another function than the original. */
export class DifferenceError extends InputError {
  /** Where: `output "y" differs; the first difference is in "h", computed by MatMul`. */
  readonly detail: string;
  /** A decision between values that half precision does not tell apart: no defect, and nothing that a proof can hold. */
  readonly isDecision: boolean;

  constructor(path: string, detail: string, isDecision = false) {
    super("not-the-same", `${path}: the result is not the same function (${detail}); nothing was written`);
    this.detail = detail;
    this.isDecision = isDecision;
  }
}

/** What there is to know of a staged model to compare it with the original. */
export interface Staged extends Pick<FixedModel, "permutations" | "stacked"> {
  /** Whether axes were padded: for products that read finite numbers (docs/fixing.md, What a fix assumes). */
  readonly assumesFinite: boolean;
  /** Whether it stores or computes anything in half that the original does not: else no rounding to half excuses a difference. */
  readonly isHalved: boolean;
}

/**
 * Compares the original with the staged model, whose inputs and outputs are transposed as `permutations` say, and which takes as
 * many samples as `stacked` says. Throws
 * InputError `not-the-same` where they differ: then it is not put in place.
 */
export type Verify = (original: string, candidate: string, staged: Staged) => Promise<Proof>;

/** Measures what the passes found, and says which of it stays. */
export type Prove = (found: FixedModel) => Promise<Proven>;

export interface Proven {
  readonly measurement: Measurement;
  readonly kept: readonly Piece[];
  /** With what was measured of each. */
  readonly left: readonly LeftPiece[];
}

export interface FixRequest {
  readonly path: string;
  /** Where the result goes; the model's own path repairs in place. */
  readonly destination: string;
  readonly settings: FixSettings;
  readonly verify: Verify;
  /** Keeps nothing but what is measured to gain; what is predicted to, without one. */
  readonly prove?: Prove | undefined;
  /** What `verify` will have proven, for the model's own metadata: `verified with …`, or `unverified`. */
  readonly promise: string;
  /** Only say what would change. */
  readonly dryRun: boolean;
  /** Runs what is computed, within limits of the caller's; what it throws ends the repair. */
  readonly within?: Within | undefined;
}

export type { DataFileEntry, FixOutcome, Proof } from "./outcome.ts";

export type Within = <T>(work: () => T) => T;
const unlimited: Within = (work) => work();

export async function fixModel(request: FixRequest): Promise<FixOutcome> {
  const { within = unlimited } = request;
  using original = within(() => openModel(request.path, inBlocks));
  // A difference is of sizes and names; what is written has weights.
  if (!request.dryRun) checkWeights(original);
  const state = sourceState(original);
  try {
    return await fixOpened(request, original, state);
  } catch (error) {
    throw causeOf(error, state);
  }
}

async function fixOpened(request: FixRequest, original: OpenModel, state: SourceState): Promise<FixOutcome> {
  const { within = unlimited } = request;
  const found = within(() => {
    checkNodes(original, request.settings);
    return runFix(original, request.settings);
  });
  const whole = await measured(found, request, original);
  const outcome = (fix: JudgedFix) => within(() => outcomeOf(request, original, fix));
  const isCopy = resolve(request.destination) !== resolve(request.path);
  if (request.dryRun || (!whole.fixed.changed && !isCopy)) {
    if (!request.dryRun) clearLeftovers(request.path);
    return { ...outcome(whole), ...unwritten(original) };
  }
  using lock = lockModel(request.destination);
  const site = { request, original, state, lock };
  const placed = await place(whole, site);
  if (!(placed instanceof InputError)) return { ...outcome(whole), ...placed };
  const sound = await soundPartOf(whole, placed, site);
  if (!sound.fixed.changed && !isCopy) return { ...outcome(sound), ...unwritten(original) };
  const second = await place(sound, site);
  if (second instanceof InputError) throw second;
  return { ...outcome(sound), ...second };
}

interface Site {
  readonly request: FixRequest;
  readonly original: OpenModel;
  readonly state: SourceState;
  readonly lock: ModelLock;
}

/** As much of a fix as is measured to gain; all of it where nothing is to be measured. */
async function measured(
  found: Fix,
  { prove, within = unlimited }: FixRequest,
  original: OpenModel,
): Promise<JudgedFix> {
  if (prove === undefined || !found.fixed.changed)
    return { ...found, left: [], reverted: [], measurement: null };
  const { kept, left: reverted, measurement } = await prove(found.fixed);
  if (reverted.length === 0) return { ...found, left: [], reverted, measurement };
  const { settings } = found;
  const leaveOut = nothingBut(kept, reverted);
  const part = within(() => runFix(original, { ...settings, leaveOut }));
  // What was not worth it is explained by what was measured, not by the limit that the passes were given.
  return { ...part, settings, left: [], reverted, measurement };
}

function unwritten({ bytes }: OpenModel): Placed {
  return { written: false, proof: null, bytes, dataFiles: [], unreferenced: [] };
}

/** Puts the result in place once it is proven, unless it is only a `trial`; the difference where it is another function. */
async function place(
  { fixed }: Fix,
  { request, original, state, lock }: Site,
  isTrial = false,
): Promise<Placed | InputError> {
  const { within = unlimited } = request;
  const { render } = signedAs(fixed, original, request.promise);
  const rendered = (location: string) => within(() => render(location));
  using staged = await stageModel({ source: original, state, lock, render: rendered });
  const proof = fixed.changed
    ? await differenceOr(request.verify(request.path, staged.path, stagedOf(fixed)))
    : null;
  if (proof instanceof InputError) {
    // What was compared may be another file: that is no reason to look for the part that is wrong.
    checkSource(state);
    return proof;
  }
  if (!isTrial) staged.commit();
  const dataFiles = staged.data
    .filter(({ isNew }) => isNew)
    .map(({ path, bytes }) => ({ path: join(dirname(request.destination), basename(path)), bytes }));
  const isInPlace = resolve(request.destination) === resolve(request.path);
  const unreferenced = isInPlace ? unreferencedBy(original, fixed.model) : [];
  return { written: !isTrial, proof, bytes: staged.bytes, dataFiles, unreferenced };
}

function stagedOf({ permutations, stacked, notes, parts }: FixedModel): Staged {
  const assumesFinite = notes.some(({ kind, pass }) => kind === "changed" && pass === "align");
  return { permutations, stacked, assumesFinite, isHalved: parts.has("half") };
}

/** Throws anything but a difference. */
async function differenceOr<T>(verification: Promise<T>): Promise<T | InputError> {
  try {
    return await verification;
  } catch (error) {
    if (error instanceof InputError && error.code === "not-the-same") return error;
    throw error;
  }
}

/** As much of a fix as is the same function: the original itself where nothing is. */
async function soundPartOf(whole: JudgedFix, difference: InputError, site: Site): Promise<JudgedFix> {
  const { original, request } = site;
  const { settings, within = unlimited } = request;
  const limited = (kept: readonly Piece[], left: readonly LeftPiece[]) =>
    within(() => runFix(original, { ...settings, leaveOut: nothingBut(kept, left) }));
  const decisions = new Set<string>();
  const failureOf = (error: InputError) => {
    const reason = reasonOf(error);
    if (error instanceof DifferenceError && error.isDecision) decisions.add(reason);
    return reason;
  };
  const { kept, left } = await bisect(whole.fixed.parts, failureOf(difference), async (pieces) => {
    const placed = await place(limited(pieces, []), site, true);
    return placed instanceof InputError ? failureOf(placed) : undefined;
  });
  // What was not tried is left for what those that were failed by.
  const isOne = left.every(({ reason }) => reason === untried || decisions.has(reason));
  const told = left.map((piece) => ({ ...piece, isDecision: isOne || decisions.has(piece.reason) }));
  return { ...whole, ...limited(kept, left), left: told };
}

function reasonOf(difference: InputError): string {
  return difference instanceof DifferenceError ? difference.detail : difference.message;
}
