/**
 * @file What a model takes with the layout pass's patch applied, priced without applying it: convolutions in NHWC, the operators
 * between them as they were or by their axes there, a Transpose at every border.
 */
import type { CostModel, Estimate } from "../../cost/model.ts";
import type { Node } from "../../ir/model.ts";
import type { GraphPatch, NodeSpec } from "../../ir/patch.ts";
import { isOp } from "../../ops/ask.ts";
import { emitted } from "../../ops/emitted.ts";
import { nhwcDomain } from "../../ops/nhwc.ts";
import { bindWork, type ConvWork, type Work } from "../../ops/work.ts";
import { extentOf, layoutPass, passOver } from "../../workload/extent.ts";
import { asMeasured } from "../../workload/measured.ts";
import { type Step, timelineOf } from "../../workload/timeline.ts";
import { memoryWork, patternOf } from "../../workload/traffic.ts";
import type { Workload } from "../../workload/workload.ts";
import type { LayoutPlan } from "./channels-last.ts";
import { TurnedScope } from "./turned-scope.ts";

/** Undefined where only pricing the patched model tells: inputs and outputs that move, kernels of nodes of which some do. */
export function turnedWorkload(workload: Workload, plan: LayoutPlan, cost: CostModel): Workload | undefined {
  const { patch, rewrite } = plan;
  const graph = patch.graphs.get(workload.model.graph);
  if (graph === undefined) return workload;
  if (rewrite.edges.length > 0 || patch.graphs.size > 1) return undefined;
  // A Transpose is a view there, and what it costs is told by who reads it.
  if (workload.target.stack.fuses.elementwise === "none") return undefined;
  const turning = new Turning(workload, graph, plan, cost);
  const steps: Step[] = [];
  for (const step of workload.timeline.steps) {
    const turned = step.scope.isMain ? turning.turned(step) : step;
    if (turned === undefined) return undefined;
    if (turned !== "gone") steps.push(turned);
  }
  return turning.isKnown()
    ? { ...workload, timeline: timelineOf([...steps, ...turning.borders()]) }
    : undefined;
}

interface Priced {
  readonly work: Work<number>;
  readonly estimate: Estimate;
}

class Turning {
  readonly #workload: Workload;
  readonly #graph: GraphPatch;
  readonly #plan: LayoutPlan;
  readonly #cost: CostModel;
  readonly #scope: TurnedScope;
  readonly #chained: ReadonlySet<Node>;
  /** Convolutions of equal sizes are of equal sizes in NHWC. */
  readonly #convolutions = new Map<Work<number>, Priced>();

  constructor(workload: Workload, graph: GraphPatch, plan: LayoutPlan, cost: CostModel) {
    this.#workload = workload;
    this.#graph = graph;
    this.#plan = plan;
    this.#cost = cost;
    this.#scope = new TurnedScope(workload.facts.root);
    this.#chained = plan.rewrite.chained;
  }

  /** Whether all that is new is nodes that were there, Transposes at borders, and shapes read in another order. */
  isKnown(): boolean {
    return [...this.#graph.nodes].every(([node, specs]) =>
      specs.every(
        ({ base, opType }) => base !== undefined || opType === emitted.Transpose || isOp(node, emitted.Shape),
      ),
    );
  }

  /** The kernel now, `gone`, or undefined where that cannot be told. */
  turned(step: Step): Step | "gone" | undefined {
    // A chain is called as it was.
    const touched = step.nodes.filter((node) => this.#graph.nodes.has(node) && !this.#chained.has(node));
    const [node] = touched;
    if (node === undefined) return step;
    if (step.nodes.length > 1)
      return touched.every((each) => isLanewise(each, step)) ? step : this.#parts(step);
    const spec = this.#specOf(node);
    if (spec === undefined || spec.opType === emitted.Identity) return "gone";
    return this.#under(spec, node, step);
  }

  #specOf(node: Node): NodeSpec | undefined {
    return this.#graph.nodes.get(node)?.find(({ base }) => base === node);
  }

  /** Slices that are one kernel (written-split.ts), where all of them move with what they are of. */
  #parts(step: Step): Step | undefined {
    const [node] = step.nodes;
    const spec = node && this.#specOf(node);
    const isMoved = step.nodes.every((each) => this.#specOf(each)?.outputs !== undefined);
    const isCopy = step.work.kind === "traffic" && step.work.pattern === "copy";
    if (node === undefined || spec === undefined || !isMoved || !isCopy) return undefined;
    const [of] = this.#scope.enter(node, spec, this.#plan.rewrite.written)?.inputs ?? [];
    const extent = of && extentOf(this.#scope.fact(of), this.#workload.bindings);
    return extent && withPrice(step, this.#price(passOver(extent, "copy"), step.detail));
  }

  #under(spec: NodeSpec, node: Node, step: Step): Step | undefined {
    if (spec.domain === nhwcDomain)
      return step.work.kind === "conv" ? this.#convolution(step.work, step) : step;
    if (spec.domain !== undefined || spec.opType !== undefined) return undefined;
    const isAsItWas = spec.outputs === undefined && spec.attributes === undefined;
    const pattern = patternOf(node, step.scope);
    if (isAsItWas || pattern === "elementwise") return step;
    const seen = this.#scope.enter(node, spec, this.#plan.rewrite.written);
    if (seen === undefined || pattern === undefined || pattern === "none") return undefined;
    const [work, ...more] = memoryWork(seen, this.#scope, pattern);
    const bound = work && bindWork(work, this.#workload.bindings);
    return bound === undefined || more.length > 0
      ? undefined
      : withPrice(step, this.#price(bound, step.detail));
  }

  #convolution(work: ConvWork<number>, step: Step): Step {
    const known = this.#convolutions.get(work) ?? this.#price({ ...work, layout: "nhwc" }, step.detail);
    this.#convolutions.set(work, known);
    return withPrice(step, known);
  }

  borders(): Step[] {
    const { facts, bindings } = this.#workload;
    return this.#plan.rewrite.borders.flatMap(({ value }) => {
      const work = layoutPass(facts.root.fact(value), bindings);
      if (work === undefined) return [];
      const { estimate } = this.#price(work, {});
      const { microseconds } = estimate;
      const place = { scope: facts.root, nodes: [], family: "memory", product: undefined } as const;
      return [{ ...place, work, detail: {}, estimate, runs: 1, microseconds }];
    });
  }

  #price(work: Work<number>, detail: Step["detail"]): Priced {
    return { work, estimate: this.#cost.estimate(work, this.#workload.target, detail) };
  }
}

function withPrice(step: Step, { work, estimate: own }: Priced): Step {
  const estimate = asMeasured(step, own);
  return { ...step, work, estimate, microseconds: estimate.microseconds * step.runs };
}

function isLanewise(node: Node, { scope, work }: Step): boolean {
  return (
    patternOf(node, scope) === "elementwise" && work.kind === "traffic" && work.pattern === "elementwise"
  );
}
