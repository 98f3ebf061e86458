/**
 * @file LSTM, GRU and RNN.
 *
 * X [steps,batch,input], W [directions,gates·hidden,input], R [directions,gates·hidden,hidden]; layout 1 swaps the
 * first two axes of X and moves batch to the front of the outputs.
 */
import { type Dim, floorDivDims, type Shape } from "../../ir/dim.ts";
import { defineOp, type OpContext, type OpDefinition, ShapeError } from "../op.ts";
import { tensor, tensorAt } from "../shape.ts";
import { dimAt, multiplyType, requireRank, sharedOr, sharedType } from "./operands.ts";

const directionCounts = new Map([
  ["forward", 1],
  ["reverse", 1],
  ["bidirectional", 2],
]);

interface Sizes {
  readonly steps: Dim;
  readonly batch: Dim;
  readonly inputSize: Dim;
  readonly hiddenSize: Dim;
  readonly directions: number;
  readonly batchFirst: boolean;
}

/** `states` counts the outputs behind Y: Y_h, and Y_c of an LSTM. */
export function recurrentOp(type: string, gates: number, states: number): OpDefinition {
  return defineOp({
    domain: "",
    type,
    product: true,
    infer(context) {
      const sizes = recurrentSizes(context, gates);
      const dtype = operandType(context);
      const state = tensor(dtype, stateShape(sizes));
      return [tensor(dtype, sequenceShape(sizes)), ...new Array<typeof state>(states).fill(state)];
    },
    work(context) {
      const dtype = multiplyType(operandType(context));
      if (dtype === undefined) return undefined;
      const { steps, batch, inputSize, hiddenSize, directions } = recurrentSizes(context, gates);
      return [{ kind: "recurrent", steps, batch, inputSize, hiddenSize, gates, directions, dtype }];
    },
  });
}

export const lstm = recurrentOp("LSTM", 4, 2);
export const gru = recurrentOp("GRU", 3, 1);
export const rnn = recurrentOp("RNN", 1, 1);

function operandType(context: OpContext) {
  return sharedType("X, W and R", tensorAt(context, 0), tensorAt(context, 1), tensorAt(context, 2));
}

function recurrentSizes(context: OpContext, gates: number): Sizes {
  const direction = context.string("direction") ?? "forward";
  const directions = directionCounts.get(direction);
  if (directions === undefined) throw new ShapeError(`direction "${direction}" is none of its three values`);
  const [x, w, r] = [tensorAt(context, 0), tensorAt(context, 1), tensorAt(context, 2)];
  for (const [fact, what] of [[x, "X"] as const, [w, "W"] as const, [r, "R"] as const]) {
    requireRank(fact, [3], what);
  }
  sharedOr("directions of W and R", directions, dimAt(w.shape, 0), dimAt(r.shape, 0));
  const rows = dimAt(w.shape, 1);
  const hiddenSize = sharedOr(
    "hidden size",
    context.int("hidden_size"),
    dimAt(r.shape, 2),
    rows === undefined ? undefined : floorDivDims(rows, gates),
  );
  const batchFirst = (context.int("layout") ?? 0) !== 0;
  return {
    steps: sharedOr("steps", dimAt(x.shape, batchFirst ? 1 : 0)),
    batch: sharedOr("batch", dimAt(x.shape, batchFirst ? 0 : 1)),
    inputSize: sharedOr("input size of X and W", dimAt(x.shape, 2), dimAt(w.shape, 2)),
    hiddenSize,
    directions,
    batchFirst,
  };
}

function sequenceShape({ steps, batch, hiddenSize, directions, batchFirst }: Sizes): Shape {
  return batchFirst ? [batch, steps, directions, hiddenSize] : [steps, directions, batch, hiddenSize];
}

function stateShape({ batch, hiddenSize, directions, batchFirst }: Sizes): Shape {
  return batchFirst ? [batch, directions, hiddenSize] : [directions, batch, hiddenSize];
}
