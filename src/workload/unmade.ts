/** @file What is known of fixes that are not made. */
import type { ProposedSizes } from "./product.ts";
import type { Workload } from "./workload.ts";

export interface UnmadeFixes {
  /** Sizes that they would give a product. */
  readonly proposed?: ProposedSizes | undefined;
  /** The whole model as they would leave it. */
  readonly made?: Workload | undefined;
}
