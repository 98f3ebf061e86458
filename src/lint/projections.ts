/** @file Products of one input that one piece of work joins: queries, keys and values of an attention; gate and up of an MLP. */
import { findAttention } from "../facts/attention.ts";
import type { Scope } from "../facts/scope.ts";
import type { Node, Value } from "../ir/model.ts";
import { isOp } from "../ops/ask.ts";
import type { CostedProduct, LintContext } from "./context.ts";
import { ProductIndex, patternOf } from "./graph.ts";
import { Neighbours } from "./neighbours.ts";
import { parallelProducts } from "./parallel.ts";

export interface Projections {
  readonly role: "attention" | "gate";
  /** Two or more, in graph order. */
  readonly products: readonly CostedProduct[];
}

/** Each product is in one of them at most. */
export function joinedProjections(context: LintContext): Projections[] {
  const joints = new Joints(context);
  return parallelProducts(context.products).flatMap((group) => {
    const ofAttention = together(group, (product) => joints.attentionsOf(product));
    const taken = new Set(ofAttention.flat());
    const others = group.filter((product) => !taken.has(product));
    const gated = gatePairs(others);
    return [
      ...ofAttention.map((products): Projections => ({ role: "attention", products })),
      ...gated.map((products): Projections => ({ role: "gate", products })),
    ];
  });
}

/** Products that share a joint, joint by joint. */
function together(
  group: readonly CostedProduct[],
  jointsOf: (product: CostedProduct) => readonly Node[],
): CostedProduct[][] {
  const byJoint = new Map<Node, CostedProduct[]>();
  for (const product of group) {
    // Keys that serve several attentions stay with the first.
    const [joint] = jointsOf(product);
    if (joint === undefined) continue;
    const members = byJoint.get(joint);
    if (members === undefined) byJoint.set(joint, [product]);
    else members.push(product);
  }
  return [...byJoint.values()].filter(({ length }) => length > 1);
}

/** Which attention a product's result reaches through passes over memory. */
class Joints {
  readonly #context: LintContext;
  readonly #index: ProductIndex;
  readonly #scopes = new Map<Scope, { readonly near: Neighbours; readonly parts: ReadonlyMap<Node, Node> }>();

  constructor(context: LintContext) {
    this.#context = context;
    this.#index = ProductIndex.of(context.products);
  }

  attentionsOf({ node, scope }: CostedProduct): Node[] {
    const { near, parts } = this.#scopeOf(scope);
    return near.behind(node).flatMap((product) => {
      if (product.sizes.kind === "attention") return product.node;
      return parts.get(product.node) ?? [];
    });
  }

  #scopeOf(scope: Scope) {
    const known = this.#scopes.get(scope);
    if (known !== undefined) return known;
    const parts = new Map<Node, Node>();
    // A target that sees written-out attention has it among its products.
    const written = this.#context.target.stack.fuses.attention ? [] : findAttention(scope).found.values();
    for (const { scores, output } of written) parts.set(scores, scores).set(output, scores);
    const made = { near: new Neighbours(scope, this.#index), parts };
    this.#scopes.set(scope, made);
    return made;
  }
}

/** Pairs whose results one Mul joins. */
function gatePairs(group: readonly CostedProduct[]): CostedProduct[][] {
  const pairs: CostedProduct[][] = [];
  const rest = group.map((product) => ({ product, reach: elementwiseBehind(product) }));
  for (let first = rest.shift(); first !== undefined; first = rest.shift()) {
    const { product, reach } = first;
    const at = rest.findIndex((other) => areMultiplied(reach, other.reach));
    const [other] = at < 0 ? [] : rest.splice(at, 1);
    if (other !== undefined) pairs.push([product, other.product]);
  }
  return pairs;
}

interface Reach {
  readonly values: ReadonlySet<Value>;
  readonly nodes: readonly Node[];
}

/** A bias, a gate's activation and the product with it. */
const maxElementwise = 12;

/** What elementwise nodes make of a product's result. */
function elementwiseBehind({ node, scope }: CostedProduct): Reach {
  const values = new Set<Value>();
  const nodes = new Set<Node>();
  const pending = [...node.outputs];
  while (pending.length > 0 && nodes.size < maxElementwise) {
    const value = pending.pop();
    if (value === undefined || values.has(value)) continue;
    values.add(value);
    for (const reader of value.consumers) {
      const pattern = reader.graph === scope.graph ? patternOf(reader, scope) : undefined;
      if (pattern !== "elementwise" && pattern !== "none") continue;
      nodes.add(reader);
      pending.push(...reader.outputs);
    }
  }
  return { values, nodes: [...nodes] };
}

/** A Mul with one operand of each alone. */
function areMultiplied(a: Reach, b: Reach): boolean {
  const isOf = (value: Value | undefined, own: Reach, other: Reach) =>
    value !== undefined && own.values.has(value) && !other.values.has(value);
  return a.nodes.some((node) => {
    if (!isOp(node, "Mul")) return false;
    const [left, right] = node.inputs;
    return (isOf(left, a, b) && isOf(right, b, a)) || (isOf(left, b, a) && isOf(right, a, b));
  });
}
