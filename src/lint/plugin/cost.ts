/** @file What a rule may ask the cost model about the nodes that it found. */
import type { Node } from "../../ir/model.ts";
import type { Work } from "../../ops/work.ts";
import { type LintContext, type Saving, type Step, scale } from "../context.ts";
import type { Match } from "../pattern/match.ts";

/** Savings of a run of the model, with their intervals. Kernels that compute other nodes too stay, and save nothing. */
export class MatchCost {
  /** The whole model as it is priced, for what is not asked here. */
  readonly context: LintContext;
  readonly #match: Match;

  constructor(context: LintContext, match: Match) {
    this.context = context;
    this.#match = match;
  }

  /** What the kernel that computes a node does; undefined where none does. */
  workOf(node: Node): Work<number> | undefined {
    return this.#stepOf(node)?.work;
  }

  /** Predicted microseconds of the kernels that compute these nodes, in a run of the model. */
  microseconds(...nodes: readonly Node[]): number {
    let sum = 0;
    for (const step of this.#stepsOf(nodes)) sum += step.microseconds;
    return sum;
  }

  /** These nodes are not computed any more. */
  removed(...nodes: readonly Node[]): Saving {
    return this.#saving(this.#within(nodes), []);
  }

  /** One kernel does what these nodes do now; it takes what the last one takes. All of the match unless given. */
  fused(...nodes: readonly Node[]): Saving {
    const all = [...(nodes.length === 0 ? this.#match.nodes : nodes)].sort((a, b) => a.id - b.id);
    const last = all.at(-1);
    const kept = last && this.#stepOf(last);
    return this.#saving(
      this.#within(all).filter((step) => step !== kept),
      [],
    );
  }

  /** These nodes become other work: `{ ...work, n: 64 }`, of what `workOf` gives. */
  becomes(nodes: readonly Node[], ...works: readonly Work<number>[]): Saving {
    return this.#saving(this.#within(nodes), works);
  }

  #saving(steps: readonly Step[], after: readonly Work<number>[]): Saving {
    const [first] = steps;
    if (first === undefined) return { microseconds: 0, low: 0, high: 0 };
    const before = steps.map((step) => step.work);
    return scale(this.context.savingOf(before, after), first.runs);
  }

  /** Kernels that compute nothing else. */
  #within(nodes: readonly Node[]): Step[] {
    const inside = new Set(nodes);
    return this.#stepsOf(nodes).filter((step) => step.nodes.every((node) => inside.has(node)));
  }

  #stepsOf(nodes: readonly Node[]): Step[] {
    return [...new Set(nodes.flatMap((node) => this.context.timeline.stepsOf(node, this.#match.scope)))];
  }

  #stepOf(node: Node): Step | undefined {
    return this.context.timeline.stepOf(node, this.#match.scope);
  }
}
