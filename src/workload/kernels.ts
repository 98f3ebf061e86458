/**
 * @file Which nodes of a graph run as one kernel.
 *
 * A stack that fuses elementwise operators runs a chain of them as one kernel (an exporter's GELU is five nodes and one kernel); one
 * that fuses epilogues hides the chain behind a product inside it; one that does neither runs a kernel a node. Shape arithmetic,
 * constants and views cost nothing.
 */
import { movesAround } from "../facts/attention-operator.ts";
import { spellsLayout } from "../facts/nhwc-body.ts";
import type { Scope } from "../facts/scope.ts";
import { bodyOf } from "../facts/works.ts";
import { choosesLayout, runsAsFunction, type Stack } from "../hardware/stacks.ts";
import type { ById } from "../ir/by-id.ts";
import type { Node, Value } from "../ir/model.ts";
import { traitsOf } from "../ops/ask.ts";
import type { BodyKernel } from "../ops/op.ts";
import { findOp } from "../ops/registry.ts";
import { bindWork, type TrafficPattern, type TrafficWork, type Work } from "../ops/work.ts";
import { ConstantValues } from "./constants.ts";
import { isIdle } from "./idle-nodes.ts";
import { areOfAttention, type Kernel, type KernelInput, productsByNode } from "./kernel.ts";
import { hasOneEnd, isWithin, longer, type OpenKernel } from "./open-kernel.ts";
import { operatorKernels } from "./operator-kernels.ts";
import type { CostedProduct } from "./product.ts";
import { scopeAsRun } from "./scope-as-run.ts";
import { boundMemoryWork, chainWork, copiesWhole, givesOutput, isViewed, patternOf } from "./traffic.ts";
import { type Turned, turnedLayout } from "./turned-layout.ts";
import { type FoldedOperands, foldedOperands } from "./written-operand.ts";
import type { WrittenOut } from "./written-out.ts";
import { patternsOf } from "./written-patterns.ts";

/** Of one instance of a graph, in its order. */
export function kernelsOf(input: KernelInput): readonly Kernel[] {
  return input.stack.fuses.elementwise === "none" ? operatorKernels(input) : new KernelFinder(input).find();
}

class KernelFinder {
  readonly #scope: Scope;
  readonly #bindings: ReadonlyMap<string, number>;
  readonly #stack: Stack;
  readonly #constants: ConstantValues;
  /** Attention with packed weights is two products in one node. */
  readonly #productsOf: ReadonlyMap<Node, readonly CostedProduct[]>;
  readonly #aroundAttention: ReadonlySet<Node>;
  /** Operators written as several nodes that the stack joins, by node. */
  readonly #patterns: ReadonlyMap<Node, WrittenOut>;
  /** By a stack that moves Transposes as it loads a file: to NHWC, or back from what a file spells. */
  readonly #turned: Turned | undefined;
  readonly #asRun: Scope;
  /** What runs inside the products beside it, by a stack that joins such. */
  readonly #folded: FoldedOperands | undefined;
  /** The kernel that computes a value. */
  readonly #makerOf: ById<Value, OpenKernel>;
  readonly #kernels: OpenKernel[] = [];

  constructor({ scope, products, bindings, stack }: KernelInput) {
    this.#scope = scope;
    this.#bindings = bindings;
    this.#stack = stack;
    this.#makerOf = scope.byValue();
    this.#constants = ConstantValues.of(scope);
    // A convolution that is in NHWC all the same is of nodes that nothing turns back.
    const isKept = products.some(({ sizes }) => sizes.kind === "conv" && sizes.layout === "nhwc");
    this.#turned = isKept && !choosesLayout(stack) ? undefined : turnedLayout(scope, stack, { bindings });
    this.#asRun = this.#turned === undefined ? scope : scopeAsRun(scope, this.#turned.undone);
    this.#patterns = patternsOf(scope, stack, { bindings });
    this.#folded = stack.fuses.elementwise === "patterns" ? foldedOperands(scope, { bindings }) : undefined;
    this.#productsOf = productsByNode(products);
    this.#aroundAttention = new Set(products.flatMap((product) => this.#movesAround(product)));
  }

