/**
 * @file A model's time on a target: what runs as one kernel, in graph order, and what each piece takes.
 *
 * Chains of elementwise operators are one kernel on every stack (an exporter's GELU is five nodes and one kernel);
 * a stack that fuses epilogues hides the chain behind a product inside it. Shape arithmetic, constants and views
 * cost nothing.
 */
import type { CostModel, Estimate } from "../cost/model.ts";
import type { WorkDetail } from "../cost/terms.ts";
import type { TrafficVariant } from "../cost/traffic.ts";
import type { Facts } from "../facts/infer.ts";
import { isNhwcBody } from "../facts/products.ts";
import type { Scope } from "../facts/scope.ts";
import { WorkPool } from "../facts/work-pool.ts";
import type { Target } from "../hardware/target.ts";
import type { ById } from "../ir/by-id.ts";
import { evaluateDim } from "../ir/dim.ts";
import { groupBy } from "../ir/group.ts";
import type { Node, Value } from "../ir/model.ts";
import { own } from "../ir/own.ts";
import { bindWork, type TrafficWork, type Work } from "../ops/work.ts";
import { ConstantValues } from "./constants.ts";
import type { CostedProduct } from "./product.ts";
import { chainWork, memoryWork, patternOf } from "./traffic.ts";

export type Family = "conv" | "gemm" | "attention" | "recurrent" | "memory";

export interface Step {
  readonly scope: Scope;
  /** Everything this kernel computes; the first node gives it its name. */
  readonly nodes: readonly Node[];
  readonly family: Family;
  readonly work: Work<number>;
  /** What is known beside the work. */
  readonly detail: WorkDetail;
  /** Of one run. */
  readonly estimate: Estimate;
  readonly runs: number;
  /** Of all runs. */
  readonly microseconds: number;
  readonly product: CostedProduct | undefined;
}

/** A step that only moves memory: a chain of elementwise nodes, a pool, a concatenation. */
export interface TrafficStep extends Step {
  readonly work: TrafficWork<number>;
  readonly product: undefined;
}

export interface Timeline {
  readonly steps: readonly Step[];
  readonly microseconds: number;
  readonly low: number;
  readonly high: number;
  /** Of the time, in products on Tensor Cores: 0 to 1. */
  readonly tensorCoreShare: number;
  readonly families: Readonly<Record<Family, number>>;
  stepOf(node: Node, scope: Scope): Step | undefined;
}

export interface TimelineInput {
  readonly facts: Facts;
  readonly products: readonly CostedProduct[];
  readonly bindings: ReadonlyMap<string, number>;
  readonly target: Target;
  readonly cost: CostModel;
}

export function buildTimeline(input: TimelineInput): Timeline {
  const pool = new WorkPool();
  const byScope = groupBy(input.products, (product) => product.scope);
  const steps: Step[] = [];
  for (const scope of input.facts.scopes()) {
    for (const step of new ScopeSteps(scope, byScope.get(scope) ?? [], input, pool).build()) steps.push(step);
  }
  return summarize(steps);
}

const noDetail: WorkDetail = {};

/** Operators that PyTorch and fusing compilers answer with a view. */
const viewOps = new Set(["Slice", "Split", "Expand"]);

/** Operators whose time the cost model knows by themselves. */
const variants: Readonly<Partial<Record<string, TrafficVariant>>> = { Pad: "pad", Slice: "slice" };

/** An output of the model is memory of its own, so no view. */
function givesOutput({ outputs }: Node): boolean {
  return outputs.some((output) => output?.isOutput);
}

/** A step while nodes may still join it. */
interface OpenStep {
  readonly nodes: Node[];
  /** The same, once they are many. */
  members?: Set<Node>;
  readonly product: CostedProduct | undefined;
  readonly work: Work<number> | undefined;
  /** Takes further elementwise nodes behind it. */
  readonly open: boolean;
}

