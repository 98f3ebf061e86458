/**
 * @file Of the time that misaligned products could save, how much a fix has saved, and why not the rest.
 *
 * What could be saved is what the rules on misaligned axes (TC101, TC102, TC103, TC106) say of each product by itself: they
 * know neither what padding costs elsewhere, nor whether it is possible. What has been saved is the difference in
 * predicted time of the same product, at most what could be.
 */
import misalignedConvChannels from "../rules/misaligned-conv-channels.ts";
import misalignedGemm from "../rules/misaligned-gemm.ts";
import misalignedGroupChannels from "../rules/misaligned-group-channels.ts";
import misalignedHeadDim from "../rules/misaligned-head-dim.ts";
import { type FixSettings, trafficOf } from "../src/fix/pipeline.ts";
import { atomsOf, sizeOfAxis } from "../src/ir/axis.ts";
import { labelOf } from "../src/ir/model.ts";
import type { CostedProduct, LintContext } from "../src/lint/context.ts";
import type { AnyRule } from "../src/lint/rule.ts";
import type { ProductWork } from "../src/ops/work.ts";
import { choosePadding } from "../src/passes/align/choose.ts";
import { allAxes, blockUnsafe, collectFills } from "../src/passes/align/lanes.ts";
import { freeAtoms, type Relations, relate } from "../src/passes/align/relate.ts";

const rules: readonly AnyRule[] = [
  misalignedConvChannels,
  misalignedGemm,
  misalignedHeadDim,
  misalignedGroupChannels,
];

export interface Recovery {
  /** Predicted, of one run of the model. */
  readonly recoverableMicroseconds: number;
  readonly recoveredMicroseconds: number;
  /** The same of products that are worth `minSaving` of the model's time by themselves: those that linting lists. */
  readonly listed: { readonly recoverableMicroseconds: number; readonly recoveredMicroseconds: number };
  readonly remainder: readonly Remainder[];
}

export interface Remainder {
  readonly reason: string;
  readonly products: number;
  readonly microseconds: number;
}

/** Both contexts are of the same target. */
export function recoveryOf(before: LintContext, after: LintContext, settings: FixSettings): Recovery {
  let [recoverable, recovered, listedRecoverable, listedRecovered] = [0, 0, 0, 0];
  const remainder = new Map<string, { products: number; microseconds: number }>();
  const explain = explainer(after, settings);
  const same = matcher(before, after);
  for (const [product, saves] of recoverableOf(before)) {
    const fixed = same(product);
    const saved = fixed === undefined ? 0 : product.microseconds - fixed.microseconds;
    const counted = Math.min(Math.max(saved, 0), saves);
    recoverable += saves;
    recovered += counted;
    if (before.share(saves) >= settings.minSaving) {
      listedRecoverable += saves;
      listedRecovered += counted;
    }
    if (saves - counted <= saves * 1e-3) continue;
    const reason = fixed === undefined ? "the product is not there any more" : explain(fixed);
    const known = remainder.get(reason) ?? { products: 0, microseconds: 0 };
    known.products += 1;
    known.microseconds += saves - counted;
    remainder.set(reason, known);
  }
  const reasons = [...remainder].map(([reason, rest]) => ({ reason, ...rest }));
  return {
    recoverableMicroseconds: recoverable,
    recoveredMicroseconds: recovered,
    listed: { recoverableMicroseconds: listedRecoverable, recoveredMicroseconds: listedRecovered },
    remainder: reasons.sort((a, b) => b.microseconds - a.microseconds),
  };
}

/** Each misaligned product with what padding it, seen by itself, would save. */
function recoverableOf(context: LintContext): Map<CostedProduct, number> {
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

/** Why a product of the fixed model is not padded further. */
function explainer(after: LintContext, { cost, target, minSaving }: FixSettings) {
  const relations = relate(after.facts);
  blockUnsafe(relations, freeAtoms(allAxes(relations)), collectFills(relations));
  const least = minSaving * after.timeline.microseconds;
  const { components } = choosePadding(
    relations,
    freeAtoms(allAxes(relations)),
    {
      products: after.products.filter(({ scope }) => scope === after.facts.root),
      traffic: trafficOf(after),
    },
    {
      estimate: (work, detail) => cost.estimate(work, target, detail).microseconds,
      savingOf: (from, to) => cost.savingOf(from, to, target),
      bindings: after.bindings,
      modelMicroseconds: after.timeline.microseconds,
      leastMicroseconds: least,
    },
  );
  return (product: CostedProduct): string => {
    if (product.scope !== after.facts.root) return "inside a subgraph or a function";
    const component = components.find(({ products }) => products.includes(product));
    if (component !== undefined && component.savesMicroseconds > 1e-6) {
      return `less than --min-saving (${100 * minSaving} %) of the model's time`;
    }
    const blocked = blocksOf(product, relations);
    if (blocked !== "") return blocked;
    return "costs more at its neighbours and at the model's inputs and outputs than it saves here";
  };
}

/** What forbids padding its misaligned axes, without names: models are to be summed up. */
function blocksOf(product: CostedProduct, relations: Relations): string {
  const misaligned = new Set(contiguousAxes(product.sizes).filter((size) => size % 8 !== 0));
  const values = product.nodes.flatMap(({ inputs, outputs }) => [...inputs, ...outputs]);
  const axes = values.flatMap((value) => (value === undefined ? [] : (relations.axesOf(value) ?? [])));
  const reasons = axes
    .filter((axis) => misaligned.has(sizeOfAxis(axis)))
    .flatMap((axis) => atomsOf(axis))
    .flatMap(({ size, blocked }) => (blocked === undefined || size === 1 ? [] : [blocked]));
  return [...new Set(reasons.map((reason) => reason.replaceAll(/ ?"[^"]*"/g, "")))].sort().join("; ");
}

/** Axes that a kernel loads by vectors. */
export function contiguousAxes(work: ProductWork<number>): readonly number[] {
  switch (work.kind) {
    case "gemm":
      return [work.transA ? work.m : work.k, work.transB ? work.k : work.n, work.n];
    case "conv":
      return work.groups === work.channels ? [] : [work.channels / work.groups, work.filters / work.groups];
    case "attention":
      return [work.headDim, work.valueHeadDim];
    case "recurrent":
      return [work.hiddenSize, work.inputSize];
  }
}
