/** @file How an operator is described. Everything that reads a graph goes through these descriptions. */
import type { Dim, Shape } from "../ir/dim.ts";
import type { DType } from "../ir/dtype.ts";
import type { Graph, Node } from "../ir/model.ts";
import type { AxisContext, Lane, LaneContext } from "./axes.ts";
import type { Traits } from "./traits.ts";
import type { TrafficPattern, TrafficVariant, TrafficWork, Work } from "./work.ts";

/** What is known of a tensor without running the model. */
export interface TensorFact {
  readonly kind: "tensor";
  readonly dtype: DType | undefined;
  readonly shape: Shape | undefined;
  /**
   * Row-major elements where they are known (at most `maxFoldedElements`): shapes, axes, scales, conditions.
   * Booleans are 0 and 1; an element not known is an unknown dim. Only with a shape of plain numbers.
   */
  readonly elements?: readonly Dim[] | undefined;
}

export type Fact =
  | TensorFact
  | { readonly kind: "sequence"; readonly element: Fact | undefined; readonly length?: Dim | undefined }
  | { readonly kind: "optional"; readonly element: Fact | undefined }
  | { readonly kind: "map" | "sparse" | "opaque" };

/** Constant folding stops here: enough for shape arithmetic and small index tables. */
export const maxFoldedElements = 4096;

/** One node as its operator sees it; attribute references of function bodies are already resolved. */
export interface OpContext {
  /** For messages; a rule of inference never looks at names. */
  readonly node: Node;
  /** Version in force of the operator's own domain. */
  readonly opset: number;
  /** By position; undefined is an omitted optional input. An unknown input is a tensor fact of unknowns. */
  readonly inputs: readonly (Fact | undefined)[];
  /** How many outputs the node names, omitted trailing ones not counted. */
  readonly outputCount: number;
  int(name: string): number | undefined;
  float(name: string): number | undefined;
  string(name: string): string | undefined;
  ints(name: string): readonly number[] | undefined;
  floats(name: string): readonly number[] | undefined;
  strings(name: string): readonly string[] | undefined;
  /** A tensor attribute as a fact, with its elements where it is small enough. */
  tensor(name: string): TensorFact | undefined;
  graph(name: string): Graph | undefined;
  has(name: string): boolean;
  /**
   * Facts of a subgraph's outputs, given facts of its inputs (outer values are in scope). For If, Loop, Scan.
   * The last call for a graph is the one that is kept; `repeat` says, once its outputs are known, how often the
   * graph runs for one run of the node (once where it is left out).
   */
  inferGraph(
    graph: Graph,
    inputs: readonly (Fact | undefined)[],
    repeat?: (outputs: readonly (Fact | undefined)[]) => Dim,
  ): readonly (Fact | undefined)[];
  /**
   * The same for one iteration with facts of its own, of which nothing is kept. Undefined where `ahead` of them, this
   * one included, would be more than inference looks at one by one.
   */
  inferIteration(
    graph: Graph,
    inputs: readonly (Fact | undefined)[],
    ahead: number,
  ): readonly (Fact | undefined)[] | undefined;
}

/** For `work`: the context with what inference found. */
export interface WorkContext extends OpContext {
  readonly outputs: readonly (Fact | undefined)[];
}

/** Positions of the codes of one operand of a product, of their scale and of their zero point; the last two may be left out. */
export interface CodesAt {
  readonly codes: number;
  readonly scale?: number;
  readonly zero: number;
}

/** A product that adds codes of 8 bits up in int32. */
export interface CodeProduct {
  /** "uint8" where it quantizes its activation itself, to that type. */
  readonly activation: CodesAt | "uint8";
  readonly weights: readonly CodesAt[];
}

/** What one node of a function does. */
export interface BodyKernel {
  readonly work: TrafficWork;
  /** As of the operator of that node (`OpDefinition.pass`), where stacks tell it from others of its pattern. */
  readonly pass?: TrafficVariant;
}

export interface OpDefinition {
  /** Draws numbers, or does so when it trains: two nodes that are alike may give different results. */
  readonly random?: "always" | "in-training";
  /** "" is ai.onnx. */
  readonly domain: string;
  readonly type: string;
  readonly traits: Traits;
  /** Facts of the outputs, by position; undefined for one that cannot be known. Throws ShapeError on a contradiction. */
  readonly infer: (context: OpContext) => readonly (Fact | undefined)[];
  /** Products, and memory-bound work with a shape of its own. Undefined where sizes are not known. */
  readonly work?: (context: WorkContext) => readonly Work[] | undefined;
  /** Whether `work` gives a product: a node whose `work` is undefined is then reported as skipped. */
  readonly product?: boolean;
  /** Positions of the two inputs that a product multiplies, the activation first. Default [0, 1]. */
  readonly operands?: readonly [number, number];
  /** Of products that are of codes by their definition. */
  readonly codes?: CodeProduct;
  /** States relations between axes, for padding. An operator without it blocks the axes of all its operands. */
  readonly axes?: (context: AxisContext) => void;
  /** What output lanes of a padded atom hold, given the inputs' lanes. Without it: nothing that can be relied on. */
  readonly lanes?: (context: LaneContext, output: number) => Lane;
  /** Memory traffic of an operator without `work`; "none" costs nothing (views, shape arithmetic). Default "copy". */
  readonly traffic?: TrafficPattern | "none";
  /**
   * Of an operator that ONNX defines as a function: what the nodes of it do that are no shape arithmetic and no constants, for runtimes that
   * have no kernel of the operator itself and run those. Undefined where sizes are not known. Conversions to the type that it computes in
   * come last: before and after a change of type, kernels are then the same, one by one.
   */
  readonly body?: (context: WorkContext) => readonly BodyKernel[] | undefined;
  /** Of the passes over memory that were measured by themselves, the one that it is, or takes as long as: of operands that lie in order. */
  readonly pass?: TrafficVariant;
}

export function defineOp(definition: OpDefinition): OpDefinition {
  return definition;
}

/** The model contradicts the operator's definition. The driver adds file and node. */
export class ShapeError extends Error {
  override readonly name = "ShapeError";
}
