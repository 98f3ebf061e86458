/**
 * @file A model that data decides about: stages, each a segment that is one graph on the GPU, then work of the host whose results
 * say how the next stage is planned. Stages that were planned are kept by what they were planned for.
 */
import { NodeContext } from "../../src/facts/context.ts";
import type { Facts } from "../../src/facts/infer.ts";
import type { Scope } from "../../src/facts/scope.ts";
import type { Graph, Node, Value } from "../../src/ir/model.ts";
import type { Fact, TensorFact } from "../../src/ops/op.ts";
import { elementsOfFact, sizesOfFact } from "../graph/known.ts";
import { LiveNodes } from "../graph/liveness.ts";
import type { HostAttributes } from "../host/operator.ts";
import { DataError } from "../ir/step.ts";
import type { StorageType } from "../ir/storage.ts";
import { refuseSkipped } from "./control-body.ts";
import { cutOf, Demands, type HostWork, readsOf } from "./cuts.ts";
import { planSegment, type Segment, type SegmentOptions } from "./segment.ts";

/** A value that is in memory: as what, and what is known of it. */
export interface Computed {
  /** The model's own unless given. */
  readonly type: StorageType | undefined;
  readonly fact: TensorFact;
}

export type ComputedValues = ReadonlyMap<Value, Computed>;

/** A graph and how its facts come about. */
export interface ProgramSource {
  readonly infer: (computed: ReadonlyMap<Value, Fact>) => Pick<Facts, "root" | "inferBody">;
  readonly outputs: readonly Value[];
}

/** Stages kept behind one stage; those not used for longest are planned again when they are wanted. */
const maxStages = 64;

export class Program {
  readonly source: ProgramSource;
  readonly options: SegmentOptions;
  readonly #demands: Demands;
  /** What is in memory before, of the graph's inputs and of graphs around. */
  readonly entering: ComputedValues;
  #first: Stage | undefined;

  constructor(source: ProgramSource, options: SegmentOptions, entering: ComputedValues) {
    this.source = source;
    this.options = options;
    this.entering = entering;
    this.#demands = new Demands(options.model);
  }

  /** Throws PlanError for what the runtime cannot do. */
  get first(): Stage {
    this.#first ??= this.stageFor(this.entering);
    return this.#first;
  }

  stageFor(computed: ComputedValues): Stage {
    for (;;) {
      const facts = this.source.infer(new Map([...computed].map(([value, { fact }]) => [value, fact])));
      refuseSkipped(facts.root);
      const { outputs } = this.source;
      const { work, wanted } = cutOf(facts.root, outputs, new Set(computed.keys()), this.#demands);
      try {
        const segment = wanted.length === 0 ? undefined : this.#segment(facts, computed, wanted);
        return new Stage(this, facts, computed, segment, work);
      } catch (error) {
        if (!(error instanceof DataError)) throw error;
        const live = new LiveNodes(facts.root, outputs, new Set(computed.keys()));
        if (!this.#demands.learn(error, facts.root, live)) throw error;
      }
    }
  }

  #segment(
    { root: scope, inferBody }: Pick<Facts, "root" | "inferBody">,
    computed: ComputedValues,
    wanted: readonly Value[],
  ): Segment {
    const live = new LiveNodes(scope, wanted, new Set(computed.keys()));
    const reads = new Set(wanted);
    for (const node of scope.graph.nodes)
      if (live.has(node)) for (const value of readsOf(node)) reads.add(value);
    const given = new Map<Value, StorageType | undefined>();
    for (const [value, { type, fact }] of computed)
      if (reads.has(value) && elementsOfFact(fact) === undefined) given.set(value, type);
    const isPort = (value: Value) => this.source.outputs.includes(value);
    return planSegment({ scope, inferBody, given, wanted, isPort }, this.options);
  }
}

export class Stage {
  readonly scope: Scope;
  /** Undefined where there is nothing to compute before the host's work. */
  readonly segment: Segment | undefined;
  /** Of the host, behind the segment; none at the last stage. */
  readonly work: readonly HostWork[];
  readonly #program: Program;
  readonly #inferBody: Facts["inferBody"];
  readonly #computed: ComputedValues;
  readonly #next = new Map<string, Stage>();
  readonly #inside = new Map<string, Program>();

