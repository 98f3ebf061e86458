/** @file Passes one after the other over a model that exists only as edits, until it is written. */

import { dimsOf } from "../facts/bind.ts";

import { pushAll } from "../ir/lists.ts";
import type { Stacked } from "../ir/stacked.ts";
import type { PatchedModel } from "../onnx/apply.ts";
import type { OpenModel } from "../onnx/read-model.ts";
import type { Pass, PassName, PassNote, PassOptions, PassRegion, PassResult } from "../passes/pass.ts";
import type { OtherStack } from "../workload/elsewhere.ts";
import type { CostedProduct } from "../workload/product.ts";
import type { UnmadeFixes } from "../workload/unmade.ts";
import type { Workload, WorkloadSettings } from "../workload/workload.ts";
import { patched, render } from "./edits.ts";
import { keepResult, takeResult } from "./last-results.ts";
import { contextOf } from "./pass-context.ts";
import { takePreview } from "./prices.ts";
import type { Reading } from "./unread.ts";

export interface FixSettings extends WorkloadSettings {
  /** In order. */
  readonly passes: readonly Pass[];
  /** The flags that ask for them; `--fix` alone by default. */
  readonly flags?: readonly string[] | undefined;
  /** Gives the model another batch before all of them: what they begin with, and are priced against. */
  readonly rebatch?: Pass | undefined;
  readonly options: PassOptions;
  /** Share of the model's time below which nothing is changed. */
  readonly minSaving: number;
  /** What lint solves for, where less than `minSaving`: from there on what is left has the figures that lint has. */
  readonly leastWeighed?: number | undefined;
  /** Safe fixes are made only where they are predicted to save more than that, beyond doubt; else as their passes propose. */
  readonly onlyWhereFaster?: boolean | undefined;
  /** Padding adds Slices and Pads at inputs and outputs of the model alone: what is decided where it would else be left altogether. */
  readonly padsAtEnds?: boolean | undefined;
  /** Safe fixes that one of these would lose by are not made either; none by default. */
  readonly others?: readonly OtherStack[] | undefined;
  /** What could still be repaired in the result: it is explained. Nothing by default. */
  readonly remaining?:
    | ((workload: Workload, unmade?: UnmadeFixes) => readonly RemainingProduct[])
    | undefined;
  /** Whether notes name what a rule still finds, by its code; every rule's by default. */
  readonly isTold?: ((rule: string) => boolean) | undefined;
  /** Tensors of more bytes are not read: what is in them is taken to be in any type's range. */
  readonly mostRead?: number | undefined;
  /** Whether half precision is left for the file as it is stored, in which everything is told then: `isHalfLeft`. */
  readonly isHalfLeft?: boolean | undefined;
  /** What is known to fail verification; nothing by default. */
  readonly leaveOut?: LeaveOut | undefined;
}

/** Whether floats are to be stored in half. */
export function changesTypes({ passes }: FixSettings): boolean {
  return passes.some(({ name }) => name === "half");
}

/** A product of the result that would be faster with its axes padded. */
export interface RemainingProduct {
  /** Code of the rule that finds it. */
  readonly rule: string;
  readonly product: CostedProduct;
  /** Predicted to be saved in a run of the model, the product seen by itself. */
  readonly microseconds: number;
  /** Whether its interval stays above zero. */
  readonly isCertain: boolean;
}

/** Why a part of a pass, or with no part named all of it, is not to be done; undefined where it is. */
export type LeaveOut = (pass: PassName, part: string | undefined) => string | undefined;

/** Passes that change the model, with the parts that can be left out by themselves. */
export type PassParts = ReadonlyMap<PassName, ReadonlySet<string>>;

/** What one pass does in one place. */
export interface FixRegion extends PassRegion {
  readonly pass: PassName;
}

export interface FixNote extends PassNote {
  readonly pass: PassName;
  /** Of what a rule still finds in the result: its code. */
  readonly rule?: string;
  /** Where its node is, as `Scope.path` has it; undefined in the main graph. A function's node has one name in each of its calls. */
  readonly graph?: string | undefined;
  /** Whether its time is a part of what all that was declined would save, and not the product's by itself. */
  readonly isPart?: boolean;
  /** What that time is computed in, where the message is told of the file as it is stored. */
  readonly savedIn?: Workload["target"]["precision"] | undefined;
  /** Set where it is told behind fixes that are made in a file in that precision alone. */
  readonly madeIn?: Workload["target"]["precision"] | undefined;
  /** Of what failed verification: it turns a decision between values that half precision does not tell apart. */
  readonly isDecision?: boolean;
}

/** One run of a pass that changed the model. */
export interface Applied {
  /** What it did. */
  readonly notes: readonly FixNote[];
  readonly after: OpenModel;
}

