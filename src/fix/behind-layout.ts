/**
 * @file Safe fixes of a file that a step to NHWC wrote. Padding is decided before the layout: what that step turned is turned back, repaired, and
 * turned again.
 */
import { isNhwcBody } from "../facts/nhwc-body.ts";
import { labelOf } from "../ir/model.ts";
import type { OpenModel } from "../onnx/open.ts";
import { channelsLast } from "../passes/channels-last/channels-last.ts";
import { turnedBack } from "../passes/channels-last/turned-back.ts";
import { patched } from "./edits.ts";
import type { FixedModel, FixSettings, LeaveOut } from "./pipeline.ts";
import { priced, unboundFacts } from "./prices.ts";
import { inTurn, runToFixedPoint } from "./rounds.ts";

/** `settings` are those of safe passes. Undefined where nothing was turned, or nothing of it is padded. Throws InputError. */
export function repairedBehindLayout(model: OpenModel, settings: FixSettings): FixedModel | undefined {
  const { root } = unboundFacts(priced(model, settings));
  const bodies = [...root.children].filter(([, [body]]) => body !== undefined && isNhwcBody(body));
  if (bodies.length === 0) return undefined;
  // What is joined is in no body, and a change of its own.
  const joins = settings.passes.filter(({ name }) => name === "join");
  const joined = runToFixedPoint(model, { ...settings, passes: joins });
  const back = asBefore(joined.model, settings);
  const repaired = runToFixedPoint(back, { ...settings, leaveOut: withFolding(settings.leaveOut) });
  const axes = repaired.parts.get("align");
  if (axes === undefined) return undefined;
  const calls = new Set(bodies.map(([call]) => call));
  const stayed = new Set(model.graph.nodes.filter((node) => !calls.has(node)).map(labelOf));
  const turned = runToFixedPoint(repaired.model, layoutAgain(settings, stayed));
  // What is folded is what turning back has laid bare.
  const notes = repaired.notes.filter(({ pass, kind }) => pass !== "fold" || kind !== "changed");
  const changes = notes.filter(({ kind }) => kind === "changed");
  const padded: FixedModel = {
    ...inTurn(repaired, turned),
    notes,
    applied: [{ notes: changes, after: turned.model }],
    parts: new Map([["align", axes]]),
    regions: [],
  };
  return inTurn(joined, padded);
}

/** The file as it was before that step, but for its names of values and what folding would remove: calls as what stands in them. */
export function asBefore(model: OpenModel, settings: FixSettings): OpenModel {
  const facts = unboundFacts(priced(model, settings));
  return patched(model, turnedBack(facts), "tc-lint.preview.data");
}

/** NHWC where it was, and nowhere else. */
function layoutAgain(settings: FixSettings, stayed: ReadonlySet<string>): FixSettings {
  const options = {
    ...settings.options,
    nhwcOnlyWhereFaster: false,
    nhwcIo: false,
    nhwcForm: "portable",
  } as const;
  const leaveOut: LeaveOut = (pass, part) =>
    pass === "channels-last" && part !== undefined && stayed.has(part) ? "it was left NCHW" : undefined;
  // A Transpose that meets its inverse becomes an Identity.
  const folds = settings.passes.filter(({ name }) => name === "fold");
  return { ...settings, options, leaveOut, passes: [channelsLast, ...folds] };
}

/** Transposes of neighbours go, whatever else is left out. */
function withFolding(leaveOut: LeaveOut | undefined): LeaveOut | undefined {
  return leaveOut && ((pass, part) => (pass === "fold" ? undefined : leaveOut(pass, part)));
}
