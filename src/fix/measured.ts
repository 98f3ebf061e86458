/** @file What a repair was measured to do on a GPU, by the bundled runtime: `--fix --prove`. */
import type { PassName } from "../passes/pass.ts";

/** Microseconds. */
export interface Difference {
  readonly before: number;
  readonly after: number;
  /** The difference may be that far off. */
  readonly noise: number;
}

/** The same change in one or more places of a model. */
export interface MeasuredChange {
  readonly pass: PassName;
  /** `padded 60 to 64 in 3 products`. */
  readonly what: string;
  /** Layers of a repeated block are measured once, and counted here. */
  readonly places: number;
  /** Of the steps that differ with and without it, all else repaired: one run of the model. */
  readonly microseconds: Difference;
  /** `asked`: it gained nothing beyond noise, and is made because it was asked for by name. */
  readonly verdict: "kept" | "asked" | "reverted";
}

export interface Measurement {
  readonly gpu: string;
  /** `CUDA 13.0`. */
  readonly driver: string;
  /** In what the runtime computed: `model` is the types that are stored. */
  readonly precision: string;
  readonly sizes: Readonly<Record<string, number>>;
  /** Of whole runs, each from a cold L2, the original and the result in turns. */
  readonly microseconds: Difference;
  /** The longest first. */
  readonly changes: readonly MeasuredChange[];
  /** Steps whose time was measured, and those whose time was known from before. */
  readonly steps: { readonly measured: number; readonly known: number };
  /** The whole was slower in spite of its parts, so that nothing was kept: its times. Null otherwise. */
  readonly slowerAsWhole: Difference | null;
}
