/**
 * @file Which product's padding a pass over memory owes its new time to. A planner of a runtime prices a pass by what it makes of its
 * lanes: a mean over 129 channels took five times that over 136, and the product that writes them is what is padded.
 */

import { push } from "../ir/group.ts";
import type { Node } from "../ir/model.ts";
import type { StepChange } from "../workload/change.ts";
import type { Step, Timeline } from "../workload/timeline.ts";

/**
 * Passes that take another time, by the product that is padded nearest before them, else behind; none on stacks whose account is the cost
 * model's, where a pass is its bytes. What is gone or new is for no product.
 */
export function passesBehind(
  changes: ReadonlyMap<Step, StepChange>,
  timeline: Timeline,
): ReadonlyMap<Step, readonly StepChange[]> {
  const found = new Map<Step, StepChange[]>();
  for (const [step, change] of changes) {
    const { factor, measured } = step;
    const isOwnPrice = factor !== undefined && (measured === undefined || measured.isPlanned === true);
    if (!isOwnPrice || step.family !== "memory" || change.after === undefined) continue;
    const padded = (node: Node) => {
      const other = timeline.stepOf(node, step.scope);
      const product = other && changes.get(other);
      return product !== undefined && isPadded(product) ? other : undefined;
    };
    const owner = nearest(step.nodes, before, padded) ?? nearest(step.nodes, behind, padded);
    if (owner !== undefined) push(found, owner, change);
  }
  return found;
}

/** A product at other sizes. */
export function isPadded({ before: from, after: to }: StepChange): boolean {
  if (from === undefined || to === undefined || from.family === "memory") return false;
  return JSON.stringify(from.work) !== JSON.stringify(to.work);
}

const before = ({ inputs }: Node) => inputs.flatMap((value) => value?.producer ?? []);
const behind = ({ outputs }: Node) => outputs.flatMap((value) => value?.consumers ?? []);

function nearest(
  from: readonly Node[],
  next: (node: Node) => readonly Node[],
  find: (node: Node) => Step | undefined,
): Step | undefined {
  const seen = new Set<Node>(from);
  for (const node of seen) {
    const step = find(node);
    if (step !== undefined) return step;
    // What is added while it is walked is walked last.
    for (const each of next(node)) seen.add(each);
  }
  return undefined;
}
