/** @file Passes one after the other over a model that exists only as edits, until it is written. */
import type { CostModel } from "../cost/model.ts";
import { inferFacts } from "../facts/infer.ts";
import type { Target } from "../hardware/target.ts";
import { Patch } from "../ir/patch.ts";
import type { LintContext } from "../lint/context.ts";
import type { AnyRule } from "../lint/rule.ts";
import { buildContext, type ContextSettings } from "../lint/run.ts";
import { applyPatch, type PatchedModel } from "../onnx/apply.ts";
import { DataFiles } from "../onnx/data-files.ts";
import { modelFromSource, type OpenModel } from "../onnx/open.ts";
import { tensorBytes } from "../onnx/tensor-bytes.ts";
import { FreshNames } from "../passes/names.ts";
import type {
  Pass,
  PassContext,
  PassName,
  PassNote,
  PassOptions,
  Pricing,
  TrafficStep,
} from "../passes/pass.ts";
import { encodeNumbers } from "../passes/tensors.ts";
import { SegmentSource } from "../wire/segments.ts";

export interface FixSettings extends ContextSettings {
  readonly target: Target;
  readonly cost: CostModel;
  /** In order. */
  readonly passes: readonly Pass[];
  readonly options: PassOptions;
  /** Share of the model's time below which nothing is changed. */
  readonly minSaving: number;
  /** What they still find in the result is explained; none by default. */
  readonly rules?: readonly AnyRule[];
}

export interface FixNote extends PassNote {
  readonly pass: PassName;
  /** Of what a rule still finds in the result: its code. */
  readonly rule?: string;
}

/** A model with patches applied, not yet written. */
export interface FixedModel {
  readonly model: OpenModel;
  readonly changed: boolean;
  readonly notes: readonly FixNote[];
  /** Of inputs and outputs that are transposed, by name: the new axis i is the old axis p[i]. */
  readonly permutations: ReadonlyMap<string, readonly number[]>;
  /** Its bytes, with everything the patches made in one data file of this name. */
  render(dataLocation: string): PatchedModel;
}

/** Runs the passes over an open model. The result reads from it: keep it open. Throws InputError. */
export function runPasses(original: OpenModel, settings: FixSettings): FixedModel {
  let model = original;
  const notes: FixNote[] = [];
  const permutations = new Map<string, readonly number[]>();
  for (const pass of settings.passes) {
    const { patch, notes: said, permutations: moved } = pass.run(contextOf(model, settings));
    for (const [name, permutation] of moved ?? []) permutations.set(name, permutation);
    for (const note of said) notes.push({ ...note, pass: pass.name });
    // A name of its own for every patch, in later rounds too: one that is there is still read.
    if (!patch.isEmpty) model = patched(model, patch, `tc-lint.${model.files.made.size}.data`);
  }
  const changed = model !== original;
  return { model, changed, notes, permutations, render: (location) => render(model, location) };
}

function contextOf(model: OpenModel, settings: FixSettings): PassContext {
  const { target, options } = settings;
  const context = buildContext(model, settings);
  const { facts, products } = context;
  return {
    model,
    facts,
    products,
    traffic: trafficOf(context),
    target,
    options,
    pricing: pricingOf(context, settings),
    names: new FreshNames(model),
    open: (tensor) => tensorBytes(model.source, model.files, tensor, encodeNumbers),
    preview: (patch) => inferFacts(patched(model, patch, "tc-lint.preview.data"), settings),
  };
}

export function pricingOf(
  { timeline, bindings }: LintContext,
  { target, cost, minSaving }: Pick<FixSettings, "target" | "cost" | "minSaving">,
): Pricing {
  return {
    estimate: (work, detail) => cost.estimate(work, target, detail).microseconds,
    savingOf: (before, after) => cost.savingOf(before, after, target),
    bindings,
    modelMicroseconds: timeline.microseconds,
    leastMicroseconds: minSaving * timeline.microseconds,
  };
}

/** The main graph's kernels that only move memory. */
export function trafficOf({ timeline, facts }: LintContext): TrafficStep[] {
  return timeline.steps.flatMap(({ nodes, scope, work, detail, runs, product }) =>
    scope === facts.root && product === undefined && work.kind === "traffic"
      ? [{ nodes, work, detail, runs }]
      : [],
  );
}

/** The model after a patch, as if it had been written and read again. */
export function patched(model: OpenModel, patch: Patch, dataLocation: string): OpenModel {
  const { model: segments, data } = applyPatch(model, model.source, patch, dataLocation);
  const made = new Map(model.files.made);
  if (data !== undefined) made.set(dataLocation, new SegmentSource(dataLocation, data));
  return modelFromSource(new SegmentSource(model.path, segments), new DataFiles(model.path, made));
}

/** Brings what the patches made into one data file. */
export function render(model: OpenModel, location: string): PatchedModel {
  const patch = new Patch();
  const graph = patch.of(model.graph);
  for (const { name, initializer } of model.graph.values.values()) {
    const { data, dtype, dims } = initializer ?? {};
    if (initializer === undefined || data?.kind !== "external" || !model.files.made.has(data.location))
      continue;
    if (dtype === undefined || dims === undefined) continue;
    graph.tensors.set(name, {
      dtype,
      dims,
      bytes: tensorBytes(model.source, model.files, initializer, encodeNumbers),
    });
  }
  return applyPatch(model, model.source, patch, location);
}
