/** @file Scan, unrolled: one instance of the body a step, over views of the inputs. */
import { NodeContext } from "../../src/facts/context.ts";
import { maxUnrolledNodes } from "../../src/facts/expansion.ts";
import type { Graph, Node, Value } from "../../src/ir/model.ts";
import type { Fact } from "../../src/ops/op.ts";
import { normalizeAxis, stridesOf, tensor } from "../../src/ops/shape.ts";
import { dataError, nodeError } from "../graph/check.ts";
import { elementsOfFact, sizesOfFact } from "../graph/known.ts";
import { picked, type View } from "../ir/view.ts";
import type { Origin } from "./buffers.ts";
import {
  type BodyInput,
  bindInputs,
  bindOutputs,
  instanceOf,
  isWanted,
  settleCaptured,
} from "./control-body.ts";
import { type Part, Stack } from "./control-stack.ts";
import type { Frame } from "./frame.ts";
import type { Slot } from "./slots.ts";
import type { GraphLowering } from "./values.ts";

export function lowerScan(node: Node, frame: Frame, planner: GraphLowering): void {
  settleCaptured(node, frame, planner.values);
  const scan = scanOf(node, frame, planner);
  if (scan.context.opset < 9) lowerBatches(scan);
  else lowerSequence(scan);
}

/** A Scan, and where it is. */
interface ScanNode {
  readonly node: Node;
  readonly frame: Frame;
  readonly planner: GraphLowering;
  readonly context: NodeContext;
  readonly origin: Origin;
  readonly body: Graph;
  readonly states: readonly Source[];
  readonly scanned: readonly Source[];
}

/** An input, or part of one: what is known of it, and where it is. */
interface Source {
  readonly name: string;
  readonly fact: Fact | undefined;
  /** As it is; a slice of it is asked for as a view. */
  readonly slot: () => Slot;
  readonly view: () => View;
}

/** One sequence of steps. */
interface Sequence {
  readonly states: readonly BodyInput[];
  /** Slices of the scan inputs in a step. */
  readonly slices: (step: number) => readonly BodyInput[];
  readonly steps: number;
  /** By output of the body; undefined for one that nobody reads, and for states. */
  readonly stacks: readonly (Stack | undefined)[];
  /** Of the stack, in a step. */
  readonly part: (output: number, step: number) => Part;
}

function scanOf(node: Node, frame: Frame, planner: GraphLowering): ScanNode {
  const context = new NodeContext(node, frame.scope, []);
  const body = context.graph("body");
  const count = context.int("num_scan_inputs");
  if (body === undefined || count === undefined) throw nodeError(node, "needs a body and num_scan_inputs");
  const values = context.opset < 9 ? node.inputs.slice(1) : node.inputs;
  const sources = values.map((value) => {
    if (value === undefined) throw nodeError(node, "leaves out an input");
    return sourceOf(value, frame, planner);
  });
  const { origin } = planner.values.emitter.draft;
  const states = sources.slice(0, -count);
  return { node, frame, planner, context, origin, body, states, scanned: sources.slice(-count) };
}

function sourceOf(value: Value, frame: Frame, planner: GraphLowering): Source {
  const slot = () => planner.values.slotOf(value, frame);
  return { name: value.name, fact: frame.scope.fact(value), slot, view: () => planner.values.viewOf(slot()) };
}

function lowerSequence(scan: ScanNode): void {
  const { node, frame, planner, context, states, scanned } = scan;
  const outputs = node.outputs.slice(states.length);
  const inputAxes = axesOf(
    scan,
    "scan_input_axes",
    scanned.map(({ fact }) => rankOf(fact)),
  );
  const outputAxes = axesOf(
    scan,
    "scan_output_axes",
    outputs.map((output) => rankOf(output && frame.scope.fact(output))),
  );
  const steps = sizeAlong(scan, inputAxes);
  const stacks = outputs.map((output, index) => stackFor(scan, output, [outputAxes[index] ?? 0]));
  const placeOf = (directions: string, index: number, step: number) =>
    (context.ints(directions)?.[index] ?? 0) === 0 ? step : steps - 1 - step;
  const last = lowerSteps(scan, {
    states,
    steps,
    slices: (step) =>
      scanned.map((source, index) =>
        sliceOf(source, inputAxes[index] ?? 0, placeOf("scan_input_directions", index, step)),
      ),
    stacks,
    part: (index, step) => (whole) =>
      picked(whole, outputAxes[index] ?? 0, placeOf("scan_output_directions", index, step)),
  });
  planner.values.emitter.draft.during(scan.origin, () => {
    for (const stack of stacks) stack?.finish();
    const slots = last.map(({ slot }, index) => (isWanted(node.outputs[index], frame) ? slot() : undefined));
    bindOutputs(node, slots, frame, planner.values);
  });
}

function axesOf({ context }: ScanNode, name: string, ranks: readonly number[]): number[] {
  return ranks.map((rank, index) => normalizeAxis(context.ints(name)?.[index] ?? 0, rank, "scan axis"));
}

function rankOf(fact: Fact | undefined): number {
  return fact?.kind === "tensor" ? (fact.shape?.length ?? 1) : 1;
}

function stackFor(
  { node, frame, planner }: ScanNode,
  output: Value | undefined,
  axes: readonly number[],
): Stack | undefined {
  return isWanted(output, frame) ? new Stack(node, output, axes, frame, planner.values) : undefined;
}

