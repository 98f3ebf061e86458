/** @file A kernel while nodes may still join it. */
import type { Node, Value } from "../ir/model.ts";
import type { TrafficVariant, TrafficWork, Work } from "../ops/work.ts";
import type { KernelPart } from "./kernel.ts";
import type { CostedProduct } from "./product.ts";

export interface OpenKernel {
  readonly nodes: Node[];
  /** In the order in which kernels begin. */
  readonly index: number;
  /** The same, once they are many. */
  members?: Set<Node>;
  readonly product: CostedProduct | undefined;
  readonly work: Work<number> | undefined;
  /** As a kernel has it. */
  readonly pass?: TrafficVariant | undefined;
  readonly part?: KernelPart;
  /** What a norm or softmax among its nodes says of the rows that it reduces. */
  rows?: TrafficWork<number> | undefined;
  /** Takes further elementwise nodes behind it. */
  readonly open: boolean;
}

/** Of two norms in one kernel, the one whose rows take longer. */
export function longer(
  one: TrafficWork<number> | undefined,
  other: TrafficWork<number> | undefined,
): TrafficWork<number> | undefined {
  if (one === undefined || other === undefined) return one ?? other;
  return other.bytesRead > one.bytesRead ? other : one;
}

/** Nodes of a kernel that are looked through one by one. */
const few = 16;

/**
 * Whether nobody but readers of `end` waits for a kernel, so that it may run later, when more is there: a residual sum does not join the norm before
 * a product into which that goes. Of many nodes that is not looked up.
 */
export function hasOneEnd(kernel: OpenKernel, end: Value): boolean {
  if (kernel.nodes.length > few) return false;
  const isInside = (value: Value) =>
    value === end || (!value.isOutput && value.consumers.every((reader) => isWithin(reader, kernel)));
  return kernel.nodes.every(({ outputs }) => outputs.every((each) => each === undefined || isInside(each)));
}

export function isWithin(node: Node, kernel: OpenKernel): boolean {
  if (kernel.nodes.length <= few) return kernel.nodes.includes(node);
  kernel.members ??= new Set(kernel.nodes);
  return kernel.members.has(node);
}
