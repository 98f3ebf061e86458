/** @file A product of matrices in the terms of its kernels: two operands, an output, few batch axes, all as numbers. */
import type { Activation } from "./epilogue.ts";
import type { View } from "./view.ts";

/** A view's strides in elements: along m (or n), along k, along the batch axes. */
export interface Operand {
  readonly view: View;
  readonly outer: number;
  readonly k: number;
  readonly batch: readonly number[];
}

/** Likewise along m and n. */
export interface Target {
  readonly view: View;
  readonly m: number;
  readonly n: number;
  readonly batch: readonly number[];
}

export interface Problem {
  readonly m: number;
  readonly n: number;
  readonly k: number;
  /** Sizes of the batch axes, outermost first; none of them 1. */
  readonly batch: readonly number[];
  readonly a: Operand;
  readonly b: Operand;
  readonly d: Target;
  readonly residual: Target | undefined;
  readonly scale: View | undefined;
  readonly bias: View | undefined;
  readonly channels: "m" | "n";
  readonly first: Activation;
  readonly last: Activation;
  readonly alpha: number;
}

/** What a launch computes, where another launch may take it along. */
export interface LaunchedProduct {
  /** As it was asked for, not its transpose. */
  readonly problem: Problem;
  /** Whether `b` is a weight, and may be fetched before the launches in front are done. */
  readonly isAhead: boolean;
}