/** Before opset 9: every value has a batch in front, and each of its sequences a length of its own. */
function lowerBatches(scan: ScanNode): void {
  const { node, planner, states, scanned, origin } = scan;
  const steps = sizeAlong(scan, new Array<number>(scanned.length).fill(1));
  const lengths = lengthsOf(scan, batchOf(scan), steps);
  const ends = states.map((_, index) => stackFor(scan, node.outputs[index], [0]));
  const stacks = node.outputs.slice(states.length).map((output) => stackFor(scan, output, [0, 1]));
  if (lengths.some((length) => length < steps)) for (const stack of stacks) stack?.clear();
  for (const [item, length] of lengths.entries()) {
    const last = lowerSteps(scan, sequenceOf(scan, item, length, stacks));
    planner.values.emitter.draft.during(origin, () => {
      for (const [index, end] of ends.entries()) {
        const slot = end === undefined ? undefined : last[index]?.slot();
        if (slot !== undefined) end?.placeSlot(slot, (whole) => picked(whole, 0, item));
      }
    });
  }
  planner.values.emitter.draft.during(origin, () => {
    for (const stack of [...ends, ...stacks]) stack?.finish();
  });
}

/** One item of a batch. */
function sequenceOf(
  { context, states, scanned }: ScanNode,
  item: number,
  steps: number,
  stacks: Sequence["stacks"],
): Sequence {
  const placeOf = (index: number, step: number) =>
    (context.ints("directions")?.[index] ?? 0) === 0 ? step : steps - 1 - step;
  return {
    states: states.map((source) => sliceOf(source, 0, item)),
    steps,
    slices: (step) =>
      scanned.map((source, index) => sliceOf(sliceOf(source, 0, item), 0, placeOf(index, step))),
    stacks,
    part: (_, step) => (whole) => picked(picked(whole, 0, item), 0, step),
  };
}

function batchOf({ node, scanned }: ScanNode): number {
  const batch = sizesOfFact(scanned[0]?.fact)?.[0] ?? 0;
  if (batch <= maxUnrolledNodes) return batch;
  const [found, limit] = [batch, maxUnrolledNodes].map((count) => count.toLocaleString("en-US"));
  throw nodeError(
    node,
    `has a batch of ${found} sequences; a plan holds up to ${limit} nodes of unrolled loops`,
  );
}

function lengthsOf({ node, frame }: ScanNode, batch: number, steps: number): readonly number[] {
  const [given] = node.inputs;
  if (given === undefined) return new Array<number>(batch).fill(steps);
  const lengths = elementsOfFact(frame.scope.fact(given));
  if (lengths === undefined)
    throw nodeError(
      node,
      `its sequence_lens ("${given.name}") have to be known while planning, and depend on data`,
    );
  if (lengths.length !== batch || lengths.some((length) => !(length >= 0 && length <= steps)))
    throw nodeError(
      node,
      `sequence_lens are ${lengths.join(", ")}, for ${batch} sequences of ${steps} steps`,
    );
  return lengths;
}

function sizeAlong({ node, scanned }: ScanNode, axes: readonly number[]): number {
  const sizes = scanned.map(({ name, fact }, index) => {
    const size = fact?.kind === "tensor" ? fact.shape?.[axes[index] ?? 0] : undefined;
    if (typeof size === "number") return size;
    throw dataError(node, `the length of "${name}" has to be known while planning, and depends on data`);
  });
  const [steps = 0] = sizes;
  if (sizes.some((size) => size !== steps))
    throw nodeError(node, `its inputs have ${sizes.join(", ")} slices`);
  return steps;
}

/** The states after the last step. */
function lowerSteps(scan: ScanNode, sequence: Sequence): readonly BodyInput[] {
  const { node, frame, planner, body: graph, origin } = scan;
  const { steps, stacks, part } = sequence;
  let { states } = sequence;
  for (let step = 0; step < steps; step++) {
    const inputs = [...states, ...sequence.slices(step)];
    const scope = instanceOf(node, graph, inputs, frame, planner);
    if (step === 0) planner.unrolled.take(node, scope, steps);
    const isLast = step === steps - 1;
    const [ends, slices] = [graph.outputs.slice(0, states.length), graph.outputs.slice(states.length)];
    const wanted = graph.outputs.filter(
      (_, index) => (!isLast && index < ends.length) || isWanted(node.outputs[index], frame),
    );
    const body = planner.frameOf(scope, frame, wanted);
    bindInputs(body, inputs, planner.values);
    for (const [index, value] of slices.entries()) stacks[index]?.reserve(value, body, part(index, step));
    planner.lowerGraph(body);
    planner.values.emitter.draft.during(origin, () => {
      for (const [index, value] of slices.entries()) stacks[index]?.place(value, body, part(index, step));
    });
    states = ends.map((value) => ({
      fact: scope.fact(value),
      slot: () => planner.values.slotOf(value, body),
    }));
  }
  return states;
}

/** The slice of an input at `at`, without the axis. */
function sliceOf({ name, fact, view }: Source, axis: number, at: number): Source {
  const slice = () => picked(view(), axis, at);
  const slot = (): Slot => {
    const stored = slice();
    const { shape, type } = stored;
    const state = { kind: "stored", view: stored } as const;
    return { name, shape, type, state, converted: new Map(), isOperand: false, isRoot: false };
  };
  return { name, fact: factOfSlice(fact, axis, at), slot, view: slice };
}

function factOfSlice(fact: Fact | undefined, axis: number, at: number): Fact | undefined {
  if (fact?.kind !== "tensor" || fact.shape === undefined) return undefined;
  const shape = fact.shape.toSpliced(axis, 1);
  const [sizes, elements] = [sizesOfFact(fact), elementsOfFact(fact)];
  if (sizes === undefined || elements === undefined) return tensor(fact.dtype, shape);
  const inner = stridesOf(sizes)[axis] ?? 1;
  const outer = inner * (sizes[axis] ?? 1);
  const slice = elements.filter((_, index) => Math.floor((index % outer) / inner) === at);
  return tensor(fact.dtype, shape, slice);
}
