/** @file Convolutions that another stack takes in NHWC, and whose channels are off what is fast there. */
import { computeTypeOn } from "../cost/precision.ts";
import { choosesLayout, hasKernel, type Stack } from "../hardware/stacks.ts";
import type { Target } from "../hardware/target.ts";
import { traitsOf } from "../ops/ask.ts";
import type { Workload } from "../workload/workload.ts";
import type { ConvWork, CostedProduct, LintContext } from "./context.ts";
import { isQuantized } from "./formats.ts";
import { isFirstLayer, ProductIndex } from "./graph.ts";
import { alignUp, isOff } from "./padding-sizes.ts";

type Convolution = CostedProduct & { readonly sizes: ConvWork<number> };

interface Left {
  readonly product: Convolution;
  readonly multiple: number;
  /** Whether its channels are between two of the network's layers. */
  readonly isInside: boolean;
}

export class Narrow {
  /** Convolutions that the other stack turns. */
  readonly turned: readonly Convolution[];
  readonly #context: LintContext;
  readonly #asked: Target;
  readonly #stack: Stack;
  #left: readonly Left[] | undefined;

  constructor(context: LintContext, asked: Target, stack: Stack) {
    this.#context = context;
    this.#asked = asked;
    this.#stack = stack;
    this.turned = context.pricedProducts.filter((product): product is Convolution => this.#isTurned(product));
  }

  /** Those of them that the decision for this stack leaves off. */
  get left(): readonly Left[] {
    this.#left ??= this.#find();
    return this.#left;
  }

  /** Microseconds that they are sure to take less at the next multiple, whatever padding costs around them; `there` is the workload on the other stack. */
  savedOn(there: Workload): number {
    return this.left.reduce((sum, { product, multiple }) => sum + this.#savedBy(product, multiple, there), 0);
  }

  #find(): Left[] {
    const index = ProductIndex.of(this.#context.products);
    return this.turned.flatMap((product) => {
      const { sizes } = product;
      const multiple = this.#stack.alignment[computeTypeOn(sizes.dtype, this.#asked)];
      // What comes into the network is as wide as its data.
      const isInside = isOff(sizes.channels, multiple) && !isFirstLayer(product, index);
      const isLeft = sizes.groups === 1 && (isInside || isOff(sizes.filters, multiple));
      const isPadded = this.#context.decision?.paddedOf(product, "conv") !== undefined;
      return isLeft && !isPadded ? [{ product, multiple, isInside }] : [];
    });
  }

  /** What is not sure counts for nothing. */
  #savedBy({ node, scope }: Convolution, multiple: number, { timeline, target }: Workload): number {
    return timeline.stepsOf(node, scope).reduce((sum, { work, detail, runs }) => {
      if (work.kind !== "conv") return sum;
      const [channels, filters] = [alignUp(work.channels, multiple), alignUp(work.filters, multiple)];
      const padded = { ...work, channels, filters };
      const { microseconds, low } = this.#context.cost.savingOf(
        [{ work, detail }],
        [{ work: padded, detail }],
        target,
      );
      return low > 0 ? sum + microseconds * runs : sum;
    }, 0);
  }

  #isTurned({ node, scope, sizes: work }: CostedProduct): boolean {
    if (work.kind !== "conv" || work.layout !== "nchw" || isQuantized(work.dtype)) return false;
    if (!choosesLayout(this.#stack, work.kernel.length)) return false;
    const type = computeTypeOn(work.dtype, this.#asked);
    const opset = scope.opsets.get(node.domain) ?? 1;
    return traitsOf(node)?.turnsToNhwc === true && hasKernel(this.#stack, type, node, opset);
  }
}
