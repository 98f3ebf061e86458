/** @file Scan: state carried along, and slices of the scan inputs taken one step at a time. */

import { type Dim, type Shape, unknownDim } from "../../ir/dim.ts";
import { textOf } from "../../ir/message.ts";
import { defineOp, type Fact, type OpContext, ShapeError, type TensorFact } from "../op.ts";
import { asTensor, normalizeAxis, tensor, unify } from "../shape.ts";
import { noHalf } from "../traits.ts";

export const scanOp = defineOp({
  domain: "",
  type: "Scan",
  traits: { elements: "computed", half: noHalf({ isMixed: true }), layout: "fixed", sameSince: 9 },
  traffic: "none",
  infer(context) {
    const body = context.graph("body");
    const scanCount = context.int("num_scan_inputs");
    if (body === undefined || scanCount === undefined)
      throw new ShapeError("Scan needs a body and num_scan_inputs");
    const form = formOf(context, scanCount);
    const bodyOutputs = context.inferGraph(
      body,
      [...form.states.map(form.stateOf), ...form.scanned.map(form.sliceOf)],
      () => form.steps,
    );
    const states = form.states.map((initial, index) =>
      form.finalState(initial, asTensor(bodyOutputs[index])),
    );
    const scans = bodyOutputs
      .slice(form.states.length)
      .map((fact, index) => form.stack(asTensor(fact), index));
    return [...states, ...scans];
  },
});

/** What differs between the two forms of Scan: where the axes of the batch and of the steps are. */
interface Form {
  readonly states: readonly TensorFact[];
  readonly scanned: readonly TensorFact[];
  readonly steps: Dim;
  stateOf(initial: TensorFact): Fact;
  sliceOf(input: TensorFact, index: number): Fact;
  finalState(initial: TensorFact, body: TensorFact): Fact;
  stack(body: TensorFact, index: number): Fact;
}

function formOf(context: OpContext, scanCount: number): Form {
  // Before opset 9 the first input is sequence_lens, and every other input has a batch axis in front.
  const inputs = (context.opset < 9 ? context.inputs.slice(1) : context.inputs).map(asTensor);
  const stateCount = inputs.length - scanCount;
  if (scanCount < 1 || stateCount < 0) {
    throw new ShapeError(textOf`Scan of ${inputs.length} inputs cannot scan ${scanCount} of them`);
  }
  const states = inputs.slice(0, stateCount);
  const scanned = inputs.slice(stateCount);
  return context.opset < 9 ? batched(states, scanned) : unbatched(context, states, scanned);
}

function unbatched(context: OpContext, states: readonly TensorFact[], scanned: readonly TensorFact[]): Form {
  const inputAxes = context.ints("scan_input_axes") ?? [];
  const outputAxes = context.ints("scan_output_axes") ?? [];
  const axes = scanned.map(({ shape }, index) =>
    shape === undefined ? undefined : normalizeAxis(inputAxes[index] ?? 0, shape.length, "scan axis"),
  );
  const steps = commonSize(scanned.map(({ shape }, index) => shape?.[axes[index] ?? 0]));
  return {
    states,
    scanned,
    steps,
    stateOf: withoutElements,
    sliceOf: ({ dtype, shape }, index) => tensor(dtype, shape?.toSpliced(axes[index] ?? 0, 1)),
    finalState: sameType,
    stack({ dtype, shape }, index) {
      if (shape === undefined) return tensor(dtype, undefined);
      const axis = normalizeAxis(outputAxes[index] ?? 0, shape.length + 1, "scan output axis");
      return tensor(dtype, shape.toSpliced(axis, 0, steps));
    },
  };
}

function batched(states: readonly TensorFact[], scanned: readonly TensorFact[]): Form {
  const batch = commonSize([...states, ...scanned].map(({ shape }) => shape?.[0]));
  const steps = commonSize(scanned.map(({ shape }) => shape?.[1]));
  const behind = (count: number) => (fact: TensorFact) => tensor(fact.dtype, fact.shape?.slice(count));
  return {
    states,
    scanned,
    steps,
    stateOf: behind(1),
    sliceOf: behind(2),
    finalState(initial, body) {
      return sameType(
        initial,
        tensor(body.dtype, body.shape === undefined ? undefined : [batch, ...body.shape]),
      );
    },
    stack: ({ dtype, shape }) => tensor(dtype, shape === undefined ? undefined : [batch, steps, ...shape]),
  };
}

function withoutElements({ dtype, shape }: TensorFact): TensorFact {
  return tensor(dtype, shape);
}

/** A state keeps its type and shape from step to step: what either end knows holds for both. */
function sameType(initial: TensorFact, body: TensorFact): TensorFact {
  const dtype = initial.dtype ?? body.dtype;
  if (initial.shape === undefined || body.shape === undefined)
    return tensor(dtype, initial.shape ?? body.shape);
  if (initial.shape.length !== body.shape.length) {
    throw new ShapeError(
      textOf`a state of ${initial.shape.length} axes leaves the body with ${body.shape.length}`,
    );
  }
  const { shape } = body;
  return tensor(dtype, unifyShapes(initial.shape, shape));
}

function unifyShapes(a: Shape, b: Shape): Shape {
  return a.map((dim, axis) => unify(dim, b[axis] ?? dim, "state of a Scan"));
}

function commonSize(sizes: readonly (Dim | undefined)[]): Dim {
  let common: Dim | undefined;
  for (const size of sizes) {
    if (size !== undefined) common = common === undefined ? size : unify(common, size, "length of a Scan");
  }
  return common ?? unknownDim();
}