  find(): Kernel[] {
    for (const node of this.#scope.graph.nodes) {
      if (!this.#constants.has(node)) this.#place(node);
    }
    return this.#kernels.flatMap((kernel) => this.#close(kernel) ?? []);
  }

  #place(node: Node): void {
    for (const work of this.#turned?.conversions.get(node) ?? []) this.#convert(node, work);
    const pattern = this.#patterns.get(node);
    if (pattern !== undefined) return this.#placePattern(node, pattern);
    const products = this.#productsOf.get(node);
    if (products !== undefined) {
      for (const product of products) {
        if (product.node !== node) continue;
        if (product.decomposed === undefined && areOfAttention(products)) this.#bringApart(node);
        const open = this.#fusesEpilogue();
        this.#add(node, { nodes: [...product.nodes], product, work: product.sizes, open });
      }
      return;
    }
    const traffic = patternOf(node, this.#scope);
    if (spellsLayout(node, this.#scope)) return;
    // A call's own scope costs it; what stands behind it starts anew.
    if (traffic === undefined) return;
    if (traffic === "none" || this.#isFree(node)) return this.#pass(node);
    const body = runsAsFunction(this.#stack, node) ? bodyOf(node, this.#scope) : undefined;
    if (body !== undefined) return this.#placeBody(node, body);
    if (traffic === "elementwise" && (this.#joinBias(node) || this.#joinScale(node))) return;
    if (this.#isLoop(node, traffic)) return this.#placeLoop(node);
    // What describes itself does so by axes of its own.
    const isPlain = findOp(node.domain, node.opType)?.work === undefined;
    const scope = isPlain ? this.#asRun : this.#scope;
    const works = boundMemoryWork(node, scope, traffic, this.#bindings);
    // Statistics over an image, whose channels convolutions leave last, are loops of their own: a sum with strides, one over its parts, a pass.
    const rows = traitsOf(node)?.layout === "channels" ? undefined : this.#rowsOf(works);
    if (rows !== undefined) return this.#placeLoop(node, rows);
    for (const work of works) this.#add(node, { nodes: [node], product: undefined, work, open: false });
  }

  /** Operands of attention that come as one, where its operator says that a pass does. */
  #bringApart(node: Node): void {
    for (const work of boundMemoryWork(node, this.#scope, "copy", this.#bindings))
      if (work.kind === "traffic") this.#convert(node, work);
  }

  /** A pass for this node, before it: what it computes goes by its own kernel. */
  #convert(node: Node, work: Work<number>): void {
    const index = this.#kernels.length;
    this.#kernels.push({ nodes: [node], product: undefined, work, open: false, part: "conversion", index });
  }

  /** The nodes of the function that defines an operator, each a kernel: nothing around joins them. */
  #placeBody(node: Node, body: readonly BodyKernel[]): void {
    for (const [part, { work: unbound, pass }] of body.entries()) {
      const work = bindWork(unbound, this.#bindings);
      if (work === undefined) continue;
      this.#add(node, { nodes: [node], product: undefined, work, pass, part, open: false });
    }
  }

  /** `rows`: of a node that reduces and rescales them. */
  #placeLoop(node: Node, rows?: TrafficWork<number>): void {
    const behind = this.#chainBefore(node);
    if (behind === undefined) {
      const open = this.#joinsChains();
      this.#add(node, { nodes: [node], product: undefined, work: undefined, open, ...(rows && { rows }) });
    } else {
      behind.rows = longer(behind.rows, rows);
      this.#join(node, behind);
    }
  }

  /** What a stack that compiles loops computes with those around it: rows that are reduced and rescaled, as Triton has them. */
  #rowsOf(works: readonly Work<number>[]): TrafficWork<number> | undefined {
    const [only, ...more] = works;
    if (this.#stack.fuses.elementwise !== "loops" || more.length > 0) return undefined;
    return only?.kind === "traffic" && only.pattern === "normalization" ? only : undefined;
  }

  /** Whether a node may be one of many in a kernel. */
  #isLoop(node: Node, traffic: TrafficPattern): boolean {
    if (traffic === "elementwise") return true;
    if (this.#stack.fuses.elementwise !== "loops" || traffic === "pool") return false;
    return findOp(node.domain, node.opType)?.work === undefined;
  }

  #joinsChains(): boolean {
    const { elementwise } = this.#stack.fuses;
    return elementwise === "chains" || elementwise === "loops";
  }

  /** The first node of an operator that is written out stands for all of them. */
  #placePattern(node: Node, written: WrittenOut): void {
    const { nodes, fused } = written;
    if (nodes[0] !== node) return;
    const rows = "opType" in fused ? undefined : this.#rowsOf([fused]);
    if (rows === undefined && !("opType" in fused) && fused.pattern !== "elementwise")
      return this.#add(node, { nodes: [...nodes], product: undefined, work: fused, open: false });
    const open = this.#joinsChains();
    const behind = open ? this.#kernelBefore(nodes) : undefined;
    if (behind === undefined) {
      const begun = { nodes: [...nodes], product: undefined, work: undefined, open, ...(rows && { rows }) };
      return this.#add(node, begun);
    }
    behind.rows = longer(behind.rows, rows);
    for (const each of nodes) this.#join(each, behind);
  }

  /** The open kernel whose value these nodes, and nobody else, read. */
  #kernelBefore(nodes: readonly Node[]): OpenKernel | undefined {
    const inside = new Set(nodes);
    for (const input of nodes.flatMap(({ inputs }) => inputs)) {
      const maker = input === undefined ? undefined : this.#makerOf.get(input);
      if (maker?.open !== true || input === undefined || input.isOutput) continue;
      if (input.consumers.every((reader) => inside.has(reader) || isWithin(reader, maker))) return maker;
    }
    return undefined;
  }

  /**
   * Copies that the stack does not make: views, the way of queries, keys and values to their heads, what it drops as it loads a file,
   * and for a compiler what gives out what it takes in.
   */
  #isFree(node: Node): boolean {
    if (this.#aroundAttention.has(node) || this.#turned?.cancelled.has(node)) return true;
    if (this.#folded?.before.has(node)) return true;
    const isView = this.#stack.fuses.views && isViewed(node, this.#scope);
    const isDropped = this.#stack.dropsIdle && isIdle(node, this.#scope);
    return (
      (isView || isDropped || (this.#joinsChains() && copiesWhole(node, this.#scope))) && !givesOutput(node)
    );
  }

  /** Attention reads heads wherever they lie: what a stack recognises as it, and the operator where Transposes are views. */
  #movesAround({ node, decomposed }: CostedProduct): readonly Node[] {
    if (decomposed !== undefined) return decomposed.around;
    const isOperator = areOfAttention(this.#productsOf.get(node));
    return isOperator && this.#stack.fuses.views ? movesAround(node, this.#scope) : [];
  }

  /** A constant row added to a matrix product: every library has it in the product's epilogue. */
  #joinBias(node: Node): boolean {
    if (node.opType !== "Add" || !this.#stack.fuses.bias) return false;
    const bias = node.inputs.some((input) => input !== undefined && this.#constants.isFixedRow(input));
    const input = node.inputs.find(
      (each) => each !== undefined && this.#makerOf.get(each)?.product?.sizes.kind === "gemm",
    );
    const maker = input === undefined ? undefined : this.#makerOf.get(input);
    if (!bias || maker === undefined || input === undefined || input.isOutput || input.consumers.length > 1)
      return false;
    this.#join(node, maker);
    return true;
  }

  /** A factor of a product's result: cuBLAS multiplies by it. */
  #joinScale(node: Node): boolean {
    const output = this.#folded?.behind.get(node)?.outputs[0];
    const maker = output === undefined ? undefined : this.#makerOf.get(output);
    if (maker?.product === undefined) return false;
    this.#join(node, maker);
    return true;
  }

  #join(node: Node, maker: OpenKernel): void {
    maker.nodes.push(node);
    maker.members?.add(node);
    this.#own(node, maker);
  }

  /** A view belongs to whatever made its input, so that a chain goes on behind it. */
  #pass(node: Node): void {
    const [input] = node.inputs;
    const maker = input === undefined ? undefined : this.#makerOf.get(input);
    if (maker !== undefined) this.#own(node, maker);
  }

  #add(node: Node, begun: Omit<OpenKernel, "index">): void {
    const kernel: OpenKernel = { ...begun, index: this.#kernels.length };
    this.#kernels.push(kernel);
    for (const each of kernel.nodes) this.#own(each, kernel);
    this.#own(node, kernel);
  }

  #own(node: Node, kernel: OpenKernel): void {
    for (const output of node.outputs) if (output !== undefined) this.#makerOf.set(output, kernel);
  }

  /** The open kernel whose only reader is this node, if any. */
  #chainBefore(node: Node): OpenKernel | undefined {
    const joinsLoops = this.#stack.fuses.elementwise === "loops";
    for (const input of node.inputs) {
      const maker = input === undefined ? undefined : this.#makerOf.get(input);
      if (maker?.open !== true || input === undefined) continue;
      // What others read too is written, and read from the chip here.
      if (joinsLoops && maker.product === undefined && this.#comesBefore(node, maker)) return maker;
      if (input.isOutput || !(this.#comesBefore(node, maker) || hasOneEnd(maker, input))) continue;
      const readers = input.consumers.every((reader) => reader === node || isWithin(reader, maker));
      if (readers || this.#allReadersJoin(input, maker)) return maker;
    }
    return undefined;
  }

  /** Whether all that a node reads is there when a kernel runs, or made by it. */
  #comesBefore({ inputs }: Node, kernel: OpenKernel): boolean {
    return inputs.every((input) => {
      const maker = input === undefined ? undefined : this.#makerOf.get(input);
      return maker === undefined || maker === kernel || maker.index < kernel.index;
    });
  }

  /** x → Sigmoid → Mul(x, ·): x has two readers, and both end up in one kernel. */
  #allReadersJoin(value: Value, maker: OpenKernel): boolean {
    return (
      maker.product === undefined &&
      value.consumers.length <= 3 &&
      value.consumers.every((reader) => patternOf(reader, this.#scope) === "elementwise")
    );
  }

  #fusesEpilogue(): boolean {
    const { fuses } = this.#stack;
    return fuses.activation && fuses.residual;
  }

  /** A chain's work is that of all its nodes; undefined where its sizes are not known. */
  #close({ nodes, product, work: given, pass, part, rows: reduced }: OpenKernel): Kernel | undefined {
    if (given !== undefined) return { nodes, work: given, product, pass, part };
    const chain = chainWork(nodes, this.#scope, this.#constants, this.#bindings);
    if (chain === undefined || reduced === undefined) return chain && { nodes, work: chain, product };
    const { pattern, rows, columns } = reduced;
    return { nodes, work: { ...chain, pattern, rows, columns, isLoop: true }, product };
  }
}
