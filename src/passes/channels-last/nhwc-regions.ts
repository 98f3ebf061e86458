/** @file Values that go NHWC together: what one decision is about. */
import { DisjointSets } from "../../ir/disjoint-sets.ts";
import { labelOf, type Node, type Value } from "../../ir/model.ts";
import type { PassContext } from "../pass.ts";
import type { Border } from "./forms.ts";
import { gainOf, transposeCost } from "./price.ts";

/** Converted convolutions that NHWC values connect. */
export interface Region {
  readonly convolutions: readonly Node[];
  /** Transposes that its borders cost. */
  readonly borders: number;
  /** Faster convolutions and Transposes that go, less the Transposes at the borders; negative where NHWC is slower. */
  readonly microseconds: number;
}

/** Image values that go together, fed as nodes are converted. */
export class Regions {
  readonly #sets = new DisjointSets<Value>();
  readonly #nodes = new Map<Node, Value>();

  /** `images` are what a node reads and gives in NHWC. */
  join(node: Node, images: readonly (Value | undefined)[]): void {
    const [first, ...others] = images.filter((value) => value !== undefined);
    if (first === undefined) return;
    this.#nodes.set(node, first);
    for (const other of others) this.#sets.join(other, first);
  }

  /** In the order of their first convolutions. */
  list(
    converted: readonly Node[],
    borders: readonly Border[],
    unturned: readonly Value[],
    context: PassContext,
  ): Region[] {
    const gains = new Map<Value, { convolutions: Node[]; borders: number; microseconds: number }>();
    const at = (value: Value) => {
      const root = this.#sets.rootOf(value);
      const known = gains.get(root) ?? { convolutions: [], borders: 0, microseconds: 0 };
      gains.set(root, known);
      return known;
    };
    for (const node of converted) {
      const value = this.#nodes.get(node);
      if (value === undefined)
        throw new Error(`tc-lint bug: "${labelOf(node)}" is converted, but in no region`);
      at(value).convolutions.push(node);
      at(value).microseconds += gainOf(node, context);
    }
    for (const { value } of borders) {
      const region = at(value);
      const cost = transposeCost(value, context);
      region.microseconds -= cost;
      // Where both layouts are the same bytes, nothing is moved.
      if (cost > 0) region.borders += 1;
    }
    for (const value of unturned) at(value).microseconds += transposeCost(value, context);
    return [...gains.values()].filter(({ convolutions }) => convolutions.length > 0);
  }
}
