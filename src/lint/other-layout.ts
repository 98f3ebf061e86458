/** @file What is decided anew where a setting of the stack makes another layout, which no row of the account tells of: a reader of the default stack is pointed there. */
import { computeTypeOn } from "../cost/precision.ts";
import { choosesLayout, hasKernel, layoutSettingOf, type Stack, stacks } from "../hardware/stacks.ts";
import type { Target } from "../hardware/target.ts";
import { counted } from "../ir/format.ts";
import { traitsOf } from "../ops/ask.ts";
import { productsInFile } from "../workload/product.ts";
import type { ConvWork, CostedProduct, LintContext } from "./context.ts";
import { isQuantized } from "./formats.ts";
import { isFirstLayer, ProductIndex } from "./graph.ts";
import { isOff } from "./padding-sizes.ts";
import type { AccountStep, NoticeReport } from "./result.ts";
import type { LintSettings } from "./run.ts";

/** Nothing is decided a second time for it: `asked` is the target in the precision that the other stack would be asked in. */
export function otherLayoutNotices(
  context: LintContext,
  asked: Target,
  account: readonly Pick<AccountStep, "setting">[],
  { minSaving, severities }: Pick<LintSettings, "minSaving" | "severities">,
): NoticeReport[] {
  const setting = layoutSettingOf(asked.stack);
  const isAsked = ofConvolutions.some((code) => severities.get(code) !== "off");
  if (setting === undefined || !isAsked || account.some((row) => row.setting !== undefined)) return [];
  const narrow = new Narrow(context, asked, stacks[setting.stack]);
  const left = context.pricedProducts.filter((product) => narrow.isLeft(product));
  const steps = new Set(left.flatMap(({ node, scope }) => context.timeline.stepsOf(node, scope)));
  const time = [...steps].reduce((sum, { microseconds }) => sum + microseconds, 0);
  // Who takes less than that cannot save it; what alone the network gives out would be cut off again.
  if (!narrow.isInside || context.share(time) < minSaving) return [];
  const many = counted(productsInFile(left), "convolution");
  const message = `with ${setting.option} padding is decided anew (${many} off the multiple of ${narrow.multiple}): lint with --stack ${setting.stack} tells whether it pays`;
  return [{ code: "other-layout", message }];
}

/** Rules that such padding is a finding of. */
const ofConvolutions = ["TC101", "TC105"];

/** Convolutions that the other stack turns, and whose channels the decision for this one leaves off what is fast there. */
class Narrow {
  /** Of those that were found. */
  multiple = 1;
  /** Whether channels between two of the network's layers are among them. */
  isInside = false;
  readonly #context: LintContext;
  readonly #asked: Target;
  readonly #stack: Stack;
  readonly #index: ProductIndex;

  constructor(context: LintContext, asked: Target, stack: Stack) {
    this.#context = context;
    this.#asked = asked;
    this.#stack = stack;
    this.#index = ProductIndex.of(context.products);
  }

  isLeft(product: CostedProduct): boolean {
    const work = product.sizes;
    if (work.kind !== "conv" || work.groups !== 1 || !this.#isTurned(product, work)) return false;
    const wanted = this.#stack.alignment[computeTypeOn(work.dtype, this.#asked)];
    // What comes into the network is as wide as its data.
    const isOffInside = isOff(work.channels, wanted) && !isFirstLayer(product, this.#index);
    if (!isOffInside && !isOff(work.filters, wanted)) return false;
    if (this.#context.decision?.paddedOf(product, "conv") !== undefined) return false;
    this.multiple = wanted;
    this.isInside ||= isOffInside;
    return true;
  }

  #isTurned({ node, scope }: CostedProduct, { layout, kernel, dtype }: ConvWork<number>): boolean {
    if (layout !== "nchw" || isQuantized(dtype) || !choosesLayout(this.#stack, kernel.length)) return false;
    const type = computeTypeOn(dtype, this.#asked);
    const opset = scope.opsets.get(node.domain) ?? 1;
    return traitsOf(node)?.turnsToNhwc === true && hasKernel(this.#stack, type, node, opset);
  }
}
