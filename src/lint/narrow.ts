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
  readonly products: readonly CostedProduct[];
  readonly multiple: number;
  /** Whether channels between two of the network's layers are among them. */
  readonly isInside: boolean;
  /** Microseconds that they are sure to take less at the next multiple, whatever padding costs around them. */
  readonly saves: number;
}

export class Narrow {
  /** Convolutions that the other stack turns. */
  readonly turned: readonly Convolution[];
  readonly #context: LintContext;
  readonly #asked: Target;
  readonly #stack: Stack;

  constructor(context: LintContext, asked: Target, stack: Stack) {
    this.#context = context;
    this.#asked = asked;
    this.#stack = stack;
    this.turned = context.pricedProducts.filter((product): product is Convolution => this.#isTurned(product));
  }

  /** Those that the decision for this stack leaves off; `there` is the workload on the other. Undefined where there are none. */
  left(there: Workload): Left | undefined {
    const index = ProductIndex.of(this.#context.products);
    const products: CostedProduct[] = [];
    let [saves, isInside, multiple] = [0, false, 1];
    for (const product of this.turned) {
      const { sizes } = product;
      const wanted = this.#stack.alignment[computeTypeOn(sizes.dtype, this.#asked)];
      // What comes into the network is as wide as its data.
      const isOffInside = isOff(sizes.channels, wanted) && !isFirstLayer(product, index);
      const isLeft = sizes.groups === 1 && (isOffInside || isOff(sizes.filters, wanted));
      if (!isLeft || this.#context.decision?.paddedOf(product, "conv") !== undefined) continue;
      multiple = wanted;
      isInside ||= isOffInside;
      saves += this.#savedBy(product, wanted, there);
      products.push(product);
    }
    return products.length === 0 ? undefined : { products, multiple, isInside, saves };
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
