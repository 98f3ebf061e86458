/** @file The inference driver: what is known of every value of a model, in every instance of every graph. */

import { InputError } from "../ir/errors.ts";
import { counted } from "../ir/format.ts";
import { textOf } from "../ir/message.ts";
import {
  type Attribute,
  type FunctionDefinition,
  functionKey,
  type Graph,
  type Model,
  type Node,
  operatorOf,
  type Value,
} from "../ir/model.ts";
import { type Fact, type OpDefinition, ShapeError } from "../ops/op.ts";
import { findOp } from "../ops/registry.ts";
import { type EqualityListener, hearEqualities, unknownTensor } from "../ops/shape.ts";
import { signatureOf } from "../ops/signatures.ts";
import { missingBefore } from "../ops/since.ts";
import { checkedOutputs } from "../ops/size.ts";
import { type Bindings, type BindOptions, bindSymbols } from "./bind.ts";
import { type GraphInference, NodeContext, resolveAttribute } from "./context.ts";
import { collectFactSymbols, factOfType, mergeDeclared } from "./declared.ts";
import {
  checkExpansion,
  ExpansionError,
  instantiationLimit,
  maxScopeDepth,
  maxUnrolledNodes,
  tooDeep,
  tooLarge,
} from "./expansion.ts";
import { type Contradiction, isConstant, Scope, type Skipped } from "./scope.ts";
import { type Equality, settledSizes } from "./settled.ts";
import { FactPool } from "./shared-facts.ts";

export interface InferOptions extends BindOptions {
  /** Whether value_info and declared outputs fill what inference cannot tell. Default true. */
  readonly useDeclared?: boolean | undefined;
  /** Elements of graph inputs that are known to the caller, by input name. */
  readonly inputs?: ReadonlyMap<string, Fact> | undefined;
  /** What is known of values of the main graph beside what inference finds: they have been computed. */
  readonly computed?: ReadonlyMap<Value, Fact> | undefined;
}

export interface Facts {
  readonly model: Model;
  readonly root: Scope;
  /** Every instance of a graph, parents first. */
  scopes(): Iterable<Scope>;
  /** Symbols without a size. */
  readonly symbols: ReadonlySet<string>;
  /** Symbols with one: as the caller says, or as weights settle it. */
  readonly bindings: ReadonlyMap<string, number>;
  /** Whether the caller gave a size: what is here then holds at that size alone. */
  readonly isBound: boolean;
  readonly skipped: readonly Skipped[];
  readonly contradictions: readonly Contradiction[];
  /**
   * One more instance of a subgraph of `owner`, with facts of its own: an iteration of a loop, for those who unroll it.
   * `parent` is the instance around, which does not get to know of it; a function's body is an instance for this call.
   * `computed`: as for `inferFacts`, of the graph's own values. Throws InputError as `inferFacts` does.
   */
  inferBody(
    graph: Graph,
    inputs: readonly (Fact | undefined)[],
    owner: Node,
    parent: Scope,
    computed?: ReadonlyMap<Value, Fact>,
  ): Scope;
}

/**
 * Infers dtype, shape and small constant contents of every value.
 * Throws InputError for sizes that contradict the model, and for functions that recurse or expand without bound.
 */
export function inferFacts(model: Model, options: InferOptions = {}): Facts {
  return named(model, () => inferNamed(model, options));
}

/** Functions and nesting are of no node: the model's name is what tells a user where. */
function named<T>(model: Model, action: () => T): T {
  try {
    return action();
  } catch (error) {
    if (!(error instanceof ExpansionError)) throw error;
    throw new InputError(error.code, `${model.path}: ${error.message}`, { cause: error });
  }
}

function inferNamed(model: Model, options: InferOptions): Facts {
  checkExpansion(model);
  const bindings = bindSymbols(model, options);
  const useDeclared = options.useDeclared ?? true;
  const inference = new Inference(model, bindings, useDeclared);
  inference.computed = options.computed ?? nothingComputed;
  const root = new Scope({ model, graph: model.graph, opsets: model.opsets });
  for (const input of model.graph.inputs) {
    if (isConstant(input, model)) continue;
    const fact =
      options.computed?.get(input) ?? options.inputs?.get(input.name) ?? inputFact(input, options, bindings);
    root.setFact(input, fact);
    collectFactSymbols(fact, inference.symbols);
  }
  inference.run(root);
  const isBound = (options.shapes?.size ?? 0) + (options.dims?.size ?? 0) + (options.inputs?.size ?? 0) > 0;
  return collect(root, inference, new Inference(model, bindings, useDeclared), isBound);
}

