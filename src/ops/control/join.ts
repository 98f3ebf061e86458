/** @file The least that holds for two facts at once: what a value is after one branch or the other. */
import { type Dim, type Shape, sameDim, unknownDim } from "../../ir/dim.ts";
import type { Fact, TensorFact } from "../op.ts";
import { unknownTensor } from "../shape.ts";

type Sequence = Extract<Fact, { kind: "sequence" }>;
type Optional = Extract<Fact, { kind: "optional" }>;

/** Joins facts. One instance serves all values of one node, and every pass over a loop. */
export class Join {
  /** Unknowns made here. Each stands in one place, so it claims nothing and may stay in the next join. */
  readonly #free = new Set<Dim>();

  /** `a` itself where `b` takes nothing from it. */
  facts(a: Fact | undefined, b: Fact | undefined): Fact | undefined {
    if (a === undefined || b === undefined || a === b) return a === b ? a : undefined;
    if (a.kind === "tensor" && b.kind === "tensor") return this.#tensors(a, b);
    if (a.kind === "optional") return this.#optional(a, b.kind === "optional" ? b.element : b);
    if (b.kind === "optional") return this.#optional(b, a);
    if (a.kind === "sequence" && b.kind === "sequence") return this.#sequences(a, b);
    return a.kind === b.kind ? a : unknownTensor;
  }

  #tensors(a: TensorFact, b: TensorFact): TensorFact {
    const dtype = a.dtype === b.dtype ? a.dtype : undefined;
    const shape = this.#shapes(a.shape, b.shape);
    const elements = shape === a.shape ? this.#dims(a.elements, b.elements) : undefined;
    if (dtype === a.dtype && shape === a.shape && elements === a.elements) return a;
    return elements === undefined
      ? { kind: "tensor", dtype, shape }
      : { kind: "tensor", dtype, shape, elements };
  }

  #shapes(a: Shape | undefined, b: Shape | undefined): Shape | undefined {
    return a?.length === b?.length ? this.#dims(a, b) : undefined;
  }

  #dims(a: readonly Dim[] | undefined, b: readonly Dim[] | undefined): readonly Dim[] | undefined {
    if (a === undefined || b === undefined || a.length !== b.length) return undefined;
    const joined = a.map((dim, index) => this.#dim(dim, b[index]));
    return joined.every((dim, index) => dim === a[index]) ? a : joined;
  }

  #dim(a: Dim, b: Dim | undefined): Dim {
    if (this.#free.has(a) || (b !== undefined && sameDim(a, b))) return a;
    const free = unknownDim();
    this.#free.add(free);
    return free;
  }

  #optional(a: Optional, element: Fact | undefined): Optional {
    const joined = this.facts(a.element, element);
    return joined === a.element ? a : { kind: "optional", element: joined };
  }

  #sequences(a: Sequence, b: Sequence): Sequence {
    const length =
      a.length !== undefined && b.length !== undefined && sameDim(a.length, b.length) ? a.length : undefined;
    const element = this.#elements(a, b);
    if (element === a.element && length === a.length) return a;
    return { kind: "sequence", element, length };
  }

  /** An empty sequence says nothing about its elements: the other one decides. */
  #elements(a: Sequence, b: Sequence): Fact | undefined {
    if (b.length === 0) return a.element;
    if (a.length === 0) return b.element;
    return this.facts(a.element, b.element);
  }
}
