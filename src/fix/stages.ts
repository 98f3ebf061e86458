/** @file A repair in the order of a model's account: safe fixes, half precision, layout; where the model stands after each. */
import type { OpenModel } from "../onnx/open.ts";
import type { AccountState } from "../workload/account.ts";
import { isHalf, pricedAt } from "../workload/account.ts";
import { decideSafe } from "./decide.ts";
import { belowThreshold, decideLayout } from "./decide-layout.ts";
import {
  asStored,
  contextOf,
  type FixedModel,
  type FixNote,
  type FixSettings,
  priced,
  unchanged,
} from "./pipeline.ts";
import { inTurn, runToFixedPoint } from "./rounds.ts";

export interface Staged {
  readonly fixed: FixedModel;
  /** Before its layout changed: where padding was decided, by the names of the file's own nodes. */
  readonly padded: OpenModel;
  readonly states: readonly AccountState[];
  /** Why safe fixes that were found are not made. */
  readonly declined?: string | undefined;
}

/** All passes of `settings`, stage by stage. Throws InputError. */
export function runStages(original: OpenModel, settings: FixSettings): Staged {
  const safe = decideSafe(original, settings);
  const { passes } = settings;
  const unsafe = passes.filter((pass) => !pass.safe);
  const states = statesBefore(original, settings);
  states.push({ step: "safe", workload: safe.after });
  let { fixed } = safe;
  const halves = unsafe.filter(({ name }) => name !== "channels-last");
  const changesTypes = halves.length > 0;
  // In half a product may be off a multiple that it met before.
  const declined = safe.declined ?? (changesTypes && !fixed.changed ? decidedBefore : undefined);
  if (changesTypes) {
    // Padding that was declined is not made after all; folding prepares the other passes.
    const again = passes.filter(
      ({ name, safe: isSafe }) => isSafe && (name === "fold" || safe.fixed.changed),
    );
    const made = runToFixedPoint(fixed.model, { ...settings, passes: [...again, ...halves] });
    fixed = inTurn(fixed, isPreparation(made) ? withoutChanges(made, fixed.model) : made);
    const step = isHalf(settings.target.precision) ? "kept" : "half";
    states.push({ step, workload: asWritten(fixed.model, settings, true) });
  }
  const padded = fixed.model;
  const layouts = unsafe.filter(({ name }) => name === "channels-last");
  if (layouts.length > 0) {
    const stored = changesTypes ? asStored(settings) : settings;
    const whole = priced(original, settings).timeline.microseconds;
    fixed = inTurn(fixed, inLayout(fixed.model, { ...stored, passes: layouts }, whole));
    states.push({ step: "layout", workload: asWritten(fixed.model, settings, changesTypes) });
  }
  return { fixed, padded, states, declined };
}

/** Folding alone: it was decided before, and what it prepared for was not made. */
function isPreparation({ parts }: FixedModel): boolean {
  return [...parts.keys()].every((name) => name === "fold");
}

function withoutChanges({ notes }: FixedModel, model: OpenModel): FixedModel {
  return { ...unchanged(model), notes: notes.filter(({ kind }) => kind !== "changed") };
}

const decidedBefore = "padding was decided before the types changed: --fix of the result decides anew";

/** As asked for, or where it is predicted to be faster; the model as it is with the reasons where it is not. */
function inLayout(model: OpenModel, settings: FixSettings, whole: number): FixedModel {
  if (settings.options.nhwcOnlyWhereFaster !== true) return runToFixedPoint(model, settings);
  const decision = decideLayout(model, settings, whole);
  if (decision !== undefined && decision.declined === undefined) return runToFixedPoint(model, settings);
  const reason = decision?.declined ?? belowThreshold;
  const notes = settings.passes.flatMap((pass) =>
    pass.run(contextOf(model, settings, pass.name, "tc-lint.preview.data")).notes.map((note): FixNote => {
      const { name } = pass;
      if (note.kind !== "changed") return { ...note, pass: name };
      const message = `everything stays NCHW: ${reason}; --layout nhwc converts it all the same`;
      return { kind: "blocked", pass: name, node: note.node, message };
    }),
  );
  return { ...unchanged(model), notes };
}

/** The file as it is, and in the target's precision. */
function statesBefore(original: OpenModel, settings: FixSettings): AccountState[] {
  const workload = priced(original, settings);
  return [
    { step: "exported", workload: pricedAt(workload, "as-is", settings.cost) },
    { step: "precision", workload },
  ];
}

/** A file that was brought to half is priced in the types that it now stores. */
function asWritten(model: OpenModel, settings: FixSettings, changesTypes: boolean) {
  const workload = priced(model, settings);
  return changesTypes ? pricedAt(workload, "as-is", settings.cost) : workload;
}