  constructor(
    program: Program,
    { root, inferBody }: Pick<Facts, "root" | "inferBody">,
    computed: ComputedValues,
    segment: Segment | undefined,
    work: readonly HostWork[],
  ) {
    this.#program = program;
    this.scope = root;
    this.#inferBody = inferBody;
    this.#computed = computed;
    this.segment = segment;
    this.work = work;
  }

  /** What follows when the host's work has given these results. Throws PlanError. */
  after(results: ComputedValues): Stage {
    return kept(this.#next, keyOf(results), () => {
      const all = this.#all();
      for (const [value, result] of results) all.set(value, result);
      return this.#program.stageFor(all);
    });
  }

  /** The graph inside a node, as a program of its own. `inputs`: of the graph, what they are in memory. */
  inside(work: Extract<HostWork, { kind: "graph" }>): Program {
    const { node, graph } = work;
    const inputs = graph.inputs.map((_, index) => this.scope.inputsOf(node)[index]);
    const entering = new Map<Value, Computed>();
    for (const [index, value] of graph.inputs.entries()) {
      const given = node.inputs[index];
      const own = given === undefined ? undefined : this.computedOf(given);
      if (own !== undefined) entering.set(value, own);
    }
    return this.program(work, graph, inputs, entering);
  }

  /** An instance of a graph inside a node, kept by what enters it. */
  program(
    { node }: HostWork,
    graph: Graph,
    inputs: readonly (Fact | undefined)[],
    entering: ComputedValues,
    outputs: readonly Value[] = graph.outputs.filter((_, index) => node.outputs[index] !== undefined),
  ): Program {
    return kept(this.#inside, `${node.id};${graph.outputs[0]?.id};${keyOf(entering)}`, () => {
      const infer = (computed: ReadonlyMap<Value, Fact>) => {
        const facts = graph.inputs.map((value, index) => computed.get(value) ?? inputs[index]);
        const root = this.#inferBody(graph, facts, node, this.scope, computed);
        return { root, inferBody: this.#inferBody };
      };
      const all = this.#all();
      for (const [value, own] of entering) all.set(value, own);
      return new Program({ infer, outputs }, this.#program.options, all);
    });
  }

  attributesOf(node: Node): HostAttributes {
    return new NodeContext(node, this.scope, []);
  }

  /** What is known of a value that is in memory when the host works. */
  computedOf(value: Value): Computed | undefined {
    const port = this.segment?.gives.get(value);
    const fact = this.scope.fact(value);
    if (port === undefined) return this.#computed.get(value);
    return { type: port.view.type, fact: { kind: "tensor", dtype: dtypeOf(fact), shape: port.view.shape } };
  }

  #all(): Map<Value, Computed> {
    const all = new Map(this.#computed);
    for (const value of this.segment?.gives.keys() ?? []) {
      const own = this.computedOf(value);
      if (own !== undefined) all.set(value, own);
    }
    return all;
  }
}

export function dtypeOf(fact: Fact | undefined): TensorFact["dtype"] {
  return fact?.kind === "tensor" ? fact.dtype : undefined;
}

function keyOf(values: ComputedValues): string {
  return [...values]
    .map(([{ id }, { type, fact }]) => `${id}:${type}:${sizesOfFact(fact)}:${elementsOfFact(fact)}`)
    .join(";");
}

function kept<Item>(items: Map<string, Item>, key: string, make: () => Item): Item {
  const found = items.get(key);
  const item = found ?? make();
  items.delete(key);
  items.set(key, item);
  const [oldest] = items.keys();
  if (items.size > maxStages && oldest !== undefined) items.delete(oldest);
  return item;
}
