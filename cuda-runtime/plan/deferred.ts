/**
 * @file Values that nobody has asked for in memory yet: expressions, and the products at their hearts that are launched
 * once it is known what follows them.
 */

import { matchEpilogue } from "../ir/epilogue-match.ts";
import type { Expr } from "../ir/expr.ts";
import { load } from "../ir/expr-build.ts";
import { nodesOf, productsIn, substitute } from "../ir/expr-walk.ts";
import type { View } from "../ir/view.ts";
import type { Origin } from "./buffers.ts";
import type { PlanEmitter } from "./emitter.ts";
import { Materializer } from "./materialize.ts";
import type { Slot } from "./slots.ts";

export interface DeferOptions {
  /** Between the root of a region and its end: what the end makes of it decides. */
  readonly isInside: boolean;
  /** Where it should be stored, once it is. */
  readonly home: View | undefined;
  /** As `LiveNodes.depthOf`, of its node. */
  readonly depth: number;
  /** Whether what is no epilogue yet may become one by the nodes behind it. */
  readonly mayContinue: () => boolean;
}

export class Deferred {
  readonly #emitter: PlanEmitter;
  readonly #materializer: Materializer;
  /** Of each product not launched: the last value whose whole expression its epilogue can take. */
  readonly #settled = new Map<object, { readonly slot: Slot; readonly expr: Expr }>();
  /** Products that have been launched: the expression that was stored, and where. */
  readonly #launched = new Map<object, { readonly expr: Expr; readonly view: View }>();
  /** Of products: how long the way to each is, and which came first. */
  readonly #places = new Map<object, { readonly depth: number; readonly order: number }>();
  readonly #homes = new Map<Slot, View>();
  /** Of products and slots: the node that it comes from, whoever makes it wait no longer. */
  readonly #origins = new Map<object, Origin>();

  constructor(emitter: PlanEmitter) {
    this.#emitter = emitter;
    this.#materializer = new Materializer(emitter);
  }

  noteProduct(product: object, depth: number): void {
    if (this.#places.has(product)) return;
    this.#places.set(product, { depth, order: this.#places.size });
    this.#origins.set(product, this.#emitter.draft.origin);
  }

  /** Makes the slot lazy. */
  defer(slot: Slot, expr: Expr, options: DeferOptions): void {
    const products = productsIn(expr);
    for (const product of products) this.noteProduct(product, options.depth);
    this.#origins.set(slot, this.#emitter.draft.origin);
    const held = products.length === 0 ? expr : this.#withProduct(slot, expr, options);
    slot.state = { kind: "lazy", expr: held };
    if (options.home !== undefined) this.#homes.set(slot, options.home);
  }

  /** Keeps the product at the heart of an expression where its epilogue takes all of it; else stores what it takes. */
  #withProduct(slot: Slot, expr: Expr, { isInside, mayContinue }: DeferOptions): Expr {
    const [product] = productsIn(expr);
    if (product === undefined || isInside) return expr;
    if (matchEpilogue(expr, slot.shape) !== undefined) {
      this.#settled.set(product, { slot, expr });
      return expr;
    }
    if (mayContinue()) return expr;
    const before = this.#settled.get(product);
    if (before === undefined)
      throw new Error(`tc-lint bug: the product in ${slot.name} was never on its own`);
    const replaced = substitute(expr, new Map([[before.expr, load(this.settle(before.slot))]]));
    if (productsIn(replaced).length > 0) throw new Error(`tc-lint bug: ${slot.name} still holds a product`);
    return replaced;
  }

  /** The value in memory, which it stays in: in `to` (unless given, where it belongs) if it can be written there. */
  settle(slot: Slot, to: View | undefined = this.#homes.get(slot)): View {
    this.refresh(slot);
    const { state } = slot;
    const [product] = state.kind === "lazy" ? productsIn(state.expr) : [];
    const { draft } = this.#emitter;
    const origin = this.#origins.get(product ?? slot) ?? draft.origin;
    const store = () => draft.during(origin, () => this.#materializer.settle(slot, to));
    if (state.kind !== "lazy" || product === undefined) return store();
    const settled = this.#settled.get(product);
    // What a call hands on may be an output and go on into an epilogue as well: it is the product's end then.
    const isPart = settled !== undefined && nodesOf(settled.expr).includes(state.expr);
    if (settled !== undefined && !isPart) {
      // Inside a region: only what the region began with is known to be something that the product can do.
      this.settle(settled.slot);
      return this.settle(slot, to);
    }
    const view = store();
    this.#launched.set(product, { expr: state.expr, view });
    return view;
  }

  /** Products launched meanwhile become loads of what they wrote. */
  refresh(slot: Slot): void {
    if (slot.state.kind !== "lazy") return;
    const { expr } = slot.state;
    const replacements = new Map<Expr, Expr>();
    for (const product of productsIn(expr)) {
      const done = this.#launched.get(product);
      if (done !== undefined) replacements.set(done.expr, load(done.view));
    }
    if (replacements.size > 0) slot.state = { kind: "lazy", expr: substitute(expr, replacements) };
  }

  /**
   * Before an elementwise node: of several products in its inputs all but one are stored, that with the longest way to it (of equal
   * ones the last): a short cut's may run beside what is longer, and the end of both is where that is.
   */
  keepOneProduct(slots: readonly Slot[]): void {
    const waiting = slots.filter((slot) => productsOf(slot).length > 0);
    const products = new Set(waiting.flatMap(productsOf));
    if (products.size < 2) return;
    const placeOf = (product: object) => this.#places.get(product) ?? { depth: 0, order: 0 };
    const keep = [...products]
      .map((product) => ({ product, ...placeOf(product) }))
      .sort((a, b) => a.depth - b.depth || a.order - b.order)
      .at(-1)?.product;
    for (const slot of waiting) if (productsOf(slot).some((product) => product !== keep)) this.settle(slot);
  }

  /** Launches the product that a lazy slot waits for; what follows it stays an expression where it was one. */
  launchProduct(slot: Slot): void {
    this.refresh(slot);
    if (productsOf(slot).length > 0) this.settle(slot);
  }
}

function productsOf({ state }: Slot): object[] {
  return state.kind === "lazy" ? productsIn(state.expr) : [];
}
