/** @file One node as its lowering sees it. */
import type { NodeContext } from "../../src/facts/context.ts";
import type { Node, Value } from "../../src/ir/model.ts";
import { handsOnElements } from "../../src/ops/ask.ts";
import { maxFoldedElements } from "../../src/ops/op.ts";
import { dataError, nodeError } from "../graph/check.ts";
import { elementsOfFact, sizesOfFact, storageOfFact } from "../graph/known.ts";
import type { PendingProduct } from "../ir/epilogue.ts";
import type { Expr } from "../ir/expr.ts";
import { isFloatStorage, type StorageType } from "../ir/storage.ts";
import { elementCount, type View } from "../ir/view.ts";
import type { CodesWanted, LowerContext } from "../lower/context.ts";
import { BaseContext } from "./base-context.ts";
import { homeInConcat } from "./concat-in-place.ts";
import type { Frame } from "./frame.ts";
import { isElementwise } from "./fused.ts";
import type { Slot } from "./slots.ts";
import type { PlanValues } from "./values.ts";

export class NodeLowering extends BaseContext implements LowerContext {
  readonly node: Node;
  readonly #attributes: NodeContext;
  readonly #isElementwise: boolean;

  constructor(values: PlanValues, node: Node, frame: Frame, attributes: NodeContext) {
    super(values, frame);
    this.node = node;
    this.#attributes = attributes;
    this.#isElementwise = isElementwise(node, frame);
    if (this.#isElementwise) values.deferred.keepOneProduct(this.#inputSlots());
  }

  get opset(): number {
    return this.#attributes.opset;
  }

  get inputCount(): number {
    return this.node.inputs.length;
  }

  get outputCount(): number {
    return this.node.outputs.length;
  }

  int(name: string): number | undefined {
    return this.#attributes.int(name);
  }

  float(name: string): number | undefined {
    return this.#attributes.float(name);
  }

  string(name: string): string | undefined {
    return this.#attributes.string(name);
  }

  ints(name: string): readonly number[] | undefined {
    return this.#attributes.ints(name);
  }

  floats(name: string): readonly number[] | undefined {
    return this.#attributes.floats(name);
  }

  strings(name: string): readonly string[] | undefined {
    return this.#attributes.strings(name);
  }

  has(name: string): boolean {
    return this.#attributes.has(name);
  }

  tensorElements(name: string): readonly number[] | undefined {
    return elementsOfFact(this.#attributes.tensor(name));
  }

  hasInput(index: number): boolean {
    return this.node.inputs[index] !== undefined;
  }

  hasOutput(index: number): boolean {
    const value = this.node.outputs[index];
    return value !== undefined && this.frame.live.isLive(value);
  }

  input(index: number): View {
    return this.values.viewOf(this.#inputSlot(index));
  }

  expr(index: number): Expr {
    const slot = this.#inputSlot(index);
    const count = elementCount(this.outputShape(0));
    return this.#isElementwise ? this.values.exprOf(slot, count) : this.chainOf(slot, count);
  }

  inputShape(index: number): readonly number[] {
    return this.#inputSlot(index).shape;
  }

  inputType(index: number): StorageType {
    return this.values.typeOf(this.#inputSlot(index));
  }

  modelType(index: number): StorageType | undefined {
    const value = this.node.inputs[index];
    return value && storageOfFact(this.frame.scope.fact(value));
  }

  elements(index: number): readonly number[] | undefined {
    const value = this.node.inputs[index];
    return value === undefined ? undefined : elementsOfFact(this.frame.scope.fact(value));
  }

  knownElements(index: number): readonly number[] {
    const elements = this.elements(index);
    if (elements !== undefined) return elements;
    const value = this.node.inputs[index];
    if (value === undefined) return this.fail(`has no input ${index}`);
    const what = `input ${index} ("${value.name}") has to be known while planning`;
    const count = elementCount(sizesOfFact(this.frame.scope.fact(value)) ?? []);
    if (count > maxFoldedElements && !value.isInput) {
      const limit = maxFoldedElements.toLocaleString("en-US");
      return this.fail(`${what}, and has ${count.toLocaleString("en-US")} elements: at most ${limit} can be`);
    }
    throw dataError(this.node, `${what}, and depends on data`, [value]);
  }

  outputShape(index: number): readonly number[] {
    return this.#outputSlot(index).shape;
  }

  /** A float that is only moved stays what it is. */
  outputType(index: number): StorageType {
    const { type } = this.#outputSlot(index);
    if (!isFloatStorage(type) || !handsOnElements(this.node)) return type;
    const floats = this.#inputSlots()
      .map((slot) => this.values.typeOf(slot))
      .filter(isFloatStorage);
    const [first] = floats;
    return first !== undefined && floats.every((other) => other === first) ? first : type;
  }

  output(index: number, order?: readonly number[]): View {
    const view = this.temporary(this.outputType(index), this.outputShape(index), order);
    this.values.setView(this.#outputValue(index), view, this.frame);
    return view;
  }

  homeInConcat(index: number, order?: readonly number[]): View | undefined {
    const value = this.#outputValue(index);
    const home = homeInConcat(value, this.values.slotOf(value, this.frame), order, this.frame, this.values);
    return home?.type === this.outputType(index) ? home : undefined;
  }

  codesBehind(index: number): CodesWanted | undefined {
    return this.codesOf(this.#outputValue(index));
  }

  home(index: number): View | undefined {
    const value = this.node.outputs[index];
    return value === undefined ? undefined : this.frame.homes.get(value);
  }

  setOutput(index: number, view: View): void {
    if (!this.hasOutput(index)) return;
    this.values.setView(this.#outputValue(index), view, this.frame);
  }

  setExpr(index: number, expr: Expr): void {
    if (!this.hasOutput(index)) return;
    this.values.setExpr(this.#outputValue(index), expr, this.frame);
  }

  setProduct(index: number, product: PendingProduct, then: (leaf: Expr) => Expr = (leaf) => leaf): void {
    this.values.deferred.noteProduct(product, this.frame.live.depthOf(this.node));
    this.setExpr(index, then({ kind: "product", type: "f32", product }));
  }

  fail(reason: string): never {
    throw nodeError(this.node, reason);
  }

  #inputSlots(): Slot[] {
    return this.node.inputs.flatMap((value) =>
      value === undefined ? [] : this.values.slotOf(value, this.frame),
    );
  }

  #inputSlot(index: number): Slot {
    const value = this.node.inputs[index];
    return value === undefined ? this.fail(`has no input ${index}`) : this.values.slotOf(value, this.frame);
  }

  #outputSlot(index: number): Slot {
    return this.values.slotOf(this.#outputValue(index), this.frame);
  }

  #outputValue(index: number): Value {
    return this.node.outputs[index] ?? this.fail(`has no output ${index}`);
  }
}
