/** @file Several nodes as one piece of work: the interface between the planner and recognisers. */
import type { Scope } from "../../src/facts/scope.ts";
import type { Node, Value } from "../../src/ir/model.ts";
import type { Emitter } from "../ir/emitter.ts";
import type { Expr } from "../ir/expr.ts";
import type { StorageType } from "../ir/storage.ts";
import type { View } from "../ir/view.ts";
import type { CodeNumbers } from "../kernels/gemm-int8/codes.ts";
import type { CodesWanted } from "../lower/context.ts";

/** What a macro sees of the values around it; the rest as for an operator. */
export interface MacroContext extends Emitter {
  view(value: Value): View;
  expr(value: Value): Expr;
  shape(value: Value): readonly number[];
  type(value: Value): StorageType;
  /** As the model says, whatever it is stored as here; undefined where the GPU has no such type. */
  modelType(value: Value): StorageType | undefined;
  elements(value: Value): readonly number[] | undefined;
  /** New memory for the macro's output, or one of those below. */
  output(order?: readonly number[]): View;
  /**
   * Where the output belongs, whatever strides it has there: in a concatenation that reads it, or in memory that the
   * caller reads. Memory of a concatenation is in `order` where it has none yet.
   */
  home(order?: readonly number[]): View | undefined;
  codesBehind(): CodesWanted | undefined;
  setOutput(view: View): void;
  setExpr(expr: Expr): void;
  /** What the output is to be rounded to, where its type is theirs. */
  outputCodes(): CodeNumbers | undefined;
  outputShape(): readonly number[];
  outputType(): StorageType;
}

/**
 * Several nodes that are one piece of work: attention, normalization as exporters write them out. None of the values
 * between is read from outside, nor a graph output.
 */
export interface Macro {
  /** For the printed plan: "LayerNormalization", "Attention". */
  readonly name: string;
  readonly nodes: readonly Node[];
  /** Made by the last of the nodes. */
  readonly output: Value;
  lower(context: MacroContext): void;
}

/** Finds macros in one instance of a graph. The planner drops those that overlap one found earlier. */
export type Recogniser = (scope: Scope) => readonly Macro[];