function inputFact(input: Value, options: InferOptions, bindings: Bindings): Fact | undefined {
  const { declared, initializer } = input;
  if (initializer !== undefined) return { kind: "tensor", dtype: initializer.dtype, shape: initializer.dims };
  const given = options.shapes?.get(input.name);
  if (given !== undefined) {
    const dtype = declared?.kind === "tensor" ? declared.dtype : undefined;
    return { kind: "tensor", dtype, shape: given };
  }
  return declared === undefined ? undefined : factOfType(declared, bindings);
}

function collect(root: Scope, inference: Inference, bodies: Inference, isBound: boolean): Facts {
  const settled = settledSizes(inference.equalities);
  const skipped: Skipped[] = [];
  const contradictions: Contradiction[] = [];
  for (const scope of walk(root)) {
    for (const entry of scope.skipped) skipped.push(entry);
    for (const entry of scope.contradictions) contradictions.push(entry);
  }
  const { model } = root;
  return {
    model,
    root,
    scopes: () => walk(root),
    symbols: new Set([...inference.symbols].filter((name) => !settled.has(name))),
    bindings: new Map([...settled, ...inference.bindings.sizes]),
    isBound,
    skipped,
    contradictions,
    inferBody: (graph, inputs, owner, parent, computed) =>
      bodies.inferBody(graph, inputs, owner, parent, computed),
  };
}

function* walk(root: Scope): Generator<Scope> {
  const pending: Iterator<Scope>[] = [[root].values()];
  for (let last = pending.at(-1); last !== undefined; last = pending.at(-1)) {
    const { value: scope, done } = last.next();
    if (done === true) {
      pending.pop();
    } else {
      yield scope;
      pending.push(childrenOf(scope));
    }
  }
}

function* childrenOf(scope: Scope): Generator<Scope> {
  for (const instances of scope.children.values()) yield* instances;
}

const nothingComputed: ReadonlyMap<Value, Fact> = new Map();

class Inference implements GraphInference {
  readonly bindings: Bindings;
  /** Values that were computed: what is known of them goes before what their operators tell. */
  computed = nothingComputed;
  readonly #model: Model;
  readonly #useDeclared: boolean;
  /** Names of the symbols in graph inputs and in declarations that were used. */
  readonly symbols = new Set<string>();
  /** What every run of the model requires of sizes that have no number of their own. */
  readonly equalities: Equality[] = [];
  readonly #hear: EqualityListener = (dim, size) => this.equalities.push({ dim, size });
  #isInside = false;
  readonly #pool = new FactPool();
  /** Counted where a graph is first entered: most models have none but the main one. */
  #limit: number | undefined;
  /** Every pass over a loop counted. */
  #instantiatedNodes = 0;
  /** Those of iterations that are looked at one by one. */
  #unrolledNodes = 0;
  #isUnrolling = false;

  constructor(model: Model, bindings: Bindings, useDeclared: boolean) {
    this.#model = model;
    this.bindings = bindings;
    this.#useDeclared = useDeclared;
  }

  run(scope: Scope): void {
    for (const node of scope.graph.nodes) {
      const outputs = this.#infer(node, scope);
      for (let index = 0; index < node.outputs.length; index++) {
        const value = node.outputs[index];
        if (value !== undefined) this.#store(value, outputs[index], scope);
      }
    }
  }

  inferSubgraph(graph: Graph, inputs: readonly (Fact | undefined)[], owner: Node, parent: Scope) {
    const scope = this.#enter(new Scope({ model: this.#model, graph, opsets: parent.opsets, parent, owner }));
    const before = this.#isInside;
    this.#isInside = true;
    try {
      return { scope, outputs: this.#body(scope, inputs) };
    } finally {
      this.#isInside = before;
    }
  }

  mayUnroll(graph: Graph, iterations: number): boolean {
    return this.#unrolledNodes + iterations * sizeOf(graph) <= maxUnrolledNodes;
  }

  unrolling<Result>(work: () => Result): Result {
    const before = this.#isUnrolling;
    this.#isUnrolling = true;
    try {
      return work();
    } finally {
      this.#isUnrolling = before;
    }
  }

  /** Each has the whole allowance for the loops inside it; all together end at `instantiationLimit`. */
  inferBody(
    graph: Graph,
    inputs: readonly (Fact | undefined)[],
    owner: Node,
    parent: Scope,
    computed = nothingComputed,
  ): Scope {
    this.#unrolledNodes = 0;
    this.computed = computed;
    const definition = this.#functionOf(owner);
    if (definition?.graph !== graph) return this.inferSubgraph(graph, inputs, owner, parent).scope;
    const scope = this.#enter(this.#scopeOfCall(definition, owner, parent));
    this.#body(scope, inputs);
    return scope;
  }

  #infer(node: Node, scope: Scope): readonly (Fact | undefined)[] {
    const definition = this.#functionOf(node);
    if (definition !== undefined) return this.#call(definition, node, scope);
    const op = findOp(node.domain, node.opType);
    const opset = scope.opsets.get(node.domain);
    const since = missingBefore(node.domain, node.opType, opset);
    if (op === undefined || since !== undefined) {
      const when = since === undefined ? "" : ` at opset ${opset}: there since ${since}`;
      const reason = `unknown operator ${operatorOf(node)}${when}`;
      scope.skipped.push({ node, scope, kind: "unknown-operator", reason });
      return [];
    }
    const context = new NodeContext(node, scope, [], this);
    try {
      checkInputCount(node);
      return checkedOutputs(this.#inferred(op, context));
    } catch (error) {
      if (!(error instanceof ShapeError)) throw error;
      scope.skipped.push({ node, scope, kind: "shape-error", reason: error.message });
      return [];
    } finally {
      if (context.subgraphs !== undefined) scope.setChildren(node, [...context.subgraphs.values()]);
    }
  }

  /** What a branch or a loop's body requires, it requires where it runs; what a node that is skipped does, nobody knows. */
  #inferred(op: OpDefinition, context: NodeContext): readonly (Fact | undefined)[] {
    const heard = this.equalities.length;
    const before = hearEqualities(this.#isInside ? undefined : this.#hear);
    try {
      return op.infer(context);
    } catch (error) {
      this.equalities.length = heard;
      throw error;
    } finally {
      hearEqualities(before);
    }
  }

  /** A function of the model goes before an operator of the same name. */
  #functionOf(node: Node): FunctionDefinition | undefined {
    const { functions } = this.#model;
    if (functions.size === 0) return undefined;
    return functions.get(functionKey(node.domain, node.opType, node.overload));
  }

