/** @file Puts lazy values into memory: chains as generated kernels, products with what their epilogue can take. */

import type { Epilogue, PendingProduct } from "../ir/epilogue.ts";
import { type EpilogueMatch, matchEpilogue } from "../ir/epilogue-match.ts";
import type { Expr } from "../ir/expr.ts";
import { nodesOf, productsIn } from "../ir/expr-walk.ts";
import { bytesOfType } from "../ir/storage.ts";
import { elementCount, expanded, isPacked, orderOf, sliced, stridesOf, type View } from "../ir/view.ts";
import type { PlanEmitter } from "./emitter.ts";
import type { Slot } from "./slots.ts";

/** What products like to copy at once. */
const alignedBytes = 16;
/** Rows are put apart where that costs no more memory than this. */
const maxPitchGrowth = 1.25;
const minPitchedElements = 4096;

export class Materializer {
  readonly #emitter: PlanEmitter;

  constructor(emitter: PlanEmitter) {
    this.#emitter = emitter;
  }

  /** The value of a lazy slot in memory, which it stays in. Into `to` where that is given and can be written to. */
  settle(slot: Slot, to?: View): View {
    const { state } = slot;
    if (state.kind === "stored") return state.view;
    if (state.kind !== "lazy") throw new Error(`tc-lint bug: ${slot.name} is ${state.kind}, not lazy`);
    const view =
      productsIn(state.expr).length > 0
        ? this.#product(slot, state.expr, to)
        : this.#chain(slot, state.expr, to);
    slot.state = { kind: "stored", view };
    return view;
  }

  #chain(slot: Slot, expr: Expr, to: View | undefined): View {
    const emitter = this.#emitter;
    if (to === undefined && expr.kind === "load" && expr.view.type === slot.type) {
      return expanded(expr.view, slot.shape);
    }
    const target = to ?? this.#memoryFor(slot, likelyOrder(expr, slot.shape));
    emitter.evaluateInto(expr, target);
    return target;
  }

  #product(slot: Slot, expr: Expr, to: View | undefined): View {
    const match = matchEpilogue(expr, slot.shape);
    if (match === undefined)
      throw new Error(`tc-lint bug: ${slot.name} waits for a product that cannot take it`);
    const { product } = match;
    const target =
      to !== undefined && product.acceptsOutput(to) ? to : this.#memoryFor(slot, product.order, product);
    product.emit(this.#epilogueOf(match, slot), target);
    return target;
  }

  /** Memory of the slot's own, its rows perhaps a little apart. */
  #memoryFor(slot: Slot, order: readonly number[] | undefined, product?: PendingProduct): View {
    const { type, shape } = slot;
    const axis = order?.at(-1) ?? shape.length - 1;
    const size = shape[axis] ?? 1;
    const unit = alignedBytes / bytesOfType(type);
    const pitch = Math.ceil(size / unit) * unit;
    const isWorthIt = slot.isOperand && pitch !== size && pitch <= maxPitchGrowth * size;
    if (!isWorthIt || elementCount(shape) < minPitchedElements)
      return this.#emitter.temporary(type, shape, order);
    const pitched = sliced(this.#emitter.temporary(type, shape.with(axis, pitch), order), axis, 0, size);
    return product === undefined || product.acceptsOutput(pitched)
      ? pitched
      : this.#emitter.temporary(type, shape, order);
  }

  #epilogueOf(match: EpilogueMatch, slot: Slot): Epilogue {
    const { product, activation, last } = match;
    return {
      scale: this.#vector(match.scale, product),
      bias: this.#vector(match.bias, product),
      activation,
      residual: this.#residual(match.residual, product, slot),
      last,
    };
  }

  /** One element a channel, float32. */
  #vector(expr: Expr | undefined, product: PendingProduct): View | undefined {
    if (expr === undefined) return undefined;
    const { shape, channelAxis = 0 } = product;
    const channels = shape[channelAxis] ?? 1;
    const ones = shape.map((size, axis) => (axis === channelAxis ? size : 1));
    const asVector = (view: View): View => ({ ...view, shape: [channels], strides: [1] });
    if (expr.kind === "load" && expr.view.type === "float32") {
      const view = expanded(expr.view, ones);
      if (isPacked(view)) return asVector(view);
    }
    return asVector(this.#emitter.evaluate(expr, ones, "float32"));
  }

  #residual(expr: Expr | undefined, product: PendingProduct, slot: Slot): View | undefined {
    if (expr === undefined) return undefined;
    if (expr.kind === "load" && product.acceptsResidual(expr.view)) return expr.view;
    return this.#emitter.evaluate(expr, slot.shape, slot.type, product.order);
  }
}

/** The memory order of the largest operands: what is NHWC stays NHWC. */
export function likelyOrder(expr: Expr, shape: readonly number[]): readonly number[] | undefined {
  const total = elementCount(shape);
  let best: View | undefined;
  for (const node of nodesOf(expr)) {
    if (node.kind !== "load" || node.view.shape.length !== shape.length) continue;
    if (elementCount(node.view.shape) !== total || node.view.strides.includes(0)) continue;
    if (best === undefined || !isRowMajor(node.view)) best = node.view;
  }
  return best === undefined ? undefined : orderOf(best);
}

function isRowMajor(view: View): boolean {
  const order = orderOf(view);
  return (
    order.every((axis, index) => axis === index) || isPacked({ ...view, strides: stridesOf(view.shape) })
  );
}
