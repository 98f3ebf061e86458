/**
 * @file Of the time that misaligned products cost, how much padding can save, how much a fix has saved, and why not the
 * rest. Two measures, both predicted, of one run of the model:
 *
 * **Recoverable** is the most that any padding found saves, all of the model counted: products, wider passes over memory,
 * Pads and Slices at inputs and outputs. Found by a wider search than the fix does (more starts, no --min-saving, no
 * preference for small models), among paddings that keep the function. **Recovered** is what the fixed model takes less.
 *
 * **Alone** is what the rules on misaligned axes (TC101, TC102, TC103, TC106) say of each product by itself: they know
 * neither what padding costs elsewhere, nor whether it is possible. Recovered of it is the difference in time of the
 * same product, at most what the rule says.
 */
import misalignedConvChannels from "../rules/misaligned-conv-channels.ts";
import misalignedGemm from "../rules/misaligned-gemm.ts";
import misalignedGroupChannels from "../rules/misaligned-group-channels.ts";
import misalignedHeadDim from "../rules/misaligned-head-dim.ts";
import { pricingOf } from "../src/fix/pass-context.ts";
import type { FixSettings } from "../src/fix/pipeline.ts";
import { runToFixedPoint } from "../src/fix/rounds.ts";
import { labelOf } from "../src/ir/model.ts";
import { type CostedProduct, LintContext } from "../src/lint/context.ts";
import type { AnyRule } from "../src/lint/rule.ts";
import type { OpenModel } from "../src/onnx/open.ts";
import { align } from "../src/passes/align/align.ts";
import { problemsOf } from "../src/passes/align/choose.ts";
import { freeAtoms } from "../src/passes/align/free-atoms.ts";
import { blockUnsafe, collectFills } from "../src/passes/align/lanes.ts";
import { relate } from "../src/passes/align/relate.ts";
import { explainer } from "../src/passes/align/remainder.ts";
import { fold } from "../src/passes/fold/fold.ts";
import { priceModel, trafficOf } from "../src/workload/workload.ts";

const rules: readonly AnyRule[] = [
  misalignedConvChannels,
  misalignedGemm,
  misalignedHeadDim,
  misalignedGroupChannels,
];

export interface Measure {
  readonly recoverableMicroseconds: number;
  readonly recoveredMicroseconds: number;
  readonly remainder: readonly Remainder[];
}

export interface Recovery extends Measure {
  readonly alone: Measure;
}

export interface Remainder {
  readonly reason: string;
  readonly products: number;
  readonly microseconds: number;
}

/** Of the safe passes, whatever else a fix does. */
export function recoveryOf(original: OpenModel, settings: FixSettings): Recovery {
  const folded = runToFixedPoint(original, { ...settings, passes: [fold] });
  const padded = runToFixedPoint(original, { ...settings, passes: [fold, align] });
  const before = new LintContext(priceModel(folded.model, settings), settings.cost);
  const after = new LintContext(priceModel(padded.model, settings), settings.cost);
  return { ...wholeMeasure(before, after, settings), alone: aloneMeasure(before, after, settings) };
}

/** Sums up what remains, by reason. */
class Reasons {
  readonly #known = new Map<string, { products: number; microseconds: number }>();

  add(reason: string, microseconds: number, products = 1): void {
    const known = this.#known.get(reason) ?? { products: 0, microseconds: 0 };
    known.products += products;
    known.microseconds += microseconds;
    this.#known.set(reason, known);
  }

