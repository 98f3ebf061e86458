/** @file What a safe fix could still repair in a fixed model: each with the reason that it did not. */
import { explainer, type Reason } from "../passes/align/remainder.ts";
import type { CostedProduct } from "../workload/product.ts";
import { trafficOf, type Workload } from "../workload/workload.ts";
import type { LeftPiece } from "./bisect.ts";
import { type FixNote, type FixSettings, pricingOf, unboundFacts } from "./pipeline.ts";

/**
 * A note for every product that is still off the multiple and would be faster, seen by itself, if it were not. `left`
 * failed verification.
 */
export function remainderNotes(
  workload: Workload,
  settings: FixSettings,
  left: readonly LeftPiece[],
  declined: string | undefined,
): FixNote[] {
  const found = settings.remaining?.(workload) ?? [];
  if (found.length === 0) return [];
  const reasonFor = reasons(workload, settings, left);
  return found.map(({ rule, product, microseconds }) => {
    const own = reasonFor(product);
    // What the solver would do and the whole model does not pay for has no reason of its own.
    const { kind, message } =
      declined !== undefined && isSolved(own) ? { kind: "uncertain", message: declined } : own;
    return {
      pass: "align",
      rule,
      kind: kind === "forbidden" ? "blocked" : "kept",
      node: product.node,
      message,
      microseconds,
    };
  });
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
