/** @file One instance of a graph while it is lowered. */
import type { Node, Value } from "../../src/ir/model.ts";
import type { View } from "../ir/view.ts";
import type { StoredAs } from "../patterns/code-attention.ts";
import type { Quantizers } from "./codes-behind.ts";
import type { Place } from "./concat-layout.ts";
import type { FusedOperator, FusionGraph } from "./fused.ts";
import type { Slot } from "./slots.ts";

export interface Frame extends FusionGraph {
  /** Float32 values that are stored as something else: as halves where types are the model's, as codes in any case. */
  readonly stored: ReadonlyMap<Value, StoredAs>;
  /** What quantizes floats, by the floats. */
  readonly quantizers: ReadonlyMap<Value, Quantizers>;
  readonly slots: Map<Value, Slot>;
  readonly parent: Frame | undefined;
  readonly operators: readonly FusedOperator[];
  /** Values that concatenations are made of. */
  readonly places: ReadonlyMap<Value, Place>;
  /** Memory of concatenations, from their first part on. */
  readonly concats: Map<Node, View>;
  /** Nodes that were lowered together with one before them. */
  readonly done: Set<Node>;
  /** Values between the root of a region and its end. */
  readonly inside: Set<Value>;
  /** Memory that is waiting for some of the outputs. */
  readonly homes: Map<Value, View>;
}

/** The frame of the value's graph: this one, or one around it. */
export function ownerOf(value: Value, frame: Frame): Frame | undefined {
  let at: Frame | undefined = frame;
  while (at !== undefined && at.scope.graph !== value.graph) at = at.parent;
  return at;
}
