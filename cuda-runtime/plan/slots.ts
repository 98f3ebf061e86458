/** @file What the planner holds of each value: where it is, or how it will be computed. */
import type { TensorRef } from "../../src/ir/model.ts";
import type { Expr } from "../ptx/expr.ts";
import type { StorageType } from "./storage.ts";
import type { View } from "./view.ts";

export interface Slot {
  readonly name: string;
  readonly shape: readonly number[];
  /** What it is stored as when it is put into memory. */
  readonly type: StorageType;
  state:
    | { readonly kind: "empty" }
    /** Not computed yet: an expression for whoever reads it, a product at its heart perhaps. */
    | { readonly kind: "lazy"; readonly expr: Expr }
    | { readonly kind: "stored"; readonly view: View }
    /** Elements known while planning. */
    | { readonly kind: "known"; readonly elements: readonly number[] }
    /** A tensor of the file, not uploaded yet. */
    | { readonly kind: "weight"; readonly tensor: TensorRef };
  /** The stored view in another type, or in memory of its own. */
  readonly converted: Map<StorageType, View>;
  /** Products read it: rows of channels should begin at multiples of 16 bytes. */
  readonly isOperand: boolean;
  /** An input or a weight keeps the model's type in memory until somebody reads it as `type`. */
  readonly isRoot: boolean;
}
