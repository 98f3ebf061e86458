/**
 * @file The two forms of an image value: NCHW under its own name, NHWC under a new one. A form that nobody asks for is
 * never made; one that is asked for is made once, before its first reader.
 *
 * Inputs and outputs that are moved keep their name for the NHWC form, and get a new one for NCHW.
 */

import { isStored, storedTensor } from "../../facts/stored.ts";
import { pushAll } from "../../ir/lists.ts";
import type { Node, Value } from "../../ir/model.ts";
import type { GraphPatch, NodeSpec } from "../../ir/patch.ts";
import { emitted } from "../../ops/emitted.ts";
import type { PassContext } from "../pass.ts";
import { nhwcTensor } from "./constants.ts";
import { nhwcType } from "./edges.ts";
import { perm, toNchw, toNhwc } from "./functions.ts";
import { isImage, isScalar } from "./layouts.ts";
import { throughTranspose } from "./transposes.ts";

/** A Transpose that had to be written. */
export interface Border {
  readonly value: Value;
  /** Who needs NCHW; undefined where NHWC was needed, or by an output of the model. */
  readonly reader: Node | undefined;
}

export class ValueForms {
  readonly borders: Border[] = [];
  /** Names of inputs and outputs that are NHWC now. */
  readonly edges: string[] = [];
  readonly #context: PassContext;
  readonly #graph: GraphPatch;
  /** Inputs and outputs that become NHWC as soon as they are produced so. */
  readonly #moved: ReadonlySet<Value>;
  /** Name of the NHWC form, where there is one by now. */
  readonly #nhwc = new Map<Value, string>();
  /** Name of the NCHW form, where it is not the value's own. */
  readonly #nchw = new Map<Value, string>();
  /** Values whose NCHW form has to be made from the NHWC one before it can be read. */
  readonly #onlyNhwc = new Set<Value>();

  constructor(context: PassContext, graph: GraphPatch, moved: ReadonlySet<Value>) {
    this.#context = context;
    this.#graph = graph;
    this.#moved = moved;
    for (const value of moved) if (value.isInput) this.produce(value);
  }

  /** Whether the NHWC form costs nothing: it is there, or the value is a Transpose of it. */
  hasNhwc(value: Value): boolean {
    return this.#nhwc.has(value) || throughTranspose(value) !== undefined;
  }

  /** Name of the NHWC form of a value that has no other so far. */
  onlyNhwc(value: Value | undefined): string | undefined {
    return value !== undefined && this.#onlyNhwc.has(value) ? this.#nhwc.get(value) : undefined;
  }

  /** Name of the NHWC form, where there is one. */
  knownNhwc(value: Value | undefined): string | undefined {
    return value === undefined ? undefined : this.#nhwc.get(value);
  }

  /** What readers of the NCHW form have to call it. */
  nchwName(value: Value): string {
    return this.#nchw.get(value) ?? value.name;
  }

  /** Declares that a node now gives `value` in NHWC. Returns the name for it to give. */
  produce(value: Value): string {
    const { names, facts } = this.#context;
    const hasLayout: boolean = isImage(value, facts.root);
    if (!hasLayout) return value.name;
    const isMoved = this.#moved.has(value);
    const name = isMoved ? value.name : names.make(`${value.name}_nhwc`);
    if (isMoved) {
      this.#nchw.set(value, names.make(`${value.name}_nchw`));
      this.edges.push(value.name);
      const type = nhwcType(value);
      if (type !== undefined) this.#graph.edges.set(value.name, type);
    } else if (value.declared !== undefined && !value.isOutput) this.#graph.declared.set(value.name, null);
    this.#nhwc.set(value, name);
    this.#onlyNhwc.add(value);
    return name;
  }

  /** Name of the NHWC form; what makes it, if need be, goes to `conversions`. */
  asNhwc(value: Value, conversions: NodeSpec[]): string {
    const known = this.#nhwc.get(value);
    if (known !== undefined) return known;
    const source = throughTranspose(value);
    if (source !== undefined) {
      pushAll(conversions, this.asNchw(source, undefined));
      return this.nchwName(source);
    }
    const name = this.#context.names.make(`${value.name}_nhwc`);
    conversions.push(this.#transpose(value.name, name, toNhwc));
    this.borders.push({ value, reader: undefined });
    this.#nhwc.set(value, name);
    return name;
  }

  /** The Transpose that makes the NCHW form, unless it is there. */
  asNchw(value: Value, reader: Node | undefined): readonly NodeSpec[] {
    const name = this.#nhwc.get(value);
    if (!this.#onlyNhwc.has(value) || name === undefined) return [];
    this.#onlyNhwc.delete(value);
    this.#graph.declared.delete(value.name);
    this.borders.push({ value, reader });
    return [this.#transpose(name, this.nchwName(value), toNchw)];
  }

  /** Name of a stored operand of an elementwise operator, as it broadcasts against NHWC values. */
  constant(value: Value): string {
    const { facts, names } = this.#context;
    const stored = isStored(value, facts.root) ? storedTensor(value) : undefined;
    if (stored === undefined || isScalar(value, facts.root)) return value.name;
    const known = this.#nhwc.get(value);
    if (known !== undefined) return known;
    const name = names.make(`${value.name}_nhwc`);
    this.#graph.added.set(name, nhwcTensor(stored, this.#context));
    this.#nhwc.set(value, name);
    return name;
  }

  /** An output of the model, or read in a subgraph: its NCHW form cannot wait for a reader. */
  isNeededAtOnce(value: Value): boolean {
    if (this.#moved.has(value)) return false;
    return value.isOutput || value.consumers.some((reader) => reader.graph !== value.graph);
  }

  #transpose(from: string, to: string, order: readonly number[]): NodeSpec {
    const name = this.#context.names.make(`tc_lint/Transpose/${to}`);
    const attributes = new Map([["perm", perm(order)]]);
    return { name, opType: emitted.Transpose, inputs: [from], outputs: [to], attributes };
  }
}
