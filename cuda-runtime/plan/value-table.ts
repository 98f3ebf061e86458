/** @file Where each value is, or how it will be computed: stored as late as its readers allow. */
import type { ModelReader, TensorRef, Value } from "../../src/ir/model.ts";
import type { TensorBytes } from "../../src/ir/patch.ts";
import { sizesOfFact } from "../graph/known.ts";
import { type Region, regionFrom } from "../graph/reconvergence.ts";
import type { Expr } from "../ir/expr.ts";
import { load } from "../ir/expr-build.ts";
import { isLargeChain, nodesOf, productsIn } from "../ir/expr-walk.ts";
import { scalarOf } from "../ir/scalar.ts";
import { isFloatStorage, type StorageType } from "../ir/storage.ts";
import { elementCount, isSamePlace, orderOf, type View } from "../ir/view.ts";
import { homeInConcat } from "./concat-in-place.ts";
import { Deferred } from "./deferred.ts";
import type { PlanEmitter } from "./emitter.ts";
import { type Frame, ownerOf } from "./frame.ts";
import { isElementwise } from "./fused.ts";
import { likelyOrder } from "./materialize.ts";
import { keepsCodes, type Precision } from "./precision.ts";
import { isFixed, newSlot, type Slot } from "./slots.ts";
import type { PlanValues } from "./values.ts";

export interface ValueOptions {
  readonly precision: Precision;
  readonly weights: (tensor: TensorRef) => TensorBytes;
  /** As `ModelReader.elements`. */
  readonly readElements: ModelReader["elements"];
}

/** The longest epilogue that is waited for. */
const maxEpilogueNodes = 40;
/** An expression of more nodes is not computed again for every element that it is broadcast to. */
const maxRepeatedNodes = 3;
/** The same where many elements share it: about as many instructions as a thread has while its loads are under way. */
const maxSharedNodes = 8;
const leastRepeats = 64;

export class ValueTable implements PlanValues {
  readonly emitter: PlanEmitter;
  readonly deferred: Deferred;
  readonly #precision: Precision;
  readonly #weights: ValueOptions["weights"];
  readonly #readElements: ValueOptions["readElements"];
  /** What is the same in every instance of a graph: stored once. */
  readonly #fixed = new Map<Value, Slot>();

  constructor(emitter: PlanEmitter, options: ValueOptions) {
    this.emitter = emitter;
    this.deferred = new Deferred(emitter);
    this.#precision = options.precision;
    this.#weights = options.weights;
    this.#readElements = options.readElements;
  }

  /** The value is a tensor of the file, in every instance of its graph. */
  setWeight(value: Value, tensor: TensorRef, frame: Frame): void {
    const slot = this.slotOf(value, frame);
    if (slot.state.kind === "empty")
      this.#fixed.set(value, { ...slot, state: { kind: "weight", tensor }, isRoot: true });
  }

  /** The slot of a value as seen from a graph: its own, or one around it. */
  slotOf(value: Value, frame: Frame): Slot {
    const owner = ownerOf(value, frame) ?? frame;
    const found = owner.slots.get(value) ?? this.#fixed.get(value);
    if (found !== undefined) return found;
    const own = newSlot(value, owner.scope, this.#precision);
    const stored = owner.stored.get(value);
    const isStored = this.#precision === "model" || stored?.codes !== undefined;
    const slot: Slot = isStored ? { ...own, ...stored } : own;
    if (isFixed(value, owner.scope)) this.#fixed.set(value, slot);
    else owner.slots.set(value, slot);
    return slot;
  }

  /** The slot's value in memory, of its storage type. */
  viewOf(slot: Slot): View {
    const view = this.rawViewOf(slot);
    if (view.type === slot.type || !slot.isRoot) return view;
    const known = slot.converted.get(slot.type);
    if (known !== undefined) return known;
    const converted = this.emitter.packed(view, { type: slot.type });
    slot.converted.set(slot.type, converted);
    return converted;
  }

  /** The same, of the type it happens to have. */
  rawViewOf(slot: Slot): View {
    const { state, type, shape, name } = slot;
    switch (state.kind) {
      case "stored":
        return state.view;
      case "lazy":
        return this.deferred.settle(slot);
      case "known":
        return this.#stored(slot, this.emitter.constant(type, shape, state.elements));
      case "weight":
        return this.#stored(slot, this.emitter.upload(state.tensor, name, this.#weights));
      case "empty":
        throw new Error(`tc-lint bug: "${name}" is read before it is computed`);
    }
  }

  #stored(slot: Slot, view: View): View {
    slot.state = { kind: "stored", view };
    return view;
  }

  /** The slot's value as part of an expression. `count`: elements of what it becomes part of. */
  exprOf(slot: Slot, count: number): Expr {
    this.deferred.refresh(slot);
    const { state } = slot;
    if (state.kind === "lazy") {
      const isRepeated =
        count > 2 * elementCount(slot.shape) && nodesOf(state.expr).length > maxRepeatedNodes;
      if (!isRepeated || this.#isCheaperRepeated(slot, state.expr, count)) return state.expr;
      return load(this.deferred.settle(slot));
    }
    const elements = state.kind === "known" ? state.elements : this.#scalarOf(state);
    const [only] = elements ?? [];
    const scalar = scalarOf(slot.type);
    if (elements?.length === 1 && only !== undefined && scalar !== "i64" && scalar !== "u64") {
      return { kind: "constant", type: scalar, value: only };
    }
    return load(this.rawViewOf(slot));
  }

  /**
   * Of a few elements that repeat along the last axis, so that the elements of a thread share them: less than a launch.
   * What comes from weights alone is computed once, at load.
   */
  #isCheaperRepeated({ shape }: Slot, expr: Expr, count: number): boolean {
    const nodes = nodesOf(expr);
    const isShared = (shape.at(-1) ?? 1) === 1 && count >= leastRepeats * elementCount(shape);
    return (
      isShared &&
      nodes.length <= maxSharedNodes &&
      nodes.every(({ kind }) => kind !== "product") &&
      nodes.some((node) => node.kind === "load" && !this.emitter.isConstant(node.view))
    );
  }

