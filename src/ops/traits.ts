/**
 * @file What an operator says about itself besides inference, work and padding: what becomes of elements, of digits, of
 * scales and of layouts. Passes, rules, verification and the runtime ask here instead of keeping lists of operators.
 */
import type { Node } from "../ir/model.ts";

/** What the elements of the outputs are. */
export type Elements =
  /** Those of the first input, in their order: another shape, or none of it. */
  | "same"
  /** Those of the first input, each once, in another order. */
  | "permuted"
  /** Each is one of an input's, or a filler; which one does not depend on their values. */
  | "moved"
  /** Each is one of the first input's; their values say which. */
  | "chosen"
  /** Each is one of those at its place in several inputs. */
  | "picked"
  /** Those of the first input in another type. */
  | "converted"
  /** Made from them. */
  | "computed";

export type HalfType = "float16" | "bfloat16";

/** How one float operand takes part in its node's choice of type. */
export type Slot =
  /** Has the node's type. */
  | "half"
  /** FP32 whatever the node's type is. */
  | "float"
  /** Any type, without effect on the others. */
  | "any"
  /** No FP32 tensor: not looked at. */
  | "other";

/** Why a node does badly in half. */
export type HalfRisk =
  /** Loses digits that no range helps against. */
  | { readonly kind: "digits"; readonly why: string }
  /** Leaves the range of float16 for ordinary inputs; ranges seen on samples can clear it. */
  | { readonly kind: "range"; readonly why: string }
  /** The same for what is added up over many elements: the elements, or their squares. */
  | { readonly kind: "sum"; readonly of: "values" | "squares"; readonly why: string }
  /** The same from a base, or an exponent, on. */
  | { readonly kind: "power" | "exponential" };

export interface HalfTraits {
  /** First opset of the operator's domain that takes the type; undefined for none. */
  readonly since: Readonly<Record<HalfType, number | undefined>>;
  /** Positions whose slot is not "half". */
  readonly inputs?: Readonly<Record<number, Slot>>;
  readonly outputs?: Readonly<Record<number, Slot>>;
  /** Float operands have types of their own, or their bodies say which. */
  readonly isMixed?: true;
  readonly risk?: HalfRisk;
  /**
   * Results leave the range of halves, or lose what matters of it, where operands do not: a runtime that computes in
   * FP32 stores them in FP32.
   */
  readonly isWide?: true;
}

/** What an operator asks of the layout of an image, and how it is said in another one. */
export type Layout =
  /** Lane by lane: any. */
  | "lanewise"
  /** The same, with a scale that belongs to an axis. */
  | "scaled"
  /** A channel axis at 1 and spatial axes behind it, one activation in and one out. */
  | "channels"
  /** An attribute `axis`, the same for all operands. */
  | "axis"
  /** Positions along an attribute `axis`. */
  | "gathered"
  /** Starts and ends along named axes. */
  | "sliced"
  /** Two widths for each axis. */
  | "padded"
  /** Named axes go. */
  | "reduced"
  /** Another shape of the same elements in order. */
  | "view"
  /** The one it has. */
  | "fixed";

/** How a factor on what is read comes out of it. */
export type Scale =
  /** f(c·x) = c·f(x) in the first input; what else is read is no such value. */
  | "first"
  /** The same in all inputs together. */
  | "all"
  /** In either of the first two inputs; a third one is added to the result. The second is the weight, or either is. */
  | "weight-second"
  | "weight-either";

/** What an input is, where it is no plain value. */
export type InputUse =
  /** Positions along an axis of another input, which is the attribute `axis` or the first. */
  | { readonly kind: "index"; readonly table: number; readonly axis: "attribute" | "first" }
  /** Counts: at most the size of an axis of another input; without one, a few. */
  | { readonly kind: "count"; readonly of?: number; readonly axis?: number }
  /** How much of a sequence there is: the size of axis 1 of input 0 and axis 2 of input 3, plus `offset`. */
  | { readonly kind: "length"; readonly offset: number }
  /** A whole number that is none of these: a size, a scale of sizes, a class. */
  | { readonly kind: "whole" }
  /** Yes or no. */
  | { readonly kind: "mask" }
  /** Is added to scores that a softmax takes. */
  | { readonly kind: "scores" };

/** How values decide what a whole number or a truth is: rounding turns it where they are near enough to each other. */
export type Decision =
  /** At each place of output `output`, which place along the attribute `axis` of the first input holds the one that is sought. */
  | { readonly kind: "place"; readonly output: number; readonly axis: number; readonly inOrder: boolean }
  /** Which of two inputs is larger, or whether they are equal. */
  | { readonly kind: "order" }
  /** What is left of the first input without its fraction. */
  | { readonly kind: "whole" };

/** What of a node of an older opset is otherwise in opset 22. */
export interface NewForm {
  /** By position: inputs that it has now, as lists of whole numbers. */
  readonly lists?: Readonly<Record<number, readonly number[]>>;
  /** By name; null goes. */
  readonly attributes: Readonly<Record<string, number | string | null>>;
}

export interface Traits {
  readonly elements: Elements;
  readonly half: HalfTraits;
  readonly layout: Layout;
  /** First opset at which a runtime moves a Transpose across it, its axis named otherwise, whatever fixes make of it. */
  readonly crossedSince?: number;
  /** ONNX Runtime's CUDA provider has a kernel of it for channels last, which `prefer_nhwc` takes (`GetCUDALayoutSensitiveOps`, layout_transformation.cc). */
  readonly turnsToNhwc?: true;
  /** First opset of ai.onnx in which a node has meant what it means in opset 22. Undefined: not known. */
  readonly sameSince?: number;
  /** Where a node does not use what has changed since, an older opset will do. */
  readonly sameIf?: { readonly since: number; readonly applies: (node: Node) => boolean };
  /** What a node is written as where it says the same in another form since; undefined where that is not certain. */
  readonly newForm?: (node: Node, opset: number) => NewForm | undefined;
  readonly scale?: Scale;
  /** By position. */
  readonly uses?: Readonly<Record<number, InputUse>>;
  /** Arithmetic whose result has the digits of its operands: whole numbers stay whole. */
  readonly keepsDigits?: true;
  /** Undefined: it does not decide, or not by values alone that are near each other. */
  readonly decides?: (node: Node) => Decision;
}

type HalfOptions = Omit<HalfTraits, "since">;

/** Takes half from these opsets of its domain on. */
export function half(
  float16: number | undefined,
  bfloat16: number | undefined,
  options: HalfOptions = {},
): HalfTraits {
  return { since: { float16, bfloat16 }, ...options };
}

/** Keeps FP32. */
export function noHalf(options: HalfOptions = {}): HalfTraits {
  return half(undefined, undefined, options);
}

export function losesDigits(why: string): HalfRisk {
  return { kind: "digits", why };
}

export function leavesRange(why: string): HalfRisk {
  return { kind: "range", why };
}

/** Makes something else of its elements, in the layout that it knows. */
export function computes(halfTraits: HalfTraits, others: Partial<Omit<Traits, "half">> = {}): Traits {
  return { elements: "computed", layout: "fixed", ...others, half: halfTraits };
}

/** The same in FP32 alone. */
export const computed: Traits = computes(noHalf());
