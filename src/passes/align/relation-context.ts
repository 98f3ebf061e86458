/** @file One node as its operator states the relations of its axes. */
import { NodeContext } from "../../facts/context.ts";
import { isStored } from "../../facts/stored.ts";
import { type Axis, type PaddedSizes, sizeOfAxis } from "../../ir/axis.ts";
import type { AxisSolver } from "../../ir/axis-solver.ts";
import { labelOf, type Node, operatorOf, type Value } from "../../ir/model.ts";
import type { AxisContext } from "../../ops/axes.ts";
import { elementsRead } from "./elements-read.ts";
import { canPad, canSlice } from "./inner-edges.ts";
import { isNotNegative } from "./not-negative.ts";
import type { RelationBuilder } from "./relate.ts";
import type { TrueNorm } from "./true-norms.ts";

export class RelationContext extends NodeContext implements AxisContext {
  readonly #builder: RelationBuilder;
  /** Set for a node of one that is written out. */
  readonly #norm: TrueNorm | undefined;
  readonly #read = new Set<number>();
  /** Axes of outputs at their true size, each with why. */
  readonly #given = new Map<Axis, string>();

  constructor(node: Node, builder: RelationBuilder, norm: TrueNorm | undefined) {
    super(node, builder.scope, builder.scope.outputsOf(node));
    this.#builder = builder;
    this.#norm = norm;
  }

  get solver(): AxisSolver {
    return this.#builder.solver;
  }

  axesOf(index: number): readonly Axis[] | undefined {
    this.#read.add(index);
    const value = this.node.inputs[index];
    if (value === undefined) return undefined;
    return value === this.#norm?.operand ? this.#norm.inside : this.#builder.axesOf(value);
  }

  setAxes(index: number, stated: readonly Axis[]): void {
    const value = this.node.outputs[index];
    if (value === undefined) return;
    const axes = this.#givenByNorm(value, stated);
    this.#builder.setAxes(value, axes, this.node);
    for (const [position, axis] of axes.entries()) {
      const reason = this.#given.get(axis);
      if (reason !== undefined) this.#giveBehind(value, position, { axis, reason });
    }
  }

  #givenByNorm(value: Value, axes: readonly Axis[]): readonly Axis[] {
    const norm = this.#norm;
    if (norm === undefined) return axes;
    return axes.map((axis, at) =>
      norm.gives(value, axis, axes.length - at) ? this.#give(sizeOfAxis(axis), norm.reason) : axis,
    );
  }

  /** Where no Pad can stand behind, the axis is blocked. */
  #giveBehind(value: Value, position: number, given: { axis: Axis; reason: string }): void {
    const { inner, scope } = this.#builder;
    if (canPad(value, position, scope)) inner.give(value, position);
    else this.solver.block(given.axis, given.reason);
  }

  /** An input whose axes its operator does not ask for is a parameter: a list of sizes, of axes, of scales. */
  blockUnread(): void {
    const { inputs } = this.node;
    for (let index = 0; index < inputs.length; index++) {
      const value = inputs[index];
      if (value !== undefined && !this.#read.has(index)) {
        this.#builder.block(value, this.#told("takes it as a parameter"));
      }
    }
  }

  sizesOf(index: number): readonly number[] | undefined {
    const value = this.node.outputs[index];
    return value === undefined ? undefined : this.#builder.sizesOf(value);
  }

  isStored(index: number): boolean {
    const value = this.node.inputs[index];
    return value !== undefined && isStored(value, this.#builder.scope);
  }

  isNotNegative(index: number): boolean {
    return isNotNegative(this.node.inputs[index], this.#builder.scope);
  }

  elementsRead(index: number): ReadonlySet<number> {
    const value = this.node.outputs[index];
    return value === undefined ? new Set() : elementsRead(value, this.#builder.scope);
  }

  contract(axis: Axis, a: number, b: number): void {
    this.#builder.contractions.push({ node: this.node, axis, a, b });
  }

  sumOver(axis: Axis, index: number): void {
    this.#builder.contractions.push({ node: this.node, axis, a: index, b: undefined });
  }

  sumInside(axis: Axis): void {
    this.#builder.contractions.push({ node: this.node, axis, a: undefined, b: undefined });
  }

  fill(index: number, axis: Axis, fill: number): void {
    const value = this.node.inputs[index];
    if (value !== undefined && this.isStored(index))
      this.#builder.fills.push({ value, axis, fill, node: this.node });
  }

  rewriteInput(index: number, values: (sizes: PaddedSizes) => readonly number[]): void {
    this.#builder.rewrites.push({ node: this.node, kind: "input", index, values });
  }

  repeatSizes(index: number, axes: readonly (number | undefined)[]): void {
    this.#builder.rewrites.push({ node: this.node, kind: "sizes", index, axes });
  }

  countFromStart(index: number, axis: number): void {
    this.#builder.rewrites.push({ node: this.node, kind: "positions", index, axis });
  }

  keepWhole(axis: Axis, verb: string): void {
    this.#builder.whole.push({ axis, reason: this.#told(verb) });
  }

  rewriteAttribute(name: string, value: (sizes: PaddedSizes) => number | readonly number[]): void {
    this.#builder.rewrites.push({ node: this.node, kind: "attribute", name, value });
  }

  rewriteFloat(name: string, value: (sizes: PaddedSizes) => number | undefined): void {
    this.#builder.rewrites.push({ node: this.node, kind: "float", name, value });
  }

  block(axis: Axis, verb: string): void {
    this.solver.block(axis, this.#told(verb));
  }

  fixed(size: number, verb: string): Axis {
    return this.solver.atom(size, this.#told(verb));
  }

  takeTrue(index: number, position: number, verb: string): void {
    const axis = this.axesOf(index)?.[position];
    const value = this.node.inputs[index];
    if (axis === undefined || value === undefined) return;
    const { inner, scope } = this.#builder;
    if (!canSlice(value, position, scope)) return this.block(axis, verb);
    inner.take(this.node, index, position);
    this.solver.hold(axis, this.#told(verb));
  }

  giveTrue(size: number, verb: string): Axis {
    return this.#give(size, this.#told(verb));
  }

  #give(size: number, reason: string): Axis {
    const axis = this.solver.heldAtom(size, reason);
    this.#given.set(axis, reason);
    return axis;
  }

  blockAll(verb: string): void {
    for (const value of this.node.inputs)
      if (value !== undefined) this.#builder.block(value, this.#told(verb));
  }

  #told(verb: string): string {
    return `${operatorOf(this.node)} "${labelOf(this.node)}" ${verb}`;
  }
}