  /** The one element of a stored scalar. */
  #scalarOf(state: Slot["state"]): readonly number[] | undefined {
    if (state.kind !== "weight" || elementCount(state.tensor.dims) !== 1) return undefined;
    return this.#readElements(state.tensor, 1);
  }

  /** Makes the value of a node lazy, or stores it where its readers want it in memory. */
  setExpr(value: Value, expr: Expr, frame: Frame): void {
    const slot = this.slotOf(value, frame);
    const home = frame.homes.get(value);
    const isInside = frame.inside.has(value);
    this.deferred.defer(slot, expr, {
      isInside,
      home,
      depth: value.producer === undefined ? 0 : frame.live.depthOf(value.producer),
      mayContinue: () => this.#continues(value, expr, frame),
    });
    if (this.mayWait(slot, value, frame) || slot.state.kind !== "lazy") return;
    this.deferred.settle(slot, home ?? homeInConcat(value, slot, this.orderOf(slot), frame, this));
  }

  /** The memory order that the slot has, or would take by itself. */
  orderOf({ state, shape }: Slot): readonly number[] | undefined {
    if (state.kind === "stored") return orderOf(state.view);
    if (state.kind !== "lazy") return undefined;
    const [product] = productsIn(state.expr);
    return product === undefined ? likelyOrder(state.expr, shape) : product.order;
  }

  /** What is no epilogue yet may become one: 2 GELU(x) is halved by the node behind it. */
  #continues(value: Value, expr: Expr, frame: Frame): boolean {
    const [reader, ...more] = frame.live.readersOf(value);
    if (reader === undefined || more.length > 0 || frame.live.isSeen(value) || !isElementwise(reader, frame))
      return false;
    const [output] = reader.outputs;
    if (output === undefined || reader.graph !== value.graph || nodesOf(expr).length > maxEpilogueNodes)
      return false;
    const sizes = sizesOfFact(frame.scope.fact(output));
    return sizes !== undefined && elementCount(sizes) === elementCount(this.slotOf(value, frame).shape);
  }

  /** Whether a lazy slot that is `value` in the frame need not be stored before its readers there are lowered. */
  mayWait(slot: Slot, value: Value, frame: Frame): boolean {
    if (slot.state.kind !== "lazy") return true;
    const { expr } = slot.state;
    if (frame.inside.has(value)) return true;
    if (isLargeChain(expr) || this.#isQuantized(slot, expr)) return false;
    const readers = frame.live.readersOf(value);
    if (frame.live.isSeen(value)) return readers.length === 0;
    if (isOfCodes(expr)) return true;
    if (readers.length <= 1 || nodesOf(expr).every(({ kind }) => kind === "constant")) return true;
    const region = this.#regionOf(value, frame);
    if (region === undefined) return false;
    for (const inner of region.inside) if (inner !== value) frame.inside.add(inner);
    return true;
  }

  /** Codes made of numbers, which the file means to be in memory. */
  #isQuantized({ type }: Slot, expr: Expr): boolean {
    return keepsCodes(this.#precision) && isCodeType(type) && !isOfCodes(expr);
  }

  #regionOf(value: Value, frame: Frame): Region | undefined {
    return regionFrom(value, frame.scope, {
      isElementwise: (node) => isElementwise(node, frame),
      isSeen: (read) => frame.live.isSeen(read),
      readersOf: (read) => frame.live.readersOf(read),
    });
  }

  /** The type that `viewOf` has. */
  typeOf(slot: Slot): StorageType {
    const { state, type, isRoot } = slot;
    return state.kind === "stored" && !isRoot ? state.view.type : type;
  }

  /** Writes the slot's value into `part`: computes it there where that is possible, else copies it. */
  place(slot: Slot, part: View): void {
    if (elementCount(part.shape) === 0) return;
    if (slot.state.kind === "lazy" && slot.type === part.type && this.deferred.settle(slot, part) === part)
      return;
    const view = this.viewOf(slot);
    if (!isSamePlace(view, part)) this.emitter.copy(view, part);
  }

  /** For views handed on: a float may stay what it is. */
  setView(value: Value, view: View, frame: Frame): void {
    const slot = this.slotOf(value, frame);
    const isSame = view.type === slot.type || (isFloatStorage(view.type) && isFloatStorage(slot.type));
    slot.state = { kind: "stored", view: isSame ? view : this.emitter.packed(view, { type: slot.type }) };
  }
}

/** What a code is read as: cheaper to compute again from its byte than to store. */
const maxDequantizingNodes = 8;

function isOfCodes(expr: Expr): boolean {
  const nodes = nodesOf(expr);
  const loads = nodes.flatMap((node) => (node.kind === "load" ? [node.view] : []));
  return (
    nodes.length <= maxDequantizingNodes &&
    nodes.every(({ kind }) => kind !== "product") &&
    loads.some(({ type }) => isCodeType(type)) &&
    loads.every(({ type, shape }) => isCodeType(type) || elementCount(shape) === 1)
  );
}

function isCodeType(type: StorageType): boolean {
  return type === "int8" || type === "uint8";
}
