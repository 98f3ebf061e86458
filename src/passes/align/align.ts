/** @file The padding pass: relations, safety, choice, patch. */
import { type Atom, paddedSize, sizeOfAxis } from "../../ir/axis.ts";
import { pushAll } from "../../ir/lists.ts";
import { labelOf } from "../../ir/model.ts";
import { Patch } from "../../ir/patch.ts";
import type { CostedProduct } from "../../workload/product.ts";
import { FreshNames } from "../names.ts";
import type { Pass, PassContext, PassNote, PassRegion, PassResult } from "../pass.ts";
import { type AddedNodes, addedNodes, nothingAdded } from "./added-nodes.ts";
import { applyPadding } from "./apply.ts";
import { findSurprises, type Surprise } from "./check-padded.ts";
import { type Choice, choosePadding } from "./choose.ts";
import { freeAtoms } from "./free-atoms.ts";
import { paddedWork } from "./padded.ts";
import { blockLeftOut, type PartNames, partNames, productOf } from "./parts.ts";
import type { Component } from "./problem.ts";
import type { Relations } from "./relate.ts";
import { leaveRelations, type SafeRelations, safeRelations } from "./safe-relations.ts";
import { paddingText, type ToldPadding } from "./told.ts";
import { widerChoice } from "./wider.ts";

export const align: Pass = { name: "align", safe: true, run: runAlign };

/** Each round takes back at least one component, so this many suffice or nothing is padded. */
const maxRounds = 8;

function runAlign(context: PassContext): PassResult {
  const { model, facts, traffic, pricing, open } = context;
  const safe = safeRelations(facts);
  const { relations, fills } = safe;
  const products = context.products.filter(({ scope }) => scope.isMain);
  const names = partNames(products, relations);
  blockLeftOut(names, context.leftOut);
  const notes: PassNote[] = [];
  const work = { products, traffic };
  for (let round = 0; round < maxRounds; round++) {
    const free = freeAtoms(relations);
    const plain = choosePadding(relations, free, work, pricing);
    const { sizes } = plain;
    const plainPatch = applyPadding({ model, relations, sizes, fills, names: context.names, open });
    const wider = better(widerChoice(safe, free, plain, work, pricing), plainPatch, safe, context);
    const { choice, patch } = wider ?? { choice: plain, patch: plainPatch };
    const surprises =
      patch.isEmpty || wider !== undefined ? [] : findSurprises(context.preview(patch), relations, sizes);
    if (surprises.length === 0) {
      if (patch.isEmpty && round === 0 && context.leftOut === undefined) leaveRelations(facts, safe);
      const parts = [...choice.sizes.keys()].flatMap((atom) => names.get(atom) ?? []);
      const added = addedNodes(choice.components, relations);
      const told = { relations, names, added };
      const regions = regionsOf(choice, told, pricing.bindings);
      return { patch, notes: [...notesOf(choice, told), ...notes], parts, regions };
    }
    pushAll(notes, takeBack(surprises, choice));
  }
  return { patch: new Patch(), notes };
}

type Added = ReadonlyMap<Component, AddedNodes>;

interface Made {
  readonly choice: Choice;
  readonly patch: Patch;
}

/**
 * Padding with Slices and Pads inside, where the whole model is predicted to gain by it over `plain`: its kernels may be others than those
 * that were priced one by one.
 */
function better(
  choice: Choice | undefined,
  plain: Patch,
  { relations, fills }: SafeRelations,
  context: PassContext,
): Made | undefined {
  if (choice === undefined) return undefined;
  const { model, open, pricing } = context;
  const { sizes } = choice;
  const patch = applyPadding({ model, relations, sizes, fills, names: new FreshNames(model), open });
  const [saved, without] = [context.savingOf(patch), context.savingOf(plain)];
  if (saved.microseconds - without.microseconds < pricing.leastMicroseconds) return undefined;
  if (pricing.mustGain && saved.low <= 0) return undefined;
  return findSurprises(context.preview(patch), relations, sizes).length > 0 ? undefined : { choice, patch };
}

/** Forbids the padding of every component with a value that did not come out as foreseen. */
function takeBack(surprises: readonly Surprise[], { components }: Choice): PassNote[] {
  const notes: PassNote[] = [];
  for (const component of components) {
    const padded = new Set(component.sizes.keys());
    const surprise = surprises.find(({ atoms }) => atoms.some((atom) => padded.has(atom)));
    // One whose atoms cannot be told speaks against everything.
    const reason = surprise ?? surprises.find(({ atoms }) => atoms.length === 0);
    if (reason === undefined || padded.size === 0) continue;
    for (const atom of padded) atom.blocked ??= reason.message;
    notes.push({
      kind: "blocked",
      node: component.products[0]?.node,
      message: reason.message,
      microseconds: component.savesMicroseconds,
    });
  }
  return notes;
}

interface Told {
  readonly relations: Relations;
  readonly names: PartNames;
  readonly added: Added;
}

function notesOf(choice: Choice, told: Told): PassNote[] {
  return choice.components.flatMap((component) => {
    if (component.sizes.size === 0) return [];
    const [first] = component.products;
    const padding = toldOf(component, told);
    return [
      {
        kind: "changed" as const,
        node: first?.node,
        products: component.products.flatMap(({ nodes }) => nodes),
        message: paddingText(padding),
        padding,
        microseconds: component.savesMicroseconds,
      },
    ];
  });
}

function toldOf(component: Component, { relations, names, added }: Told): ToldPadding {
  const { sizes, products } = component;
  const touched = products.filter((product) => touches(product, sizes, relations));
  return {
    axes: [...sizes].map(([atom, to]) => ({
      product: productOf(names.get(atom) ?? ""),
      from: atom.size,
      to,
    })),
    products: new Set(touched.map(({ node }) => labelOf(node))),
    added: added.get(component) ?? nothingAdded,
  };
}

/** Each component that is padded; those that pad the same of the same products have one shape. */
function regionsOf({ components }: Choice, told: Told, bindings: ReadonlyMap<string, number>): PassRegion[] {
  const { relations, names } = told;
  return components
    .filter(({ sizes }) => sizes.size > 0)
    .map((component) => {
      const { sizes, products, savesMicroseconds } = component;
      const works = products.map((product) =>
        [new Map<Atom, number>(), sizes].map((own) => paddedWork(product, relations, own, bindings)),
      );
      const padding = toldOf(component, told);
      return {
        what: paddingText(padding),
        padding,
        shape: JSON.stringify(works.map((both) => JSON.stringify(both)).sort()),
        parts: [...sizes.keys()].flatMap((atom) => names.get(atom) ?? []),
        microseconds: savesMicroseconds,
        addsInside: padding.added.areInside ? true : undefined,
      };
    });
}

function touches(product: CostedProduct, sizes: ReadonlyMap<Atom, number>, relations: Relations): boolean {
  return product.nodes.some((node) =>
    [...node.inputs, ...node.outputs].some((value) =>
      (value === undefined ? [] : (relations.axesOf(value) ?? [])).some(
        (axis) => paddedSize(axis, sizes) !== sizeOfAxis(axis),
      ),
    ),
  );
}
