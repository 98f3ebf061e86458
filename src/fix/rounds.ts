/** @file Passes again and again, until a model stays as it is. */
import { InputError } from "../ir/errors.ts";
import { pushAll } from "../ir/lists.ts";
import { labelOf } from "../ir/model.ts";
import type { OpenModel } from "../onnx/open.ts";
import { type FixedModel, type FixNote, type FixSettings, runPasses } from "./pipeline.ts";

/** A pass may make room for another: ESLint's bound, never met so far. */
const maxRounds = 10;

/** Passes in order, again and again while one of them still changes something. Throws InputError `no-fixed-point`. */
export function runToFixedPoint(original: OpenModel, settings: FixSettings): FixedModel {
  let fixed = runPasses(original, settings);
  const notes = [...fixed.notes];
  const applied = [...fixed.applied];
  const permutations = new Map(fixed.permutations);
  const parts = new Map([...fixed.parts].map(([pass, names]) => [pass, new Set(names)]));
  const rewritten = new Set(fixed.rewritten);
  const regions = [...fixed.regions];
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
    pushAll(applied, next.applied);
    for (const [name, permutation] of next.permutations) permutations.set(name, permutation);
    for (const [pass, names] of next.parts) parts.set(pass, new Set([...(parts.get(pass) ?? []), ...names]));
    for (const label of next.rewritten) rewritten.add(label);
    pushAll(regions, next.regions);
    fixed = next;
  }
  const changed = fixed.model !== original;
  return { ...fixed, changed, notes, applied, permutations, parts, rewritten, regions };
}

/** Two runs, the second over the first one's result. */
export function inTurn(first: FixedModel, second: FixedModel): FixedModel {
  const parts = new Map([...first.parts]);
  for (const [pass, names] of second.parts) parts.set(pass, new Set([...(parts.get(pass) ?? []), ...names]));
  const said = new Set(first.notes.map(textOf));
  const isNews = (note: FixNote) => note.kind === "changed" || !said.has(textOf(note));
  return {
    ...second,
    changed: first.changed || second.changed,
    notes: [...first.notes, ...second.notes.filter(isNews)],
    applied: [...first.applied, ...second.applied],
    permutations: new Map([...first.permutations, ...second.permutations]),
    stacked: first.stacked ?? second.stacked,
    parts,
    rewritten: new Set([...first.rewritten, ...second.rewritten]),
    regions: [...first.regions, ...second.regions],
  };
}

/** A pass that runs again says again what it leaves. */
function textOf({ pass, kind, node, message }: FixNote): string {
  return [pass, kind, node === undefined ? "" : labelOf(node), message].join("\u0000");
}
