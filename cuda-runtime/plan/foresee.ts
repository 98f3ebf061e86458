/**
 * @file What a program will take, told without data: sizes that data decides are the largest that they may be, of branches the dearer
 * one is run, of loops one iteration.
 */

import { graphAttributeOf } from "../../src/ir/attributes.ts";
import { pushAll } from "../../src/ir/lists.ts";
import type { Node, Value } from "../../src/ir/model.ts";
import { isBranching } from "../../src/ops/ask.ts";
import { running } from "../../src/ops/control/unroll.ts";
import type { TensorFact } from "../../src/ops/op.ts";
import { tensor } from "../../src/ops/shape.ts";
import { predictedMicroseconds } from "../cost/predict.ts";
import { nodeError } from "../graph/check.ts";
import { elementsOfFact, sizesOfFact } from "../graph/known.ts";
import { h200, type Plan } from "../ir/step.ts";
import { bytesOfType, isStorageType } from "../ir/storage.ts";
import { elementCount } from "../ir/view.ts";
import type { HostWork } from "./cuts.ts";
import { type Computed, dtypeOf, type Program, type Stage } from "./program.ts";

export type Part =
  | { readonly kind: "segment"; readonly plan: Plan }
  | HostPart
  /** What comes then depends on what `node` reads. */
  | { readonly kind: "open"; readonly node: Node; readonly reason: string };

export interface HostPart {
  readonly kind: "host";
  readonly node: Node;
  /** What the host does. */
  readonly detail: string;
  /** Read from the GPU. */
  readonly bytes: number;
  readonly predictedMicroseconds: number;
}

/**
 * Waiting for the GPU, a copy to the host, and the launch of the next graph on a GPU that has nothing to do (estimated; `bench` measures
 * the whole).
 */
const roundTripMicroseconds = 20;
/** Copies to the host, through pinned memory into memory of the process (estimated). */
const bytesPerMicrosecond = 10_000;

/** Throws PlanError for what the runtime cannot do. */
export function foresee(program: Program): Part[] {
  return new Foresight(program).parts(program);
}

export function microsecondsOf(parts: readonly Part[], program: Program): number {
  const { target = h200 } = program.options;
  return parts.reduce((total, part) => {
    if (part.kind === "open") return total;
    if (part.kind === "host") return total + part.predictedMicroseconds;
    return (
      total + part.plan.steps.reduce((sum, { action }) => sum + predictedMicroseconds(action, target), 0)
    );
  }, 0);
}

class Foresight {
  readonly #program: Program;

  constructor(program: Program) {
    this.#program = program;
  }

  parts(program: Program): Part[] {
    return this.#from(program.first).parts;
  }

  #from(first: Stage): { readonly parts: Part[]; readonly last: Stage | undefined } {
    const parts: Part[] = [];
    for (let stage = first; ; ) {
      if (stage.segment !== undefined) parts.push({ kind: "segment", plan: stage.segment.plan });
      if (stage.work.length === 0) return { parts, last: stage };
      const branch = stage.work.find(({ kind, node }) => kind === "read" && isBranching(node));
      const results = new Map<Value, Computed>();
      for (const work of stage.work) if (work !== branch) pushAll(parts, this.#work(work, stage, results));
      if (parts.at(-1)?.kind === "open") return { parts, last: undefined };
      if (branch?.kind === "read") {
        const rest = this.#dearer(branch, stage, results);
        return { parts: [...parts, hostPart(branch, stage), ...rest.parts], last: rest.last };
      }
      stage = stage.after(results);
    }
  }

