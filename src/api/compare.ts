/** @file `compare` for programs: two models in, what differs between them out. */
import { compareSides } from "../compare/compare.ts";
import type { ModelComparison } from "../compare/result.ts";
import type { Calibration } from "../cost/calibration.ts";
import { InputError } from "../ir/errors.ts";
import type { LintSettings } from "../lint/run.ts";
import { missingWeights } from "../onnx/missing-weights.ts";
import type { OpenModel } from "../onnx/open.ts";
import { checkConfig } from "../settings/check.ts";
import { lintedSide } from "./compare-pair.ts";
import { type ModelProto, openInput } from "./lint.ts";
import { type ModelOptions, type PluginOptions, planOf } from "./options.ts";
import { rulesWith } from "./plugins.ts";
import { loadTimelines, stacksOf, withTimelines } from "./timelines.ts";

/** What a configuration file may say of the models, and what only a caller can. */
export interface CompareOptions extends ModelOptions, PluginOptions {
  /** How reports name models that are held in memory. Default `base.onnx` and `head.onnx`. */
  readonly baseName?: string;
  readonly headName?: string;
  /** Coefficients of a machine that someone measured. */
  readonly calibration?: Calibration;
}

type Input = string | Uint8Array | ModelProto;

/**
 * Compares a model with the one that it was: microseconds with the interval of the difference, in which errors that both predictions
 * have in common cancel; findings that are new, worse, fixed and unchanged; the graph; budgets. Each is a path, the bytes of a file, or
 * an onnx-proto ModelProto. Both are priced and linted with the same options, as `lint` does.
 *
 * Throws InputError where one of them cannot be read or an option is wrong. Where head contradicts itself, the comparison's `error` is
 * set; where base does, a notice says so and `time` is null. The work is synchronous and has no limits: see `lint`.
 */
export async function compare(
  base: Input,
  head: Input,
  options: CompareOptions = {},
): Promise<ModelComparison> {
  checkConfig(options, { type: "object" }, "options");
  const { baseName, headName, calibration, plugins = [], ...config } = options;
  const names = { base: nameOf(base, baseName, "base.onnx"), head: nameOf(head, headName, "head.onnx") };
  const rules = await rulesWith(plugins);
  const plans = { base: planOf(names.base, config, rules), head: planOf(names.head, config, rules) };
  using before = await openInput(base, names.base);
  using after = await openInput(head, names.head);
  await loadTimelines(stacksOf(plans.head.settings));
  const sideOf = (model: OpenModel, input: Input, plan: typeof plans.base) => {
    const missing = typeof input === "string" ? missingWeights(model) : [];
    return lintedSide(
      model,
      { ...plan, mustHave: [] },
      { calibration, notices: [...model.notices, ...missing] },
    );
  };
  const sides = await withTimelines(() => ({
    base: sideOf(before, base, plans.base),
    head: sideOf(after, head, plans.head),
  }));
  checkSizes([sides.base.settings, sides.head.settings], plans.head.mustHave);
  return compareSides(sides.base, sides.head, { path: names.head, status: "changed", notices: [] });
}

function nameOf(input: Input, name: string | undefined, standard: string): string {
  return name ?? (typeof input === "string" ? input : standard);
}

type Sizes = Pick<LintSettings, "shapes" | "dims">;

/** Throws InputError for a size that neither model has a place for. */
function checkSizes(sides: readonly Sizes[], names: readonly string[]): void {
  const unused = names.find(
    (name) => !sides.some(({ shapes, dims }) => shapes?.has(name) || dims?.has(name)),
  );
  if (unused === undefined) return;
  throw new InputError(
    "unknown-dimension",
    `shapes, dims: neither model has an input or a dimension named "${unused}"`,
  );
}
