/** @file How much can be saved of kernels where another branch is what the model takes from some point on. */
import type { Scope } from "../facts/scope.ts";
import type { Step, Timeline } from "./timeline.ts";

/** Kernels, and of each the microseconds that are there to be saved. */
export type Available = ReadonlyMap<Step, number>;

/**
 * What is left to be saved, claim after claim: of a branch that is priced no more than it takes longer than the dearest of the others. What is inside
 * of one that is inside of another has less than both.
 */
export class Room {
  readonly #left: Map<Scope, number>;
  readonly #innermostFirst: readonly Scope[];

  /** `taken` is what earlier steps of the account have saved of a kernel. */
  constructor({ leads = new Map(), steps }: Timeline, taken?: (step: Step) => number) {
    this.#left = new Map(leads);
    this.#innermostFirst = [...this.#left.keys()].sort((a, b) => b.depth - a.depth);
    if (taken === undefined || this.#left.size === 0) return;
    for (const step of steps)
      for (let at = this.#branchOf(step.scope); at !== undefined; at = this.#branchOf(at.parent))
        this.#left.set(at, Math.max(0, (this.#left.get(at) ?? 0) - taken(step)));
  }

  /** The most that can be saved of these. */
  of(available: Available): number {
    return this.#within(available).whole;
  }

  /** Saves so much of them. */
  take(available: Available, microseconds: number): void {
    const { whole, branches } = this.#within(available);
    const part = whole > 0 ? microseconds / whole : 0;
    for (const [branch, most] of branches)
      this.#left.set(branch, Math.max(0, (this.#left.get(branch) ?? 0) - most * part));
  }

  #within(available: Available): { readonly whole: number; readonly branches: ReadonlyMap<Scope, number> } {
    let whole = 0;
    const branches = new Map<Scope, number>();
    const add = (scope: Scope | undefined, microseconds: number) => {
      const branch = this.#branchOf(scope);
      if (branch === undefined) whole += microseconds;
      else branches.set(branch, (branches.get(branch) ?? 0) + microseconds);
    };
    for (const [{ scope }, microseconds] of available) add(scope, microseconds);
    for (const branch of this.#innermostFirst) {
      const asked = branches.get(branch);
      if (asked === undefined) continue;
      const most = Math.min(asked, this.#left.get(branch) ?? 0);
      branches.set(branch, most);
      add(branch.parent, most);
    }
    return { whole, branches };
  }

  /** The nearest branch that a graph is, or is in; undefined where it always runs. */
  #branchOf(scope: Scope | undefined): Scope | undefined {
    for (let at = scope; at !== undefined; at = at.parent) if (this.#left.has(at)) return at;
    return undefined;
  }
}