  /** Both ways that a condition may turn out. */
  #dearer(
    { values }: Extract<HostWork, { kind: "read" }>,
    stage: Stage,
    results: ReadonlyMap<Value, Computed>,
  ): { readonly parts: Part[]; readonly last: Stage | undefined } {
    const [condition] = values;
    const ways = [1, 0].map((element) => {
      const own = condition && stage.computedOf(condition);
      const known = new Map(results);
      if (condition !== undefined && own !== undefined)
        known.set(condition, { ...own, fact: { ...own.fact, elements: filled(own.fact, element) } });
      return this.#from(stage.after(known));
    });
    const [a = { parts: [], last: undefined }, b = a] = ways;
    return microsecondsOf(a.parts, this.#program) >= microsecondsOf(b.parts, this.#program) ? a : b;
  }

  #work(work: HostWork, stage: Stage, results: Map<Value, Computed>): Part[] {
    switch (work.kind) {
      case "read":
        return [hostPart(work, stage), open(work, `reads ${namesOf(work.values)}, which data decides`)];
      case "operator":
        return this.#operator(work, stage, results);
      case "graph": {
        const { parts, last } = this.#from(stage.inside(work).first);
        for (const [index, value] of work.graph.outputs.entries())
          if (last !== undefined) give(work.node.outputs[index], last.scope.fact(value), results);
        return last === undefined ? [...parts, open(work, "depends on what is inside")] : parts;
      }
      case "loop":
        return this.#loop(work, stage, results);
    }
  }

  #operator(
    work: Extract<HostWork, { kind: "operator" }>,
    stage: Stage,
    results: Map<Value, Computed>,
  ): Part[] {
    const { node, operator } = work;
    const inputs = node.inputs.map((value) => {
      const fact = value && stage.scope.fact(value);
      return value && { shape: sizesOfFact(fact) ?? [], elements: elementsOfFact(fact) };
    });
    const shapes = operator.largest(inputs, stage.attributesOf(node));
    for (const [index, shape] of shapes.entries()) {
      const value = node.outputs[index];
      const dtype = value && dtypeOf(stage.scope.fact(value));
      give(value, tensor(dtype, shape), results);
    }
    return [hostPart(work, stage)];
  }

  #loop(work: Extract<HostWork, { kind: "loop" }>, stage: Stage, results: Map<Value, Computed>): Part[] {
    const { node } = work;
    const body = graphAttributeOf(node, "body");
    if (body === undefined) throw nodeError(node, "has no body");
    const entering = new Map<Value, Computed>();
    for (const [index, value] of body.inputs.entries()) {
      const given = node.inputs[index];
      const fact = index === 0 ? tensor("int64", []) : given && stage.scope.fact(given);
      if (index !== 1 && fact?.kind === "tensor")
        entering.set(value, { type: undefined, fact: tensor(fact.dtype, fact.shape) });
    }
    const facts = body.inputs.map((_, index) => (index === 1 ? running : undefined));
    const { parts, last } = this.#from(stage.program(work, body, facts, entering, body.outputs).first);
    const own = [hostPart(work, stage), ...parts];
    const carried = node.inputs.length - 2;
    let isOpen = last === undefined;
    for (const [index, output] of node.outputs.entries()) {
      const value = body.outputs[index + 1];
      const fact = value && last?.scope.fact(value);
      isOpen ||=
        output !== undefined && index >= carried && sizesOfFact(stage.scope.fact(output)) === undefined;
      give(output, fact, results);
    }
    return isOpen ? [...own, open(work, "how often it runs decides the size of its result")] : own;
  }
}

function filled(fact: TensorFact, element: number): readonly number[] {
  return new Array<number>(elementCount(sizesOfFact(fact) ?? [])).fill(element);
}

function give(
  value: Value | undefined,
  fact: ReturnType<Stage["scope"]["fact"]>,
  to: Map<Value, Computed>,
): void {
  if (value !== undefined && fact?.kind === "tensor")
    to.set(value, { type: undefined, fact: tensor(fact.dtype, fact.shape) });
}

function open({ node }: HostWork, reason: string): Part {
  return { kind: "open", node, reason };
}

function namesOf(values: readonly Value[]): string {
  return values.map(({ name }) => `"${name}"`).join(", ");
}

function hostPart(work: HostWork, stage: Stage): HostPart {
  const { node } = work;
  const read = readBy(work).flatMap((value) => {
    const own = elementsOfFact(stage.scope.fact(value)) === undefined ? stage.computedOf(value) : undefined;
    if (own === undefined) return [];
    const type = own.type ?? own.fact.dtype;
    const elements = elementCount(sizesOfFact(own.fact) ?? []);
    return isStorageType(type) ? [{ elements, bytes: elements * bytesOfType(type) }] : [];
  });
  const bytes = read.reduce((total, each) => total + each.bytes, 0);
  const elements = read.reduce((total, each) => total + each.elements, 0);
  const nanoseconds = work.kind === "operator" ? work.operator.nanosecondsPerElement : 0;
  const rounds = work.kind === "graph" ? 0 : roundTripMicroseconds;
  return {
    kind: "host",
    node,
    detail: detailOf(work),
    bytes,
    predictedMicroseconds: rounds + bytes / bytesPerMicrosecond + (nanoseconds * elements) / 1000,
  };
}

function readBy(work: HostWork): readonly Value[] {
  if (work.kind === "read") return work.values;
  if (work.kind === "graph") return [];
  const inputs = work.kind === "loop" ? work.node.inputs.slice(0, 2) : work.node.inputs;
  return inputs.filter((value) => value !== undefined);
}

function detailOf(work: HostWork): string {
  if (work.kind === "read") return `reads ${namesOf(work.values)}`;
  if (work.kind === "operator") return "computed by the host";
  return work.kind === "loop" ? "asks whether an iteration follows; one is shown" : "runs the graph inside";
}