  #call(definition: FunctionDefinition, node: Node, parent: Scope): readonly (Fact | undefined)[] {
    const scope = this.#enter(this.#scopeOfCall(definition, node, parent));
    parent.setChildren(node, [scope]);
    return this.#body(scope, parent.inputsOf(node));
  }

  #scopeOfCall(definition: FunctionDefinition, node: Node, parent: Scope): Scope {
    const { graph, opsets, name, defaults } = definition;
    const call = { name, attributes: callAttributes(node, defaults, parent) };
    return new Scope({ model: this.#model, graph, opsets, parent, owner: node, call });
  }

  /** Counts an instance before it is run. */
  #enter(scope: Scope): Scope {
    const size = sizeOf(scope.graph);
    this.#instantiatedNodes += size;
    if (this.#isUnrolling) this.#unrolledNodes += size;
    // Beside iterations that are looked at one by one.
    this.#limit ??= maxUnrolledNodes + instantiationLimit(this.#model);
    if (this.#instantiatedNodes > this.#limit) throw tooLarge(this.#limit);
    if (scope.depth > maxScopeDepth) throw tooDeep();
    return scope;
  }

  #body(scope: Scope, inputs: readonly (Fact | undefined)[]): readonly (Fact | undefined)[] {
    scope.graph.inputs.forEach((value, index) => {
      this.#store(value, inputs[index] ?? undefined, scope);
    });
    this.run(scope);
    return scope.graph.outputs.map((value) => scope.fact(value) ?? unknownTensor);
  }

  #store(value: Value, found: Fact | undefined, scope: Scope): void {
    const known = this.computed.size === 0 ? undefined : this.computed.get(value);
    if (known !== undefined) {
      scope.setFact(value, known);
      return;
    }
    const inferred = this.#pool.share(found);
    if (!this.#useDeclared || value.declared === undefined) {
      scope.setFact(value, inferred);
      return;
    }
    const { fact, contradiction } = mergeDeclared(inferred, value, this.bindings);
    scope.setFact(value, fact);
    if (fact !== inferred) collectFactSymbols(fact, this.symbols);
    if (contradiction) scope.contradictions.push({ value, scope, inferred });
  }
}

/** Operators read what ONNX requires of them without asking. Throws ShapeError. */
function checkInputCount({ domain, opType, inputs }: Node): void {
  const fewest = signatureOf(domain, opType)?.inputs[0] ?? 0;
  if (inputs.length < fewest)
    throw new ShapeError(textOf`has ${counted(inputs.length, "input")}, expected at least ${fewest}`);
  for (let index = 0; index < fewest; index++)
    if (inputs[index] === undefined)
      throw new ShapeError(textOf`input ${index} is left out, expected a tensor`);
}

/** Its nodes, and one for the instance itself: empty ones cost something too. */
function sizeOf(graph: Graph): number {
  return graph.nodes.length + 1;
}

function callAttributes(
  node: Node,
  defaults: readonly Attribute[],
  scope: Scope,
): ReadonlyMap<string, Attribute> {
  const attributes = new Map(defaults.map((attribute) => [attribute.name, attribute]));
  for (const attribute of node.attributes) {
    const resolved = resolveAttribute(attribute, scope);
    if (resolved !== undefined) attributes.set(attribute.name, resolved);
  }
  return attributes;
}