class ScopeSteps {
  readonly #scope: Scope;
  readonly #input: TimelineInput;
  readonly #pool: WorkPool;
  readonly #runs: number;
  readonly #constants: ConstantValues;
  /** Attention with packed weights is two products in one node. */
  readonly #productsOf = new Map<Node, CostedProduct[]>();
  readonly #aroundAttention: ReadonlySet<Node>;
  /** The step that computes a value. */
  readonly #makerOf: ById<Value, OpenStep>;
  readonly #steps: OpenStep[] = [];

  constructor(scope: Scope, products: readonly CostedProduct[], input: TimelineInput, pool: WorkPool) {
    this.#scope = scope;
    this.#input = input;
    this.#pool = pool;
    this.#makerOf = scope.byValue();
    this.#runs = evaluateDim(scope.totalRepeat, input.bindings) ?? 1;
    this.#constants = ConstantValues.of(scope);
    const { attention } = input.target.stack.fuses;
    this.#aroundAttention = new Set(
      attention ? products.flatMap(({ decomposed }) => decomposed?.around ?? []) : [],
    );
    for (const product of products) {
      for (const node of product.nodes) {
        const known = this.#productsOf.get(node);
        if (known === undefined) this.#productsOf.set(node, [product]);
        else known.push(product);
      }
    }
  }

  build(): Step[] {
    for (const node of this.#scope.graph.nodes) {
      if (!this.#constants.has(node)) this.#place(node);
    }
    return this.#steps.flatMap((step) => this.#cost(step) ?? []);
  }

  #place(node: Node): void {
    const products = this.#productsOf.get(node);
    if (products !== undefined) {
      for (const product of products) {
        if (product.node !== node) continue;
        const open = this.#fusesEpilogue();
        this.#add(node, { nodes: [...product.nodes], product, work: product.sizes, open });
      }
      return;
    }
    const pattern = patternOf(node, this.#scope);
    if (node.opType === "Transpose" && isNhwcBody(this.#scope)) return;
    // A call's own scope costs it; what stands behind it starts anew.
    if (pattern === undefined) return;
    if (pattern === "none" || this.#isFree(node)) return this.#pass(node);
    if (pattern === "elementwise" && this.#joinBias(node)) return;
    if (pattern !== "elementwise") {
      const work = memoryWork(node, this.#scope, pattern).flatMap(
        (each) => bindWork(each, this.#input.bindings) ?? [],
      );
      for (const each of work)
        this.#add(node, { nodes: [node], product: undefined, work: each, open: false });
      return;
    }
    const behind = this.#chainBefore(node);
    if (behind === undefined)
      this.#add(node, { nodes: [node], product: undefined, work: undefined, open: true });
    else {
      behind.nodes.push(node);
      behind.members?.add(node);
      this.#own(node, behind);
    }
  }

  /** Copies that the stack does not make: views, and the way of queries, keys and values to their heads. */
  #isFree(node: Node): boolean {
    return (
      this.#aroundAttention.has(node) ||
      (this.#input.target.stack.fuses.views && viewOps.has(node.opType) && !givesOutput(node))
    );
  }

  /** A constant row added to a matrix product: every library has it in the product's epilogue. */
  #joinBias(node: Node): boolean {
    if (node.opType !== "Add") return false;
    const bias = node.inputs.some((input) => input !== undefined && this.#isRow(input));
    const input = node.inputs.find(
      (each) => each !== undefined && this.#makerOf.get(each)?.product?.sizes.kind === "gemm",
    );
    const maker = input === undefined ? undefined : this.#makerOf.get(input);
    if (!bias || maker === undefined || input === undefined || input.isOutput || input.consumers.length > 1)
      return false;
    maker.nodes.push(node);
    maker.members?.add(node);
    this.#own(node, maker);
    return true;
  }

  #isRow(value: Value): boolean {
    const fact = this.#scope.fact(value);
    const shape = fact?.kind === "tensor" ? fact.shape : undefined;
    return this.#constants.isFixedValue(value) && (shape?.slice(0, -1).every((dim) => dim === 1) ?? false);
  }

  /** A view belongs to whatever made its input, so that a chain goes on behind it. */
  #pass(node: Node): void {
    const [input] = node.inputs;
    const maker = input === undefined ? undefined : this.#makerOf.get(input);
    if (maker !== undefined) this.#own(node, maker);
  }

  #add(node: Node, step: OpenStep): void {
    this.#steps.push(step);
    for (const each of step.nodes) this.#own(each, step);
    this.#own(node, step);
  }

  #own(node: Node, step: OpenStep): void {
    for (const output of node.outputs) if (output !== undefined) this.#makerOf.set(output, step);
  }

  /** The open step whose only reader is this node, if any. */
  #chainBefore(node: Node): OpenStep | undefined {
    for (const input of node.inputs) {
      const maker = input === undefined ? undefined : this.#makerOf.get(input);
      if (maker?.open !== true || input === undefined || input.isOutput) continue;
      const readers = input.consumers.every((reader) => reader === node || isWithin(reader, maker));
      if (readers || this.#allReadersJoin(input, maker)) return maker;
    }
    return undefined;
  }

  /** x → Sigmoid → Mul(x, ·): x has two readers, and both end up in one kernel. */
  #allReadersJoin(value: Value, maker: OpenStep): boolean {
    return (
      maker.product === undefined &&
      value.consumers.length <= 3 &&
      value.consumers.every((reader) => patternOf(reader, this.#scope) === "elementwise")
    );
  }

  #fusesEpilogue(): boolean {
    const { fuses } = this.#input.target.stack;
    return fuses.activation && fuses.residual;
  }

  #cost(step: OpenStep): Step | undefined {
    const { target, cost, bindings } = this.#input;
    const found = step.work ?? chainWork(step.nodes, this.#scope, this.#constants, bindings);
    if (found === undefined) return undefined;
    const work = step.product === undefined ? this.#pool.share(found) : found;
    const [first] = step.nodes;
    const variant = step.nodes.length === 1 && first !== undefined ? own(variants, first.opType) : undefined;
    const detail: WorkDetail = variant === undefined ? noDetail : { variant };
    const estimate = cost.estimate(work, target, detail);
    const family = work.kind === "traffic" ? "memory" : work.kind;
    const { product, nodes } = step;
    const runs = product?.runs ?? this.#runs;
    return {
      scope: this.#scope,
      nodes,
      family,
      work,
      detail,
      estimate,
      runs,
      microseconds: estimate.microseconds * runs,
      product,
    };
  }
}

/** Nodes of a kernel that are looked through one by one. */
const few = 16;

function isWithin(node: Node, step: OpenStep): boolean {
  if (step.nodes.length <= few) return step.nodes.includes(node);
  step.members ??= new Set(step.nodes);
  return step.members.has(node);
}

export function summarize(steps: readonly Step[]): Timeline {
  const families: Record<Family, number> = { conv: 0, gemm: 0, attention: 0, recurrent: 0, memory: 0 };
  const byNode = new Map<Scope, ById<Node, Step>>();
  let [microseconds, onTensorCores, below, above, belowSquared, aboveSquared] = [0, 0, 0, 0, 0, 0];
  for (const step of steps) {
    const { estimate, runs } = step;
    microseconds += step.microseconds;
    families[step.family] += step.microseconds;
    if (estimate.tensorCore) onTensorCores += step.microseconds;
    const [under, over] = [
      (estimate.microseconds - estimate.low) * runs,
      (estimate.high - estimate.microseconds) * runs,
    ];
    below += under;
    above += over;
    belowSquared += under ** 2;
    aboveSquared += over ** 2;
    const { scope } = step;
    const nodes = byNode.get(scope) ?? scope.byNode<Step>();
    byNode.set(scope, nodes);
    for (const node of step.nodes) nodes.set(node, step);
  }
  // Errors of kernels are half independent, half one machine's: between the root of squares and the plain sum.
  return {
    steps,
    microseconds,
    low: microseconds - (below + Math.sqrt(belowSquared)) / 2,
    high: microseconds + (above + Math.sqrt(aboveSquared)) / 2,
    tensorCoreShare: microseconds > 0 ? onTensorCores / microseconds : 0,
    families,
    stepOf: (node, scope) => byNode.get(scope)?.get(node),
  };
}
