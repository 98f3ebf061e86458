/** @file In what order of axes operators read and give their images, on a stack that turns convolutions to NHWC, or turns back what a file spells. */
import { isNhwcCall, spellsLayout } from "../facts/nhwc-body.ts";
import type { Scope } from "../facts/scope.ts";
import { choosesLayout, type Stack } from "../hardware/stacks.ts";
import type { Node, Value } from "../ir/model.ts";
import { permutationOf, traitsOf } from "../ops/ask.ts";
import { type ChannelPlace, movesToLast } from "../ops/permutations.ts";
import type { Layout } from "../ops/traits.ts";
import { ConstantValues } from "./constants.ts";

/** Operators that a Transpose is moved across, wherever their axes are. */
const isCrossed: Readonly<Record<Layout, boolean>> = {
  lanewise: true,
  scaled: true,
  channels: false,
  axis: true,
  sliced: true,
  padded: true,
  reduced: true,
  gathered: false,
  view: false,
  fixed: false,
};

/** Whether a Transpose of an image is moved across, its axes named otherwise. */
export function crosses(node: Node, { opsets }: Pick<Scope, "opsets">): boolean {
  const { layout = "fixed", crossedSince = Number.POSITIVE_INFINITY } = traitsOf(node) ?? {};
  return isCrossed[layout] || (opsets.get(node.domain) ?? 0) >= crossedSince;
}

/** Of a node that is rewritten as a product of rows, which has the channels of its image last: in what order those that read it get it. */
export type RowsGiven = "last" | "file";

export interface WantedInput {
  readonly scope: Scope;
  readonly stack: Stack;
  readonly asRows: ReadonlyMap<Node, RowsGiven>;
}

export class WantedLayouts {
  readonly #scope: Scope;
  readonly #stack: Stack;
  readonly #asRows: ReadonlyMap<Node, RowsGiven>;
  #wanted: ReadonlyMap<Value, ChannelPlace> | undefined;

  constructor({ scope, stack, asRows }: WantedInput) {
    this.#scope = scope;
    this.#stack = stack;
    this.#asRows = asRows;
  }

  /** Where a value is read in another order than the file's, across what a Transpose is moved across. */
  of(value: Value): ChannelPlace | undefined {
    this.#wanted ??= this.#wantedValues();
    return this.#wanted.get(value);
  }

  /** In what an operator reads and gives its image, where that is another order than the file's. */
  imageOf(node: Node): ChannelPlace | undefined {
    if (!isNhwcCall(node)) return this.isTurned(node) ? "last" : undefined;
    if (this.crosses(node)) return undefined;
    const rank = this.rankOf(node.inputs[0]) ?? 0;
    const isTurned = !this.#asRows.has(node) && this.#within(node).some((inner) => this.#turns(inner, rank));
    return isTurned ? undefined : "second";
  }

  /** What a call says of NHWC values, without the Transposes that say it. */
  #within(call: Node): readonly Node[] {
    const [body] = this.#scope.children.get(call) ?? [];
    return body?.graph.nodes.filter((inner) => !spellsLayout(inner, body)) ?? [];
  }

  crosses(node: Node): boolean {
    if (!isNhwcCall(node)) return crosses(node, this.#scope);
    const [body] = this.#scope.children.get(node) ?? [];
    return body !== undefined && this.#within(node).every((inner) => crosses(inner, body));
  }

  /** A Transpose to channels last cancels with one from them, whatever is between that both are moved across. */
  #endOf(node: Node): ChannelPlace | undefined {
    const order = permutationOf(node) ?? [];
    return order.length > 3 && movesToLast(order) && choosesLayout(this.#stack) ? "last" : undefined;
  }

  isTurned(node: Node): boolean {
    return !this.#asRows.has(node) && this.#turns(node, this.rankOf(node.inputs[0]) ?? 0);
  }

  /** Of so many axes the stack has kernels for, and turns. */
  #turns(node: Node, rank: number): boolean {
    return traitsOf(node)?.turnsToNhwc === true && rank > 2 && choosesLayout(this.#stack, rank - 2);
  }

  /** What a node reads that has a layout, and is not there before the model runs. */
  imagesOf(node: Node): Value[] {
    const uses = traitsOf(node)?.uses;
    return node.inputs.filter(
      (input, at): input is Value =>
        input !== undefined &&
        uses?.[at] === undefined &&
        (this.rankOf(input) ?? 0) > 2 &&
        !ConstantValues.of(this.#scope).isFixedValue(input),
    );
  }

  rankOf(value: Value | undefined): number | undefined {
    return this.#scope.shape(value)?.length;
  }

  #wantedValues(): ReadonlyMap<Value, ChannelPlace> {
    const wanted = new Map<Value, ChannelPlace>();
    for (const node of this.#scope.graph.nodes.toReversed()) {
      const output = node.outputs.find((each) => each !== undefined && wanted.has(each));
      const isCrossing = output !== undefined && this.crosses(node);
      const order = isCrossing ? wanted.get(output) : (this.imageOf(node) ?? this.#endOf(node));
      if (order === undefined) continue;
      const images = isCrossing ? this.imagesOf(node) : node.inputs.slice(0, 1);
      for (const image of images) if (image !== undefined) wanted.set(image, order);
    }
    return wanted;
  }
}
