/** @file Conversions between codes and numbers, as kernels of their own. */
import type { Scope } from "../facts/scope.ts";
import type { Node, Value } from "../ir/model.ts";
import { isView, traitsOf } from "../ops/ask.ts";
import { type WhyFloats, whyFloats } from "../workload/codes.ts";
import { timeWithin } from "../workload/room.ts";
import { everyStep } from "../workload/timeline.ts";
import { addSavings, type CostedProduct, type LintContext, type Saving, type Step } from "./context.ts";
import { stepTimeAt } from "./precision.ts";

export interface Conversions {
  /** In one run of the model. */
  readonly kernels: number;
  /** All of their time, in every branch. */
  readonly saves: Saving;
  /** Microseconds of it in a run. */
  readonly microseconds: number;
  /** What they compute. */
  readonly covers: readonly { readonly node: Node; readonly scope: Scope }[];
}

/** Kernels that do nothing but quantize and dequantize: all of them, or what `products` read. */
export function conversionsOf(context: LintContext, products?: readonly CostedProduct[]): Conversions {
  const { precision } = context.target;
  const read = products && new Set(products.flatMap(({ node }) => conversionsBefore(node)));
  const steps = everyStep(context.timeline).filter(
    ({ product, nodes }) =>
      product === undefined && nodes.every((node) => isConversion(node) && read?.has(node) !== false),
  );
  const times = new Map(steps.map((step) => [step, stepTimeAt(step, precision, context)]));
  const isIdle = ({ scope }: Step) => context.timeline.choices?.isIdle(scope) === true;
  return {
    kernels: steps.reduce((total, step) => total + (isIdle(step) ? 0 : step.runs), 0),
    covers: steps.flatMap(({ nodes, scope }) => nodes.map((node) => ({ node, scope }))),
    saves: addSavings([...times.values()]),
    microseconds: timeWithin(context, (step) => times.get(step)?.microseconds ?? 0),
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
