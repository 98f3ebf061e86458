/**
 * @file How an operator becomes steps: the interface between the planner and the families of lower/.
 *
 * A family is a record from operator to `Lower`. `Lower` asks its context for views of the inputs, makes views for the
 * outputs, and launches kernels. What needs no kernel (Reshape, Transpose, Slice, Expand …) hands on another view.
 * Elementwise operators hand on an expression, which becomes part of whatever reads it.
 */
import type { Node } from "../../src/ir/model.ts";
import type { Emitter } from "../ir/emitter.ts";
import type { PendingProduct } from "../ir/epilogue.ts";
import type { Expr } from "../ir/expr.ts";
import type { StorageType } from "../ir/storage.ts";
import type { View } from "../ir/view.ts";
import type { CodeNumbers } from "../kernels/gemm-int8/codes.ts";

export interface Attributes {
  int(name: string): number | undefined;
  float(name: string): number | undefined;
  string(name: string): string | undefined;
  ints(name: string): readonly number[] | undefined;
  floats(name: string): readonly number[] | undefined;
  strings(name: string): readonly string[] | undefined;
  has(name: string): boolean;
}

/** Codes of a byte that readers of floats make of them, and whoever makes the floats may. */
export interface CodesWanted {
  readonly numbers: CodeNumbers;
  /** Whether somebody reads the floats as well. */
  readonly areFloatsRead: boolean;
  /** Memory for them, row-major unless an order of axes is given, which a launch has to fill. */
  output(order?: readonly number[]): View;
}

export interface LowerContext extends Attributes, Emitter {
  readonly node: Node;
  /** Version in force of the operator's domain. */
  readonly opset: number;
  /** Number of inputs and outputs that the node names, omitted trailing ones not counted. */
  readonly inputCount: number;
  readonly outputCount: number;
  /** Elements of an attribute that is a tensor of at most 4,096; undefined for none. */
  tensorElements(name: string): readonly number[] | undefined;
  hasInput(index: number): boolean;
  /** Whether somebody reads this output. */
  hasOutput(index: number): boolean;
  /** The input in memory, whatever strides it has. Throws PlanError for an omitted one. */
  input(index: number): View;
  /** The input as part of an expression; where it is in memory already, a load of it. */
  expr(index: number): Expr;
  inputShape(index: number): readonly number[];
  /** As stored: a float of the model may be stored as half. */
  inputType(index: number): StorageType;
  /** As the model says, whatever it is stored as here; undefined where the GPU has no such type. */
  modelType(index: number): StorageType | undefined;
  /**
   * Elements of an input that are known while planning (at most 4,096; row-major; bool as 0/1), else undefined.
   * 64-bit integers are rounded to the nearest double.
   */
  elements(index: number): readonly number[] | undefined;
  /** The same, or a PlanError that names the input: for sizes, axes, paddings. */
  knownElements(index: number): readonly number[];
  outputShape(index: number): readonly number[];
  /** As it is to be stored. */
  outputType(index: number): StorageType;
  /** New memory for an output, which a launch has to fill. Row-major unless an order of axes is given. */
  output(index: number, order?: readonly number[]): View;
  /** Where an output belongs in a concatenation that reads it, of its type and whatever strides it has there: whoever fills it sets the output. */
  homeInConcat(index: number, order?: readonly number[]): View | undefined;
  codesBehind(index: number): CodesWanted | undefined;
  /** Memory that the output has already, row-major and of its type: whoever has the choice writes there. */
  home(index: number): View | undefined;
  /** The output is this view: same shape as `outputShape`; where its type is not `outputType`, it is converted. */
  setOutput(index: number, view: View): void;
  /** The output is this expression, over `outputShape`. */
  setExpr(index: number, expr: Expr): void;
  /**
   * The output is a product, launched when it is known what follows it: `setExpr` of a "product" leaf, or of what `then`
   * makes of that leaf, all of which has to be something that an epilogue does.
   */
  setProduct(index: number, product: PendingProduct, then?: (leaf: Expr) => Expr): void;
  fail(reason: string): never;
}

export type Lower = (context: LowerContext) => void;

/** By operator: `Conv`, or `com.microsoft::FusedConv` outside ai.onnx (as `operatorOf` prints it). */
export type LowerTable = Readonly<Record<string, Lower>>;
