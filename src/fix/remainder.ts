/** @file What a safe fix could still repair in a fixed model: each with the reason that it did not. */
import { explainer, type Reason } from "../passes/align/remainder.ts";
import type { CostedProduct } from "../workload/product.ts";
import { shareWithin } from "../workload/within-whole.ts";
import { trafficOf, type Workload } from "../workload/workload.ts";
import type { LeftPiece } from "./bisect.ts";
import { type FixNote, type FixSettings, pricingOf, unboundFacts } from "./pipeline.ts";

/** Why what the solver would do is not done to the model as a whole, and the microseconds that it would save. */
export interface Declined {
  readonly message: string;
  readonly foregone: number | undefined;
}

/**
 * A note for every product that is still off the multiple and would be faster, seen by itself, if it were not. `left`
 * failed verification.
 */
export function remainderNotes(
  workload: Workload,
  settings: FixSettings,
  left: readonly LeftPiece[],
  declined: Declined | undefined,
): FixNote[] {
  const found = settings.remaining?.(workload) ?? [];
  if (found.length === 0) return [];
  const reasonFor = reasons(workload, settings, left);
  const notes = found.map(({ rule, product, microseconds }): FixNote => {
    const own = reasonFor(product);
    const note = { pass: "align", rule, node: product.node, microseconds } as const;
    // What the solver would do and the whole model does not pay for has no reason of its own.
    if (declined !== undefined && isSolved(own))
      return { ...note, kind: "kept", message: declined.message, isPart: declined.foregone !== undefined };
    return { ...note, kind: own.kind === "forbidden" ? "blocked" : "kept", message: own.message };
  });
  return withinWhole(notes, declined?.foregone);
}

/** Parts of what the whole would save add up to no more, whatever each product was predicted to save by itself. */
function withinWhole(notes: readonly FixNote[], foregone: number | undefined): FixNote[] {
  const parts = notes.filter(({ isPart }) => isPart === true);
  const factor = shareWithin(
    parts.map(({ microseconds = 0 }) => microseconds),
    foregone,
  );
  return notes.map((note) =>
    note.isPart === true ? { ...note, microseconds: (note.microseconds ?? 0) * factor } : note,
  );
}

/** The solver pads the product, were it up to the solver. */
export function isSolved({ kind }: Reason): boolean {
  return kind === "min-saving" || kind === "other-axis";
}

/** Why a product that could be padded is not. `left` failed verification. */
export function reasons(
  workload: Workload,
  settings: FixSettings,
  left: readonly LeftPiece[],
): (product: CostedProduct) => Reason {
  return explainer({
    facts: unboundFacts(workload),
    work: {
      products: workload.products.filter(({ scope }) => scope.isMain),
      traffic: trafficOf(workload),
    },
    pricing: pricingOf(workload, settings),
    leftOut:
      left.length === 0
        ? undefined
        : (part) => left.find((piece) => piece.pass === "align" && piece.part === part)?.reason,
  });
}
