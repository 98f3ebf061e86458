/** @file What `--fix` does to the model: asked once, and told by every finding that it concerns. */
import type { Saving } from "../cost/model.ts";
import type { Scope } from "../facts/scope.ts";
import type { Node } from "../ir/model.ts";
import type { ProductWork } from "../ops/work.ts";
import type { StepChange, WorkloadChange } from "../workload/change.ts";
import type { CostedProduct } from "../workload/product.ts";
import type { Step } from "../workload/timeline.ts";
import type { Workload } from "../workload/workload.ts";

/** What safe fixes make of a workload; whoever knows the passes answers. */
export interface DecidedFix {
  readonly after: Workload;
  readonly change: WorkloadChange;
  /** Why a product that could be padded is left as it is. */
  readonly reasonFor: (product: CostedProduct) => string;
}

/** A product as it is in the repaired model. */
export interface DecidedProduct<W extends ProductWork<number>> {
  readonly work: W;
  /** All runs. */
  readonly saves: Saving;
}

export class Decision {
  readonly after: Workload;
  readonly change: WorkloadChange;
  readonly #reasonFor: DecidedFix["reasonFor"];
  readonly #changes = new Map<Step, StepChange>();
  readonly #before: Workload;

  constructor(before: Workload, { after, change, reasonFor }: DecidedFix) {
    this.after = after;
    this.change = change;
    this.#reasonFor = reasonFor;
    this.#before = before;
    for (const each of change.steps) if (each.before !== undefined) this.#changes.set(each.before, each);
  }

  /** What becomes of the kernel that computes a node; undefined where it stays as it is. */
  changeAt(node: Node, scope: Scope): StepChange | undefined {
    const step = this.#before.timeline.stepOf(node, scope);
    return step && this.#changes.get(step);
  }

  /** A product at the sizes that it gets; undefined where it stays as it is. */
  paddedOf<W extends ProductWork<number>>(
    product: CostedProduct,
    kind: W["kind"],
  ): DecidedProduct<W> | undefined {
    const change = this.changeAt(product.node, product.scope);
    const work = change?.after?.work;
    return change === undefined || work === undefined || !isOfKind<W>(work, kind)
      ? undefined
      : { work, saves: change.saves };
  }

  reasonFor(product: CostedProduct): string {
    return this.#reasonFor(product);
  }
}

function isOfKind<W extends ProductWork<number>>(
  work: { readonly kind: string },
  kind: W["kind"],
): work is W {
  return work.kind === kind;
}