  list(): Remainder[] {
    const all = [...this.#known].map(([reason, rest]) => ({ reason, ...rest }));
    return all.sort((a, b) => b.microseconds - a.microseconds);
  }
}

/** Of several models, or of several measures of one. */
export function sumOf(measures: readonly Measure[]): Measure {
  const reasons = new Reasons();
  let [recoverableMicroseconds, recoveredMicroseconds] = [0, 0];
  for (const measure of measures) {
    recoverableMicroseconds += measure.recoverableMicroseconds;
    recoveredMicroseconds += measure.recoveredMicroseconds;
    for (const { reason, microseconds, products } of measure.remainder)
      reasons.add(reason, microseconds, products);
  }
  return { recoverableMicroseconds, recoveredMicroseconds, remainder: reasons.list() };
}

function wholeMeasure(before: LintContext, after: LintContext, settings: FixSettings): Measure {
  const { facts } = before;
  const relations = relate(facts);
  blockUnsafe(relations, freeAtoms(relations), collectFills(relations));
  const products = before.products.filter(({ scope }) => scope === facts.root);
  const pricing = pricingOf(before, settings);
  const problems = problemsOf(
    relations,
    freeAtoms(relations),
    { products, traffic: trafficOf(before) },
    pricing,
  );
  const reasons = new Reasons();
  let recoverable = 0;
  for (const problem of problems) {
    const bound = problem.bound();
    const { savesMicroseconds, sizes, products: own } = problem.solve();
    recoverable += bound;
    const chosen = sizes.size > 0 ? savesMicroseconds : 0;
    if (bound - chosen < negligible) continue;
    const isSmall = bound < pricing.leastMicroseconds;
    reasons.add(
      isSmall ? "less than --min-saving" : "nearly all, with fewer added channels",
      bound - chosen,
      own.length,
    );
  }
  // A second round may find a little more than any first one.
  const saved = before.timeline.microseconds - after.timeline.microseconds;
  return {
    recoverableMicroseconds: recoverable,
    recoveredMicroseconds: Math.min(saved, recoverable),
    remainder: reasons.list(),
  };
}

/** Microseconds. */
const negligible = 1e-3;

function aloneMeasure(before: LintContext, after: LintContext, settings: FixSettings): Measure {
  const reasons = new Reasons();
  const { facts, products } = after;
  const work = { products: products.filter(({ scope }) => scope === facts.root), traffic: trafficOf(after) };
  const explain = explainer({ facts, work, pricing: pricingOf(after, settings) });
  const same = matcher(before, after);
  let [recoverable, recovered] = [0, 0];
  for (const [product, saves] of foundAlone(before)) {
    const fixed = same(product);
    const saved = fixed === undefined ? 0 : product.microseconds - fixed.microseconds;
    const counted = Math.min(Math.max(saved, 0), saves);
    recoverable += saves;
    recovered += counted;
    if (saves - counted <= saves * 1e-3) continue;
    const reason = fixed === undefined ? "the product is not there any more" : inGeneral(explain(fixed));
    reasons.add(reason, saves - counted);
  }
  return {
    recoverableMicroseconds: recoverable,
    recoveredMicroseconds: recovered,
    remainder: reasons.list(),
  };
}

/** Without names and figures: models are to be summed up. */
function inGeneral({ kind, message }: ReturnType<ReturnType<typeof explainer>>): string {
  if (kind === "min-saving") return "less than --min-saving";
  return message.replaceAll(/ ?"[^"]*"| ?\b\d+:/g, "");
}

/** Each misaligned product with what padding it, seen by itself, would save. */
function foundAlone(context: LintContext): Map<CostedProduct, number> {
  const found = new Map<CostedProduct, number>();
  for (const rule of rules) {
    for (const { at, saves } of rule.check(context)) {
      const product = context.products.find((each) => each === at);
      if (product !== undefined && saves !== undefined && saves.microseconds > 0) {
        found.set(product, Math.max(saves.microseconds, found.get(product) ?? 0));
      }
    }
  }
  return found;
}

/** The product that became of one: in the same place where none came or went, else by the name of its node. */
function matcher(
  before: LintContext,
  after: LintContext,
): (product: CostedProduct) => CostedProduct | undefined {
  if (before.products.length === after.products.length) {
    const places = new Map(before.products.map((product, index) => [product, after.products[index]]));
    return (product) => places.get(product);
  }
  const nameOf = ({ node, scope }: CostedProduct) => `${scope.path}\u0000${labelOf(node)}`;
  const byName = new Map(after.products.map((product) => [nameOf(product), product]));
  return (product) => byName.get(nameOf(product));
}
