/** @file What passes said of a model last: a proposal until it is taken, and that there is nothing to do. */
import type { Model } from "../ir/model.ts";
import type { Pass, PassResult } from "../passes/pass.ts";

interface LastResults {
  readonly settings: object;
  readonly results: Map<Pass, () => PassResult>;
}

/** For as long as the model is there. */
const lastResults = new WeakMap<Model, LastResults>();

/** What a pass said of the model with these settings; it is not kept any longer. */
export function takeResult(pass: Pass, model: Model, settings: object): PassResult | undefined {
  const last = lastResults.get(model);
  const result = last?.settings === settings ? last.results.get(pass) : undefined;
  last?.results.delete(pass);
  return result?.();
}

export function keepResult(pass: Pass, model: Model, settings: object, result: () => PassResult): void {
  const last = lastResults.get(model);
  if (last?.settings === settings) last.results.set(pass, result);
  else lastResults.set(model, { settings, results: new Map([[pass, result]]) });
}
