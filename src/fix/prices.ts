/** @file What a model that a repair goes through takes: inferred and priced once, and kept as long as it is there. */
import { type Facts, inferFacts } from "../facts/infer.ts";
import type { Patch, PatchSnapshot } from "../ir/patch.ts";
import type { OpenModel } from "../onnx/read-model.ts";
import {
  isSameTarget,
  priceFacts,
  priceModel,
  type Workload,
  type WorkloadSettings,
} from "../workload/workload.ts";
import { patched } from "./edits.ts";

interface KnownPrice {
  readonly settings: WorkloadSettings;
  readonly workload: Workload;
}

const knownPrices = new WeakMap<OpenModel, readonly KnownPrice[]>();

/** Facts and prices of a model; those that were asked for last, in the target's types and in the file's, are kept as long as it is. */
export function priced(model: OpenModel, settings: WorkloadSettings): Workload {
  const known = knownPrices.get(model)?.find((each) => isPricedAlike(each.settings, settings));
  if (known !== undefined) return known.workload;
  const facts = knownFacts(model, settings);
  const workload = facts === undefined ? priceModel(model, settings) : priceFacts(facts, settings);
  keepPriced(model, settings, workload);
  lastPreviews.delete(settings);
  return workload;
}

/** What somebody has priced already, with these settings. */
export function keepPriced(model: OpenModel, settings: WorkloadSettings, workload: Workload): void {
  const last = knownPrices.get(model) ?? [];
  knownPrices.set(model, [{ settings, workload }, ...last.slice(0, 1)]);
}

function isPricedAlike(a: WorkloadSettings, b: WorkloadSettings): boolean {
  return (
    isSameTarget(a.target, b.target) &&
    a.cost === b.cost &&
    a.unstored === b.unstored &&
    isSizedAlike(a, b) &&
    a.timelineOf === b.timelineOf
  );
}

function isSizedAlike(a: WorkloadSettings, b: WorkloadSettings): boolean {
  return a.shapes === b.shapes && a.dims === b.dims;
}

/** A patch applied, and what was inferred of the result with nothing bound. */
interface Preview {
  readonly patch: Patch;
  /** What was in it: a patch can be added to. */
  readonly said: PatchSnapshot;
  readonly model: OpenModel;
  readonly facts: Facts;
}

/** The last one looked at: as a rule the patch is applied as it is, and its facts are those of the next pass. */
const lastPreviews = new WeakMap<WorkloadSettings, Preview>();

/** What is inferred of a model after a patch, kept for the pass behind. */
export function previewOf(
  model: OpenModel,
  patch: Patch,
  location: string,
  settings: WorkloadSettings,
): Facts {
  const after = patched(model, patch, location);
  const facts = inferFacts(after);
  lastPreviews.set(settings, { patch, said: patch.snapshot(), model: after, facts });
  return facts;
}

/** Undefined where nothing was inferred yet, or not with the sizes that are bound. What it is priced for changes nothing about them. */
function knownFacts(model: OpenModel, settings: WorkloadSettings): Facts | undefined {
  const elsewhere = knownPrices.get(model)?.find((each) => isSizedAlike(each.settings, settings));
  if (elsewhere?.workload.model === model) return elsewhere.workload.facts;
  const preview = lastPreviews.get(settings);
  const isBound = (settings.shapes?.size ?? 0) + (settings.dims?.size ?? 0) > 0;
  return preview?.model === model && !isBound ? preview.facts : undefined;
}

/** The model after a patch that was looked at last; undefined where another was, or the patch has more in it since: then it is forgotten. */
export function takePreview(patch: Patch, settings: WorkloadSettings): OpenModel | undefined {
  const preview = lastPreviews.get(settings);
  if (preview?.patch === patch && patch.isAsIn(preview.said)) return preview.model;
  lastPreviews.delete(settings);
  return undefined;
}

const unbound = new WeakMap<Workload, Facts>();

/** What holds at every size. Sizes that the user binds are for prices: a rewrite that knew them would hold at these alone. */
export function unboundFacts(workload: Workload): Facts {
  if (!workload.facts.isBound) return workload.facts;
  const facts = unbound.get(workload) ?? inferFacts(workload.model);
  unbound.set(workload, facts);
  return facts;
}

/** Settings that price every value in the type that it is stored in. */
export function asStored<S extends WorkloadSettings>(settings: S): S {
  return { ...settings, target: { ...settings.target, precision: "as-is" } };
}
