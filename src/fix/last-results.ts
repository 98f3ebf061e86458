/** @file What passes said of a model last: a proposal until it is taken, and that there is nothing to do. */
import type { Model } from "../ir/model.ts";
import type { Pass, PassResult } from "../passes/pass.ts";
import type { FixSettings } from "./pipeline.ts";
import type { Reading } from "./unread.ts";

interface Kept {
  readonly settings: FixSettings;
  readonly result: () => PassResult;
  /** Of what the result has yet to read. */
  readonly reading: Reading;
}

/** For as long as the model is there. */
const lastResults = new WeakMap<Model, Map<Pass, Kept>>();

/** What a pass said of the model with these settings, and what it read for that; it is not kept any longer. */
export function takeResult(
  pass: Pass,
  model: Model,
  settings: FixSettings,
): { readonly result: PassResult; readonly reading: Reading } | undefined {
  const results = lastResults.get(model);
  const kept = results?.get(pass);
  results?.delete(pass);
  if (kept === undefined || !saysTheSame(pass, kept, settings)) return undefined;
  kept.reading.mostBytes = settings.mostRead;
  return { result: kept.result(), reading: kept.reading };
}

/** Where less may be read, what was read so far must be within that. */
function saysTheSame({ isOfModelAlone = false }: Pass, kept: Kept, settings: FixSettings): boolean {
  const { settings: own, reading } = kept;
  if (own === settings) return true;
  const mostBytes = settings.mostRead ?? Number.POSITIVE_INFINITY;
  return isOfModelAlone && own.leaveOut === settings.leaveOut && (reading.largestBytes ?? 0) <= mostBytes;
}

export function keepResult(pass: Pass, model: Model, kept: Kept): void {
  const results = lastResults.get(model) ?? new Map<Pass, Kept>();
  lastResults.set(model, results.set(pass, kept));
}
