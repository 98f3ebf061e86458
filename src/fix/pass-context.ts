/** @file What a pass is told of the model that it runs on. */

import { once } from "../ir/once.ts";
import type { OpenModel } from "../onnx/read-model.ts";
import { tensorBytes } from "../onnx/tensor-bytes.ts";
import { padLack } from "../passes/align/pad-lack.ts";
import { FreshNames } from "../passes/names.ts";
import type { Account, PassContext, PassName, Pricing } from "../passes/pass.ts";
import { encodeNumbers } from "../passes/tensors.ts";
import { changeBetween, uncertaintyOf } from "../workload/change.ts";
import { reordering } from "../workload/operators.ts";
import { priceFacts, priceModel, trafficOf, type Workload } from "../workload/workload.ts";
import { patched } from "./edits.ts";
import type { FixSettings } from "./pipeline.ts";
import { asStored, previewOf, priced, unboundFacts } from "./prices.ts";
import { type Reading, readingUpTo } from "./unread.ts";

/** `location` is what the data of the pass's patch will be called. */
export function contextOf(
  model: OpenModel,
  settings: FixSettings,
  pass: PassName,
  location: string,
  reading: Reading = { mostBytes: settings.mostRead },
): PassContext {
  const { target, options, leaveOut } = settings;
  const workload = priced(model, settings);
  const traffic = once(() => trafficOf(workload));
  return {
    model,
    facts: unboundFacts(workload),
    products: workload.products,
    get traffic() {
      return traffic();
    },
    target,
    options,
    pricing: pricingOf(workload, settings),
    account: accountOf(workload, model, settings),
    names: new FreshNames(model),
    leftOut: leaveOut && ((part) => leaveOut(pass, part)),
    open: readingUpTo(reading, (tensor) => tensorBytes(model.source, model.files, tensor, encodeNumbers)),
    preview: (patch) => previewOf(model, patch, location, settings),
    patched: (patch) => patched(model, patch, "tc-lint.preview.data"),
    savingOf: (patch) => {
      const after = priceModel(patched(model, patch, "tc-lint.preview.data"), settings);
      return changeBetween(workload, after, settings.cost).saves;
    },
  };
}

export function pricingOf(
  workload: Pick<Workload, "timeline" | "bindings">,
  {
    target,
    cost,
    minSaving,
    onlyWhereFaster,
    padsAtEnds,
  }: Pick<FixSettings, "target" | "cost" | "minSaving" | "onlyWhereFaster" | "padsAtEnds">,
): Pricing {
  const { fuses } = target.stack;
  return {
    estimate: (work, detail) => cost.estimate(work, target, detail).microseconds,
    repeating: fuses.elementwise === "none" ? { variant: "bias" } : undefined,
    inside: padsAtEnds === true ? undefined : copiesOf(fuses),
    cannotPad: (dtype) => padLack(dtype, target),
    uncertainty: (changes) => uncertaintyOf(changes, { target, cost }),
    mustGain: onlyWhereFaster === true,
    bindings: workload.bindings,
    get modelMicroseconds() {
      return workload.timeline.microseconds;
    },
    get leastMicroseconds() {
      return minSaving * workload.timeline.microseconds;
    },
  };
}

/** Where a kernel is a node, an operator that reads a view has its elements put in order before. */
function copiesOf({ views, elementwise }: FixSettings["target"]["stack"]["fuses"]): Pricing["inside"] {
  const ofView = elementwise === "none" ? reordering : undefined;
  return { slices: views ? ofView : "slice", pads: elementwise === "loops" ? undefined : "pad" };
}

function accountOf({ facts }: Workload, model: OpenModel, settings: FixSettings): Account {
  const { cost } = settings;
  const { target } = asStored(settings);
  return {
    estimate: (work) => cost.estimate(work, target).microseconds,
    microsecondsWith: (patch) => {
      const stored = { ...settings, target };
      const { timeline } = patch.isEmpty
        ? priceFacts(facts, stored)
        : priceModel(patched(model, patch, "tc-lint.preview.data"), stored);
      return timeline.microseconds;
    },
  };
}
