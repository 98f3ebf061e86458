/** @file Models that a baseline names where they are not any more: known elsewhere by the digest of their findings, or gone. */
import { createHash } from "node:crypto";
import { rules } from "../../rules/index.ts";
import type { SuppressedModel, Suppressions } from "../settings/suppressions.ts";
import type { FoundModel } from "./found-models.ts";
import { isCovered, isHidden, type SuppressContext, stillThere } from "./still-there.ts";

export interface Located {
  /** By key of the model as it is now. */
  readonly entries: ReadonlyMap<string, SuppressedModel>;
  readonly moved: readonly { readonly from: string; readonly to: string }[];
  readonly gone: readonly string[];
  /** Neither gone nor known: a model of the run may be it. */
  readonly unsure: readonly string[];
}

/** A model that the file does not name is one that it names elsewhere, if that is not there any more and the findings are the same. */
export function located(
  models: readonly FoundModel[],
  file: Suppressions,
  context: SuppressContext,
): Located {
  const entries = new Map<string, SuppressedModel>();
  const keys = new Set(models.map(({ key }) => key));
  const dead = new Set([...file.keys()].filter((key) => !keys.has(key) && !context.isThere(key)));
  const { byName, largestFirst } = namesOf(dead, file);
  const ambiguous = new Set<string>();
  const moved: { from: string; to: string }[] = [];
  for (const model of models) {
    const entry = file.get(model.key);
    if (entry !== undefined) entries.set(model.key, entry);
    if (entry !== undefined || !model.isWhole) continue;
    const same = firstOf(largestFirst, (codes) =>
      nonEmpty(byName.get(nameOf(codes, digestOf(model, codes)))),
    );
    const from = same?.[0];
    const known = from === undefined ? undefined : file.get(from);
    if (from === undefined || known === undefined) continue;
    // What is listed of one may be all that there is of another.
    const isOther = (key: string) => key !== from && mayHideMore(model, known, file.get(key), context);
    if ([...dead].some(isOther)) {
      ambiguous.add(from);
      continue;
    }
    same?.shift();
    dead.delete(from);
    entries.set(model.key, known);
    moved.push({ from, to: model.key });
  }
  const strangers = models.filter(({ key }) => !entries.has(key));
  const isUnsure = (key: string) =>
    ambiguous.has(key) || strangers.some((model) => mayBe(model, file.get(key), context));
  const unsure = [...dead].filter(isUnsure);
  return { entries, moved, gone: [...dead].filter((key) => !unsure.includes(key)), unsure };
}

function namesOf(keys: Iterable<string>, file: Suppressions) {
  const byName = new Map<string, string[]>();
  const ruleSets = new Map<string, readonly string[]>();
  for (const key of keys) {
    const { digest = "", rules } = file.get(key) ?? {};
    if (digest === "" || rules === undefined) continue;
    const codes = [...rules.keys()].sort();
    ruleSets.set(codes.join(), codes);
    const name = nameOf(codes, digest);
    byName.set(name, [...(byName.get(name) ?? []), key]);
  }
  // Of two that a model may have been, the one with more of its rules: the other is left for whom it fits alone.
  return { byName, largestFirst: [...ruleSets.values()].sort((a, b) => b.length - a.length) };
}

/** With the rules: findings of one rule have the digest of these and of none of another's, too. */
function nameOf(codes: readonly string[], digest: string): string {
  return [...codes, digest].join();
}

/** Whether a run that does not know `model` by its findings may say too little of it. */
function mayBe(model: FoundModel, entry: SuppressedModel | undefined, context: SuppressContext): boolean {
  return entry !== undefined && (!isCovered(model, entry) || mayHide(model, entry, context));
}

/** Whether all of `entry` may be found in `model`, if it were listed. */
function mayHide(model: FoundModel, entry: SuppressedModel | undefined, context: SuppressContext): boolean {
  if (entry === undefined || !isHidden(model, entry, context)) return false;
  const rules = [...entry.rules];
  const isOn = (code: string) => context.isOn(model.path, code);
  const isListed = rules.every(
    ([code, count]) => isOn(code) && !model.unlisted.has(code) && model.found.get(code)?.size === count,
  );
  // Then its digest tells.
  if (isListed) return false;
  return rules.every((rule) => !isOn(rule[0]) || stillThere(model, rule, entry, context) >= rule[1]);
}

/** Whether what `known` counts, which is what is listed of `model`, may be part of `entry`. */
function mayHideMore(
  model: FoundModel,
  known: SuppressedModel,
  entry: SuppressedModel | undefined,
  context: SuppressContext,
): boolean {
  const isPart = [...known.rules].every(([code, count]) => (entry?.rules.get(code) ?? 0) >= count);
  return isPart && mayHide(model, entry, context);
}

function nonEmpty<T>(list: T[] | undefined): T[] | undefined {
  return list?.length === 0 ? undefined : list;
}

function firstOf<T, U>(values: Iterable<T>, map: (value: T) => U | undefined): U | undefined {
  for (const value of values) {
    const result = map(value);
    if (result !== undefined) return result;
  }
  return undefined;
}

/** Whose findings are known by the rule alone, the same in every model. */
const ofModels = new Set<string>(rules.flatMap(({ code, about }) => (about === "model" ? [code] : [])));

/** Findings at nodes tell one model from another; of one that has none of them counted its size does, which another export of it keeps. */
export function digestOf({ found, parameters }: FoundModel, codes: Iterable<string>): string {
  const listed = [...codes].filter((code) => (found.get(code)?.size ?? 0) > 0);
  const fingerprints = listed.flatMap((code) => [...(found.get(code) ?? [])]).sort();
  const size = listed.every((code) => ofModels.has(code)) ? [`${parameters} parameters`] : [];
  return createHash("sha256")
    .update([...fingerprints, ...size].join())
    .digest("hex")
    .slice(0, 32);
}
