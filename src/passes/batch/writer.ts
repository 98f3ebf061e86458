/** @file Lists of sizes, and operands repeated for each sample, as nodes and constants. */
import type { Node } from "../../ir/model.ts";
import type { NodeSpec, Patch } from "../../ir/patch.ts";
import { emitted } from "../../ops/emitted.ts";
import { FreshNames } from "../names.ts";
import type { PassContext } from "../pass.ts";
import { int64Tensor } from "../tensors.ts";
import type { Target } from "./targets.ts";

/** Writes nodes that read the batch when they run. */
export class Writer {
  readonly #patch: Patch;
  readonly #source: string;
  /** The same ones each time that a patch is made. */
  readonly #names: FreshNames;
  readonly #context: PassContext;
  readonly #constants = new Map<string, string>();
  #batch: string | undefined;

  /** @param source An input with samples along its first axis. */
  constructor(patch: Patch, source: string, context: PassContext) {
    this.#patch = patch;
    this.#source = source;
    this.#names = new FreshNames(context.model);
    this.#context = context;
  }

  rewrite(node: Node, target: Target | undefined, alike: ReadonlyMap<number, number> | undefined): void {
    const before: NodeSpec[] = [];
    const inputs = node.inputs.map((input) => input?.name ?? "");
    if (target !== undefined) inputs[target.index] = this.#sizes(target.sizes, before);
    for (const [index, axis] of alike ?? []) {
      const rank = this.#context.facts.root.shape(node.inputs[index])?.length ?? axis + 1;
      const sizes = this.#sizes(
        Array.from({ length: rank }, (_, at) => (at === axis ? null : 1)),
        before,
      );
      const output = this.#names.make(`${inputs[index] ?? ""}_each`);
      before.push({ opType: emitted.Expand, inputs: [inputs[index] ?? "", sizes], outputs: [output] });
      inputs[index] = output;
    }
    this.#patch.of(node.graph).nodes.set(node, [...before, { base: node, inputs }]);
  }

  #sizes(sizes: readonly (number | null)[], before: NodeSpec[]): string {
    const numbers = sizes.filter((size) => size !== null);
    if (numbers.length === sizes.length) return this.#constant(numbers, "sizes");
    const parts: string[] = [];
    for (let at = 0; at < sizes.length; ) {
      const rest = sizes.slice(at);
      const end = rest.indexOf(null);
      const run = rest.slice(0, end < 0 ? rest.length : end).filter((size) => size !== null);
      parts.push(run.length === 0 ? this.#batchVector() : this.#constant(run, "sizes"));
      at += Math.max(1, run.length);
    }
    const [only] = parts;
    if (parts.length === 1 && only !== undefined) return only;
    const output = this.#names.make("sizes_of_batch");
    const axis = { type: "int", value: 0 } as const;
    before.push({
      opType: emitted.Concat,
      inputs: parts,
      outputs: [output],
      attributes: new Map([["axis", axis]]),
    });
    return output;
  }

  #constant(numbers: readonly number[], base: string): string {
    const key = numbers.join(",");
    const known = this.#constants.get(key);
    if (known !== undefined) return known;
    const name = this.#names.make(base);
    this.#constants.set(key, name);
    this.#patch.of(this.#context.model.graph).added.set(name, int64Tensor(numbers));
    return name;
  }

  /** The batch as a list of one, read off the first input. */
  #batchVector(): string {
    if (this.#batch !== undefined) return this.#batch;
    const shape = this.#names.make("batch_shape");
    const batch = this.#names.make("batch_size");
    this.#patch
      .of(this.#context.model.graph)
      .first.push(
        { opType: emitted.Shape, inputs: [this.#source], outputs: [shape] },
        { opType: emitted.Gather, inputs: [shape, this.#constant([0], "first")], outputs: [batch] },
      );
    this.#batch = batch;
    return batch;
  }
}
