/** @file What rules still find in a fixed model that a safe fix could have repaired: each with the reason that it did not. */
import type { LintContext } from "../lint/context.ts";
import { explainer } from "../passes/align/remainder.ts";
import type { LeftPiece } from "./bisect.ts";
import { type FixNote, type FixSettings, pricingOf, trafficOf, unboundFacts } from "./pipeline.ts";

/**
 * A note for every product that is still off the multiple and would be faster, seen by itself, if it were not. `left`
 * failed verification.
 */
export function remainderNotes(
  context: LintContext,
  settings: FixSettings,
  left: readonly LeftPiece[],
): FixNote[] {
  const found = (settings.rules ?? []).flatMap((rule) =>
    [...rule.check(context)].flatMap(({ at, saves, fix }) => {
      const product = context.products.find((each) => each === at);
      const isSafe = (fix ?? rule.fix) === "safe";
      if (!isSafe || product === undefined || saves === undefined) return [];
      return [{ rule: rule.code, product, microseconds: saves.microseconds }];
    }),
  );
  if (found.length === 0) return [];
  const { products } = context;
  const reasonFor = explainer({
    facts: unboundFacts(context),
    work: { products: products.filter(({ scope }) => scope.isMain), traffic: trafficOf(context) },
    pricing: pricingOf(context, settings),
    leftOut: (part) => left.find((piece) => piece.pass === "align" && piece.part === part)?.reason,
  });
  return found.map(({ rule, product, microseconds }) => {
    const { kind, message } = reasonFor(product);
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
