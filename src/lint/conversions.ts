/** @file Conversions between codes and numbers, as kernels of their own. */
import type { Scope } from "../facts/scope.ts";
import type { Node, Value } from "../ir/model.ts";
import { isView, traitsOf } from "../ops/ask.ts";
import { type WhyFloats, whyFloats } from "../workload/codes.ts";
import { addSavings, type CostedProduct, type LintContext, type Saving } from "./context.ts";
import { stepTimeAt } from "./precision.ts";

export interface Conversions {
  /** In one run of the model. */
  readonly kernels: number;
  /** All of their time. */
  readonly saves: Saving;
  /** What they compute. */
  readonly covers: readonly { readonly node: Node; readonly scope: Scope }[];
}

/** Kernels of the timeline that do nothing but quantize and dequantize: all of them, or what `products` read. */
export function conversionsOf(context: LintContext, products?: readonly CostedProduct[]): Conversions {
  const { precision } = context.target;
  const read = products && new Set(products.flatMap(({ node }) => conversionsBefore(node)));
  const steps = context.timeline.steps.filter(
    ({ product, nodes }) =>
      product === undefined && nodes.every((node) => isConversion(node) && read?.has(node) !== false),
  );
  return {
    kernels: steps.reduce((total, { runs }) => total + runs, 0),
    covers: steps.flatMap(({ nodes, scope }) => nodes.map((node) => ({ node, scope }))),
    saves: addSavings(steps.map((step) => stepTimeAt(step, precision, context))),
  };
}

/** Products of dequantized codes that the target does not multiply as codes, by why, in the graph's order. */
export function productsOnFloats({
  products,
  target,
}: LintContext): ReadonlyMap<WhyFloats, readonly [CostedProduct, ...CostedProduct[]]> {
  const found = new Map<WhyFloats, [CostedProduct, ...CostedProduct[]]>();
  for (const product of products) {
    const why = product.codes && whyFloats(product.codes, product.work, target);
    if (why === undefined) continue;
    const before = found.get(why);
    if (before === undefined) found.set(why, [product]);
    else before.push(product);
  }
  return found;
}

function isConversion(node: Node): boolean {
  return traitsOf(node)?.layout === "scaled";
}

/** What dequantizes a node's operands, and what quantized them, views looked through. */
function conversionsBefore({ inputs }: Node): Node[] {
  return inputs.flatMap((operand) => {
    const dequantizes = conversionBehind(operand);
    if (dequantizes === undefined) return [];
    const quantizes = conversionBehind(dequantizes.inputs[0]);
    return quantizes === undefined ? [dequantizes] : [dequantizes, quantizes];
  });
}

function conversionBehind(value: Value | undefined): Node | undefined {
  let node = value?.producer;
  while (node !== undefined && isView(node)) node = node.inputs[0]?.producer;
  return node !== undefined && isConversion(node) ? node : undefined;
}
