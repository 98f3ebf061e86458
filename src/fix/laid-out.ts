/** @file What a model becomes in the layout that was asked for, or that is predicted to be faster. */
import { isHalf } from "../ir/fix-command.ts";
import type { OpenModel } from "../onnx/open.ts";
import { pricedAt } from "../workload/priced-at.ts";
import type { Workload } from "../workload/workload.ts";
import { belowThreshold, decideLayout, type LayoutDecision, layoutIn } from "./decide-layout.ts";
import { contextOf } from "./pass-context.ts";
import { type FixedModel, type FixNote, type FixSettings, unchanged } from "./pipeline.ts";
import { asStored, priced } from "./prices.ts";
import { inTurn, runToFixedPoint } from "./rounds.ts";
import { isTimedAsStored } from "./stored-types.ts";

export interface LaidOut {
  /** The model that was given where nothing is to be changed. */
  readonly fixed: FixedModel;
  /** Before its layout changed. */
  readonly padded: OpenModel;
  /** What it is decided to be in another layout, in a file whose types nobody changes; undefined where that was asked for by name. */
  readonly turned?: Workload | undefined;
}

export function layoutInHalf(
  model: OpenModel,
  settings: FixSettings,
  file: Workload,
): LayoutDecision | undefined {
  const passes = layoutPasses(settings);
  if (passes.length === 0) return undefined;
  return layoutIn(inHalfOf(priced(model, settings), settings), model, { ...settings, passes }, file);
}

function layoutPasses({ passes }: FixSettings): FixSettings["passes"] {
  return passes.filter(({ name }) => name === "channels-last");
}

/** A workload in half, which the target may compute in anyway. */
export function inHalfOf(workload: Workload, { target, options, cost }: FixSettings): Workload {
  return isHalf(target.precision) ? workload : pricedAt(workload, halfOf(options), cost);
}

function halfOf({ halfType }: FixSettings["options"]): "fp16" | "bf16" {
  return halfType === "bfloat16" ? "bf16" : "fp16";
}

export function laidOut(before: FixedModel, settings: FixSettings, file: Workload): LaidOut {
  const { model } = before;
  const passes = layoutPasses(settings);
  if (passes.length === 0) return { fixed: before, padded: model };
  const stored = isTimedAsStored(settings) ? asStored(settings) : settings;
  const { fixed, turned } = inLayout(model, { ...stored, passes }, file);
  return { fixed: inTurn(before, fixed), padded: model, turned };
}

/** As asked for, or where it is predicted to be faster; the model as it is with the reasons where it is not. */
function inLayout(model: OpenModel, settings: FixSettings, file: Workload): Omit<LaidOut, "padded"> {
  if (settings.options.nhwcOnlyWhereFaster !== true) return { fixed: runToFixedPoint(model, settings) };
  const decision = decideLayout(model, settings, file);
  if (decision !== undefined && decision.declined === undefined && decision.needsHalf !== true)
    return { fixed: runToFixedPoint(model, settings), turned: decision.after };
  const reason = decision?.declined ?? belowThreshold;
  const notes = settings.passes.flatMap((pass) =>
    pass.run(contextOf(model, settings, pass.name, "tc-lint.preview.data")).notes.map((note): FixNote => {
      const { name } = pass;
      if (note.kind !== "changed") return { ...note, pass: name };
      const message = `everything stays NCHW: ${reason}; --layout nhwc converts it all the same`;
      return { kind: "blocked", pass: name, node: note.node, message };
    }),
  );
  return { fixed: { ...unchanged(model), notes } };
}