/** A model with patches applied, not yet written. */
export interface FixedModel {
  readonly model: OpenModel;
  readonly changed: boolean;
  readonly notes: readonly FixNote[];
  /** In order. */
  readonly applied: readonly Applied[];
  /** Of inputs and outputs that are transposed, by name: the new axis i is the old axis p[i]. */
  readonly permutations: ReadonlyMap<string, readonly number[]>;
  /** Where it takes another batch: how a run of it is made of runs of the original. */
  readonly stacked?: Stacked | undefined;
  readonly parts: PassParts;
  /** Labels of nodes of the main graph that plugins rewrote. */
  readonly rewritten: ReadonlySet<string>;
  /** Of passes that decide place by place. */
  readonly regions: readonly FixRegion[];
  /** Its bytes, with everything the patches made in one data file of this name. */
  render(dataLocation: string): PatchedModel;
}

/** A model that no pass has touched. */
export function unchanged(model: OpenModel): FixedModel {
  return {
    model,
    changed: false,
    notes: [],
    applied: [],
    permutations: new Map(),
    parts: new Map(),
    rewritten: new Set(),
    regions: [],
    render: (location) => render(model, location),
  };
}

/**
 * Settings for a model as its file has it. Where it is to take another batch, sizes are bound of what it becomes: a symbol that only the
 * result has is none of the file's, and neither is a shape with the new batch.
 */
export function sizedAs<S extends Pick<FixSettings, "rebatch" | "shapes" | "dims">>(
  file: OpenModel,
  settings: S,
): S {
  if (settings.rebatch === undefined) return settings;
  return { ...settings, shapes: undefined, dims: settings.dims && dimsOf(file, settings.dims) };
}

/** The model with the batch that is asked for. Throws InputError `batch-not-free` where it cannot have it. */
export function rebatched(model: OpenModel, settings: FixSettings): FixedModel {
  const { rebatch } = settings;
  if (rebatch === undefined) return unchanged(model);
  const made = runPasses(model, { ...sizedAs(model, settings), passes: [rebatch], leaveOut: undefined });
  // All or nothing: no part of what follows stands without it. The account begins behind it.
  return { ...made, parts: new Map(), applied: [] };
}

/** Runs the passes over an open model. The result reads from it: keep it open. Throws InputError. */
export function runPasses(original: OpenModel, settings: FixSettings): FixedModel {
  let model = original;
  const notes: FixNote[] = [];
  const applied: Applied[] = [];
  const permutations = new Map<string, readonly number[]>();
  const parts = new Map<PassName, Set<string>>();
  const rewritten = new Set<string>();
  const regions: FixRegion[] = [];
  let stacked: Stacked | undefined;
  for (const pass of settings.passes) {
    if (settings.leaveOut?.(pass.name, undefined) !== undefined) continue;
    // A name of its own for every patch, in later rounds too: one that is there is still read.
    const location = `tc-lint.${model.files.made.size}.data`;
    const {
      patch,
      notes: said,
      permutations: moved,
      parts: made = [],
      regions: places,
      ...result
    } = resultOf(pass, model, settings, location);
    stacked = result.stacked ?? stacked;
    for (const [name, permutation] of moved ?? []) permutations.set(name, permutation);
    const named = said.map((note): FixNote => ({ ...note, pass: pass.name }));
    pushAll(notes, named);
    const preview = takePreview(patch, settings);
    if (patch.isEmpty) continue;
    parts.set(pass.name, new Set([...(parts.get(pass.name) ?? []), ...made]));
    for (const label of result.rewritten ?? []) rewritten.add(label);
    for (const place of places ?? []) regions.push({ ...place, pass: pass.name });
    model = preview ?? patched(model, patch, location);
    applied.push({ notes: named.filter(({ kind }) => kind === "changed"), after: model });
  }
  const changed = model !== original;
  return {
    model,
    changed,
    notes,
    applied,
    permutations,
    stacked,
    parts,
    rewritten,
    regions,
    render: (location) => render(model, location),
  };
}

/** What a pass would do, and nothing done. */
export function proposalOf(pass: Pass, model: OpenModel, settings: FixSettings): PassResult {
  return newResult(pass, model, settings, "tc-lint.preview.data", () => true);
}

/** A pass asked twice about one model says the same: the round that finds nothing more to do ends with passes that ran on it before. */
function resultOf(pass: Pass, model: OpenModel, settings: FixSettings, location: string): PassResult {
  // Whoever has a patch may add to it.
  const isToBeKept = ({ patch }: PassResult) => patch.isEmpty;
  const known = takeResult(pass, model, settings);
  if (known === undefined) return newResult(pass, model, settings, location, isToBeKept);
  const { result, reading } = known;
  if (isToBeKept(result)) keepResult(pass, model, { settings, result: () => result, reading });
  return result;
}

function newResult(
  pass: Pass,
  model: OpenModel,
  settings: FixSettings,
  location: string,
  isToBeKept: (result: PassResult) => boolean,
): PassResult {
  const reading: Reading = { mostBytes: settings.mostRead };
  const result = pass.run(contextOf(model, settings, pass.name, location, reading));
  if (isToBeKept(result)) keepResult(pass, model, { settings, result: () => result, reading });
  return result;
}
