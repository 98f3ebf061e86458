/** @file The padding pass: relations, safety, choice, patch. */
import { type Atom, paddedSize, sizeOfAxis } from "../../ir/axis.ts";
import { counted } from "../../ir/format.ts";
import { pushAll } from "../../ir/lists.ts";
import { Patch } from "../../ir/patch.ts";
import type { CostedProduct } from "../../workload/product.ts";
import type { Pass, PassContext, PassNote, PassRegion, PassResult } from "../pass.ts";
import { applyPadding } from "./apply.ts";
import { findSurprises, type Surprise } from "./check-padded.ts";
import { type Choice, choosePadding } from "./choose.ts";
import { freeAtoms } from "./free-atoms.ts";
import { paddedWork } from "./padded.ts";
import { blockLeftOut, partNames } from "./parts.ts";
import type { Component } from "./problem.ts";
import type { Relations } from "./relate.ts";
import { leaveRelations, safeRelations } from "./safe-relations.ts";

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
  for (let round = 0; round < maxRounds; round++) {
    const choice = choosePadding(relations, freeAtoms(relations), { products, traffic }, pricing);
    const patch = applyPadding({
      model,
      relations,
      sizes: choice.sizes,
      fills,
      names: context.names,
      open,
    });
    const surprises = patch.isEmpty ? [] : findSurprises(context.preview(patch), relations, choice.sizes);
    if (surprises.length === 0) {
      if (patch.isEmpty && round === 0 && context.leftOut === undefined) leaveRelations(facts, safe);
      const parts = [...choice.sizes.keys()].flatMap((atom) => names.get(atom) ?? []);
      const regions = regionsOf(choice, relations, names, pricing.bindings);
      return { patch, notes: [...notesOf(choice, relations), ...notes], parts, regions };
    }
    pushAll(notes, takeBack(surprises, choice));
  }
  return { patch: new Patch(), notes };
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

function notesOf(choice: Choice, relations: Relations): PassNote[] {
  return choice.components.flatMap((component) => {
    if (component.sizes.size === 0) return [];
    const [first] = component.products;
    return [
      {
        kind: "changed" as const,
        node: first?.node,
        products: component.products.flatMap(({ nodes }) => nodes),
        message: messageOf(component, relations),
        microseconds: component.savesMicroseconds,
      },
    ];
  });
}

function messageOf(component: Component, relations: Relations): string {
  const sizes = [...component.sizes].map(([atom, size]) => `${atom.size} to ${size}`);
  return `padded ${summary(sizes)} in ${counted(countOf(component, relations), "product")}`;
}

/** Each component that is padded; those that pad the same of the same products have one shape. */
function regionsOf(
  { components }: Choice,
  relations: Relations,
  names: ReadonlyMap<Atom, string>,
  bindings: ReadonlyMap<string, number>,
): PassRegion[] {
  return components
    .filter(({ sizes }) => sizes.size > 0)
    .map((component) => {
      const { sizes, products, savesMicroseconds } = component;
      const works = products.map((product) =>
        [new Map<Atom, number>(), sizes].map((own) => paddedWork(product, relations, own, bindings)),
      );
      return {
        what: messageOf(component, relations),
        shape: JSON.stringify(works.map((both) => JSON.stringify(both)).sort()),
        parts: [...sizes.keys()].flatMap((atom) => names.get(atom) ?? []),
        microseconds: savesMicroseconds,
      };
    });
}

/** `67 to 72, 129 to 136 (2×)`. */
function summary(sizes: readonly string[]): string {
  const counts = new Map<string, number>();
  for (const size of sizes) counts.set(size, (counts.get(size) ?? 0) + 1);
  return [...counts].map(([size, count]) => (count > 1 ? `${size} (${count}×)` : size)).join(", ");
}

function countOf(component: Component, relations: Relations): number {
  return component.products.filter((product) => touches(product, component.sizes, relations)).length;
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
