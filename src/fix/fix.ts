/**
 * @file Repair of one model: passes until nothing changes, the result staged beside its place, verified there, and only
 * then put in place.
 */
import { resolve } from "node:path";
import { InputError } from "../ir/errors.ts";
import { Patch } from "../ir/patch.ts";
import { buildContext } from "../lint/run.ts";
import { lockModel } from "../onnx/lock.ts";
import { type OpenModel, openModel } from "../onnx/open.ts";
import { sourceState } from "../onnx/source-state.ts";
import { weightFiles } from "../onnx/weights.ts";
import { stageModel } from "../onnx/write.ts";
import { diffModels, type ModelDiff } from "./diff.ts";
import { type FixedModel, type FixNote, type FixSettings, patched, render, runPasses } from "./pipeline.ts";
import { remainderNotes } from "./remainder.ts";

/** What is known of the result being the same function. */
export type Proof =
  | { readonly kind: "verified"; readonly summary: string }
  | { readonly kind: "unverified"; readonly summary: string };

/**
 * Compares the original with the staged model, whose inputs and outputs are transposed as `permutations` say. Throws
 * InputError where they differ: then nothing is put in place.
 */
export type Verify = (
  original: string,
  candidate: string,
  permutations: FixedModel["permutations"],
) => Promise<Proof>;

export interface FixRequest {
  readonly path: string;
  /** Where the result goes; the model's own path repairs in place. */
  readonly destination: string;
  readonly settings: FixSettings;
  readonly verify: Verify;
  /** What `verify` will have proven, for the model's own metadata: `verified with …`, or `unverified`. */
  readonly promise: string;
  /** Only say what would change. */
  readonly dryRun: boolean;
}

export interface FixOutcome {
  readonly path: string;
  readonly destination: string;
  readonly changed: boolean;
  readonly written: boolean;
  readonly notes: readonly FixNote[];
  readonly diff: ModelDiff;
  readonly microseconds: { readonly before: number; readonly after: number };
  readonly proof: Proof | null;
  readonly bytes: number;
}

/** A pass may make room for another: ESLint's bound, never met so far. */
const maxRounds = 10;
const metadataKey = "tc-lint.fix";

export async function fixModel(request: FixRequest): Promise<FixOutcome> {
  using original = openModel(request.path);
  checkWeights(original);
  const state = sourceState(original);
  const fixed = runToFixedPoint(original, request.settings);
  const after = buildContext(fixed.model, request.settings);
  const outcome = {
    path: request.path,
    destination: request.destination,
    changed: fixed.changed,
    notes: [...fixed.notes, ...remainderNotes(after, request.settings)],
    diff: diffModels(original, fixed.model),
    microseconds: {
      before: buildContext(original, request.settings).timeline.microseconds,
      after: after.timeline.microseconds,
    },
  };
  const isCopy = resolve(request.destination) !== resolve(request.path);
  if (request.dryRun || (!fixed.changed && !isCopy)) {
    return { ...outcome, written: false, proof: null, bytes: original.bytes };
  }
  using lock = lockModel(request.destination);
  const signed = signedAs(fixed, original, request.promise);
  using staged = await stageModel({ source: original, state, lock, render: signed.render });
  const proof = fixed.changed ? await request.verify(request.path, staged.path, fixed.permutations) : null;
  staged.commit();
  return { ...outcome, written: true, proof, bytes: staged.bytes };
}

/** Passes in order, again and again while one of them still changes something. */
export function runToFixedPoint(original: OpenModel, settings: FixSettings): FixedModel {
  let fixed = runPasses(original, settings);
  const notes = [...fixed.notes];
  const permutations = new Map(fixed.permutations);
  for (let round = 1; fixed.changed; round++) {
    if (round >= maxRounds) {
      throw new InputError(
        "no-fixed-point",
        `${original.path}: still changing after ${maxRounds} rounds of fixes`,
      );
    }
    const next = runPasses(fixed.model, settings);
    for (const note of next.notes) if (note.kind === "changed") notes.push(note);
    if (!next.changed) break;
    for (const [name, permutation] of next.permutations) permutations.set(name, permutation);
    fixed = next;
  }
  return { ...fixed, changed: fixed.model !== original, notes, permutations };
}

/** Without its weights a model cannot be repaired, and would be proven to be nothing. Throws InputError. */
function checkWeights(model: OpenModel): void {
  const absent = weightFiles(model).find(({ present }) => !present);
  if (absent === undefined) return;
  throw new InputError(
    "weights-missing",
    `${model.path}: its weights are in "${absent.location}", which is not there; repairing it needs them`,
  );
}

/** What was done, and what is known of it, goes into the model's own metadata: in place only once it is true. */
function signedAs(fixed: FixedModel, original: OpenModel, promise: string): Pick<FixedModel, "render"> {
  if (!fixed.changed) return fixed;
  const passes = [...new Set(fixed.notes.filter(({ kind }) => kind === "changed").map(({ pass }) => pass))];
  const patch = new Patch();
  const done = `${passes.join(", ")}; ${promise}`;
  patch.metadata.set(metadataKey, [...earlier(original), done].join(" | "));
  const signed = patched(fixed.model, patch, "tc-lint.signed.data");
  return { render: (location) => render(signed, location) };
}

function earlier(model: OpenModel): readonly string[] {
  const before = model.metadata.get(metadataKey);
  return before === undefined ? [] : [before];
}
